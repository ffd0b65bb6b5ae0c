import type { ChatMessage } from '../config/chat.js';

/** A session that is over, as far as a later one may go on from it. */
export interface FinishedSession {
  sessionId: string;
  /** Sessions of other agents are not found. Null = an agent without an id. */
  agentId: string | null;
  /** Its metadata, as far as it is texts and numbers, with `FromPhone` and `ToPhone`. */
  identifiers: ReadonlyMap<string, string>;
  messages: readonly ChatMessage[];
  /** Milliseconds since 1970. */
  endedUnixMs: number;
}

/** What was said in sessions that are over. */
export interface SessionMemory {
  /** Null where it is not known. */
  byId(sessionId: string, agentId: string | null): readonly ChatMessage[] | null;
  /** Of the latest session with this value of the identifier. */
  latest(identifier: string, value: string, agentId: string | null): readonly ChatMessage[] | null;
  keep(session: FinishedSession): void;
}

/** Longest value that can identify somebody, in characters. */
const MAX_VALUE_CHARS = 200;
/** As many sessions are remembered where there is no database. */
const MAX_SESSIONS = 200;

/** Members of a session's metadata that can identify its user, and the numbers of its call. */
export function identifiersOf(
  metadata: Readonly<Record<string, unknown>>,
  phones: { readonly from: string; readonly to: string } | null,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    const text = String(value);
    if (text !== '' && text.length <= MAX_VALUE_CHARS) found.set(name, text);
  }
  if (phones !== null) found.set('FromPhone', phones.from).set('ToPhone', phones.to);
  return found;
}

/** A memory that lasts as long as the process, of the latest sessions. */
export class RecentSessions implements SessionMemory {
  /** The latest comes last. */
  #sessions: FinishedSession[] = [];

  byId(sessionId: string, agentId: string | null): readonly ChatMessage[] | null {
    const found = this.#sessions.findLast((one) => one.sessionId === sessionId && one.agentId === agentId);
    return found?.messages ?? null;
  }

  latest(identifier: string, value: string, agentId: string | null): readonly ChatMessage[] | null {
    const found = this.#sessions.findLast(
      (one) => one.identifiers.get(identifier) === value && one.agentId === agentId,
    );
    return found?.messages ?? null;
  }

  keep(session: FinishedSession): void {
    this.#sessions = [...this.#sessions.filter(({ sessionId }) => sessionId !== session.sessionId), session];
    this.#sessions.splice(0, this.#sessions.length - MAX_SESSIONS);
  }
}
