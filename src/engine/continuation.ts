import { nowUnixMs } from '../base/real-clock.js';
import type { ChatMessage } from '../agent/chat.js';
import { earlierMessages, parseContinuation, type SessionContinuation } from '../agent/continuation.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import { ParleyError } from '../base/errors.js';
import { identifiersOf, type SessionMemory } from '../session/after-call/memory.js';
import type { SessionReport } from '../session/record/session-report.js';

export interface ContinuationOptions {
  agent: ResolvedAgent;
  agentId: string | null;
  phones: { readonly from: string; readonly to: string } | null;
}

/**
 * The messages that a session continues: those of the request, or of the session that it names, or of the user's latest
 * one. An unknown user has none.
 * @throws ParleyError CONFIG_INVALID, also if there is nothing to resume; NOT_FOUND for an unknown session id
 */
export async function messagesBefore(
  continuation: SessionContinuation,
  memory: SessionMemory,
  options: ContinuationOptions,
): Promise<readonly ChatMessage[]> {
  const found = await findMessages(continuation, memory, options);
  if (continuation.resume === true && found.length === 0) {
    throw new ParleyError('CONFIG_INVALID', { reason: 'session_continuation.resume: there is nothing to resume' });
  }
  return found;
}

async function findMessages(
  continuation: SessionContinuation,
  memory: SessionMemory,
  { agent, agentId, phones }: ContinuationOptions,
): Promise<readonly ChatMessage[]> {
  const {
    session_id: sessionId,
    messages,
    identifier_variable: identifier,
  } = parseContinuation(continuation, ['session_continuation']);
  if (messages != null) return earlierMessages(messages);
  if (sessionId != null) return messagesOf(sessionId, memory, agentId);
  // Agents without an id may belong to different people: one must not continue the other's conversation.
  if (identifier == null || agentId === null) return [];
  const value = identifiersOf(agent.metadata, phones).get(identifier);
  return value === undefined ? [] : ((await memory.latest(identifier, value, agentId)) ?? []);
}

/**
 * Checks before a call is placed that the session named by a continuation exists.
 * @throws ParleyError CONFIG_INVALID, NOT_FOUND
 */
export async function assertKnown(
  continuation: SessionContinuation,
  memory: SessionMemory,
  agentId: string | null,
): Promise<void> {
  const { session_id: sessionId, messages } = parseContinuation(continuation, ['session_continuation']);
  if (messages == null && sessionId != null) await messagesOf(sessionId, memory, agentId);
}

async function messagesOf(
  sessionId: string,
  memory: SessionMemory,
  agentId: string | null,
): Promise<readonly ChatMessage[]> {
  const found = await memory.byId(sessionId, agentId);
  if (found === null) throw new ParleyError('NOT_FOUND', { what: 'session', id: sessionId });
  return found;
}

/** Stores the conversation for a later session, unless the user has opted out. */
export function rememberWhenOver(
  session: { readonly finished: Promise<Pick<SessionReport, 'sessionId' | 'messages'>> },
  memory: SessionMemory,
  options: ContinuationOptions,
): void {
  const { agent, agentId, phones } = options;
  if (agent.privacy.optOut) return;
  void session.finished.then(({ sessionId, messages }) => {
    if (messages.length === 0) return;
    const identifiers = identifiersOf(agent.metadata, phones);
    // The session is over: no one can act on an error, and no call is lost.
    memory.keep({ sessionId, agentId, identifiers, messages, endedUnixMs: nowUnixMs() }).catch(() => undefined);
  });
}
