import type { Clock } from '../base/clock.js';
import type { WebhookAddress } from '../agent/webhook.js';
import { ParleyError } from '../base/errors.js';
import type { AddressGuard } from '../net/address-guard.js';
import { dialGuarded } from '../net/guarded-socket.js';
import { CustomSocketLlm, type CustomSocketOptions } from '../providers/llm/custom-socket/provider.js';
import type { Participant } from '../session/session-options.js';

export interface CustomLlmOptions extends Omit<CustomSocketOptions, 'dial'> {
  address: WebhookAddress;
  guard: AddressGuard;
}

/** Deadline for connecting to the server. */
const CONNECT_TIMEOUT_MS = 4000;
const MAX_MESSAGE_BYTES = 262_144;

/** An agent's own server as the model of one session. */
export interface CustomLlm {
  llm: CustomSocketLlm;
  /** Reports the session's events to the server. */
  participant: Participant;
}

export function customLlm({ address, guard, ...options }: CustomLlmOptions): CustomLlm {
  const { clock } = options;
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, maxMessageBytes: MAX_MESSAGE_BYTES };
  const llm = new CustomSocketLlm({
    ...options,
    dial: (events) => dialGuarded(guard, { ...address, ...limits, clock }, events),
  });
  return { llm, participant: participantOf(llm) };
}

/** @throws ParleyError NET_ADDRESS_REFUSED for a forbidden address, whatever it resolves to */
export function checkCustomLlm({ url }: WebhookAddress, guard: AddressGuard, clock: Clock): void {
  guard.check(url, ['ws:', 'wss:']);
  if (clock.virtual) throw new ParleyError('PROVIDER_REMOTE_IN_VIRTUAL_TIME', { provider: 'custom_llm_websocket' });
}

function participantOf(llm: CustomSocketLlm): Participant {
  return {
    start: () => llm.start(),
    heard: (text, isFinal) => llm.heard(text, isFinal),
    // The rest of the answer is spoken in the same step.
    answered: () => queueMicrotask(() => llm.checkPlayed()),
    speaks: (utteranceId) => llm.speaks(utteranceId),
    spoke: (utteranceId) => llm.spoke(utteranceId),
    dropped: () => llm.dropped(),
  };
}
