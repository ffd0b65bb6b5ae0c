import { nowUnixMs, unixSeconds } from '../base/real-clock.js';
import type { Clock } from '../base/clock.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import type { ConversationConfig } from '../conversation/config.js';
import { reasonOf } from '../base/errors.js';
import type { AddressGuard } from '../net/address-guard.js';
import type { DoNotCallList } from '../session/after-call/do-not-call.js';
import type { LogSink } from '../session/record/event-log.js';
import type { Session } from '../session/session.js';
import type { SessionOptions } from '../session/session-options.js';
import { customLlm } from './custom-llm.js';
import type { SessionRequest } from './options.js';

export interface SessionPartsOptions {
  agent: ResolvedAgent;
  request: SessionRequest;
  sessionId: string;
  guard: AddressGuard;
  /** A real one, also where the session's is not. */
  clock: Clock;
  doNotCall: DoNotCallList;
  /** The session, once it is made. */
  session: () => Session;
}

/** What an agent's own server, and its users' wishes, make of a session. */
export interface SessionParts {
  options: Pick<SessionOptions, 'watch' | 'optOut'> & Partial<Pick<SessionOptions, 'llm'>>;
  conversation: Partial<ConversationConfig>;
}

export function sessionParts(options: SessionPartsOptions): SessionParts {
  const { agent, request } = options;
  const noteWish = doNotCallWatch(options);
  if (agent.customLlm === null || request.llm !== undefined) {
    return { options: { watch: noteWish, optOut: agent.privacy.optOut }, conversation: {} };
  }
  const { agentId = null, callId = null, phones = null } = request;
  const { llm, watch } = customLlm({
    address: agent.customLlm,
    guard: options.guard,
    clock: options.clock,
    facts: {
      agent_id: agentId,
      call_sid: callId,
      session_id: options.sessionId,
      metadata: agent.metadata,
      voip: phones === null ? null : { from: phones.from, to: phones.to },
    },
    onFinish: (destination) => options.session().finish(destination),
    onFault: (name, reason) => options.session().noteFault(name, reason),
  });
  const transfer = agent.transfer ?? { targets: [], instruction: null, messages: [] };
  return {
    options: {
      llm,
      optOut: agent.privacy.optOut,
      watch: (entry) => {
        noteWish(entry);
        watch(entry);
      },
    },
    // A server acts on what it is asked: nothing is asked of it for a turn that may not be over.
    conversation: { speculation: { enabled: false }, transfer: { ...transfer, anyTarget: true } },
  };
}

/** Puts the number of a user who does not want to be called again on the list. */
function doNotCallWatch({ request, sessionId, doNotCall, session }: SessionPartsOptions): LogSink {
  const { phones, direction = 'inbound' } = request;
  return (entry) => {
    if (entry.kind !== 'effect' || entry.effect.type !== 'doNotCall' || phones === undefined) return;
    const number = direction === 'outbound' ? phones.to : phones.from;
    try {
      doNotCall.add({ number, source: entry.effect.by, sessionId, createdAt: unixSeconds(nowUnixMs()) });
    } catch (error) {
      session().noteFault('doNotCall.failed', reasonOf(error));
    }
  };
}
