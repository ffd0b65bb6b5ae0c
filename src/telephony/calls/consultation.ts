import { setOr } from '../../schema/field.js';
import type { CarrierCall } from '../carriers/carrier.js';
import { DEFAULT_LANGUAGE } from '../../agent/language.js';
import { phrasesFor } from '../../conversation/language/phrases.js';
import { type SessionLine, lineTransferringBy } from '../../engine/remote-line.js';
import type { Consultation } from '../../session/line/line-actions.js';
import type { TransferFailure, TransferOutcome } from '../../transports/transport.js';
import type { AgentCall, CallReport } from './agent-call.js';
import { briefed } from './consulting-agent.js';
import type { CallAgent } from './call-agent.js';

export interface ConsultOptions {
  /** The call of the waiting user. */
  call: CarrierCall<SessionLine>;
  /** The agent of that call. */
  agent: CallAgent;
  consultation: Consultation;
  signal: AbortSignal;
  /** Adds the agent of the call to the target. Throws if there cannot be one. */
  add: (other: CarrierCall<SessionLine>, agent: CallAgent, line: SessionLine) => AgentCall;
}

/**
 * Asks a target whether they take a call, and connects the two if they do. A separate agent with the voice of the first
 * calls the target, tells them what the call is about and hears the answer. Its transfer connects the user; its end
 * without one is a refusal.
 */
export async function consult(options: ConsultOptions): Promise<TransferOutcome> {
  const { call, agent, consultation, signal, add } = options;
  const { target, ringMs } = consultation;
  if (call.placeBeside === undefined || call.connectTo === undefined) return { ok: false, reason: 'unsupported' };
  if (signal.aborted) return { ok: false, reason: 'no-answer' };
  let other: CarrierCall<SessionLine>;
  try {
    other = call.placeBeside(target, ringMs);
  } catch {
    return { ok: false, reason: 'failed' };
  }
  let isJoined = false;
  let words = '';
  const line = lineTransferringBy(other.line, async () => {
    const outcome = (await call.connectTo?.(other, signal)) ?? UNSUPPORTED;
    isJoined = outcome.ok;
    return outcome;
  });
  const asking = add(other, { ...briefed(agent, consultation), observe: noted }, line);
  function noted(event: Parameters<NonNullable<CallAgent['observe']>>[0]): void {
    if (event.type === 'user') words = event.text;
  }
  const leave = (): void => void takeLeave(asking, setOr(agent.agent.language, DEFAULT_LANGUAGE));
  signal.addEventListener('abort', leave, { once: true });
  const report = await asking.finished;
  signal.removeEventListener('abort', leave);
  if (isJoined) return { ok: true };
  const reason = failureOf(report);
  // Without letters the reason is a row of keys, which explains nothing.
  return reason === 'declined' && /\p{L}/u.test(words) ? { ok: false, reason, words } : { ok: false, reason };
}

const UNSUPPORTED: TransferOutcome = { ok: false, reason: 'unsupported' };

/** Says goodbye to the target if a conversation is in progress. */
async function takeLeave(asking: AgentCall, language: string): Promise<void> {
  if (asking.status !== 'in-progress') {
    await asking.hangUp();
    return;
  }
  const session = await asking.session;
  session.say(phrasesFor(language).callerGone);
  session.finish();
}

function failureOf({ status, carrier }: CallReport): TransferFailure {
  switch (status) {
    case 'busy':
    case 'no-answer':
      return status;
    case 'canceled':
      return 'no-answer';
    case 'failed':
      return carrier?.end?.cause === 'rejected' ? 'rejected' : 'failed';
    case 'error':
      return 'failed';
    case 'voicemail-hangup':
    case 'voicemail-message':
      return 'voicemail';
    default:
      return 'declined';
  }
}
