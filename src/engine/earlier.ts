import { unixNow } from '../clock/real.js';
import type { ChatMessage } from '../config/chat.js';
import { earlierMessages, parseContinuation, type SessionContinuation } from '../config/continuation.js';
import type { ResolvedAgent } from '../config/resolve.js';
import { ParleyError } from '../errors.js';
import { identifiersOf, type SessionMemory } from '../session/session-memory.js';
import type { Session } from '../session/session.js';

export interface EarlierOptions {
  agent: ResolvedAgent;
  agentId: string | null;
  phones: { readonly from: string; readonly to: string } | null;
}

/**
 * The messages that a session goes on from: those of the request, else of the session that it names, else of the user's
 * latest one. A user who is not known yet has none.
 * @throws ParleyError CONFIG_INVALID, NOT_FOUND for a session id that is not known
 */
export function messagesBefore(
  continuation: SessionContinuation,
  memory: SessionMemory,
  { agent, agentId, phones }: EarlierOptions,
): readonly ChatMessage[] {
  const {
    session_id: sessionId,
    messages,
    identifier_variable: identifier,
  } = parseContinuation(continuation, ['session_continuation']);
  if (messages != null) return earlierMessages(messages);
  if (sessionId != null) {
    const found = memory.byId(sessionId, agentId);
    if (found === null) throw new ParleyError('NOT_FOUND', { what: 'session', id: sessionId });
    return found;
  }
  if (identifier == null) return [];
  const value = identifiersOf(agent.metadata, phones).get(identifier);
  return value === undefined ? [] : (memory.latest(identifier, value, agentId) ?? []);
}

/** Keeps what was said for a later session, unless the user has opted out of that. */
export function rememberWhenOver(
  session: Pick<Session, 'finished'>,
  memory: SessionMemory,
  options: EarlierOptions,
): void {
  const { agent, agentId, phones } = options;
  if (agent.privacy.optOut) return;
  void session.finished.then(({ sessionId, messages }) => {
    if (messages.length === 0) return;
    const identifiers = identifiersOf(agent.metadata, phones);
    try {
      memory.keep({ sessionId, agentId, identifiers, messages, endedUnixMs: unixNow() });
    } catch {
      // The session is over: there is nobody left to tell, and no call to lose.
    }
  });
}
