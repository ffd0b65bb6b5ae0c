import type Database from 'better-sqlite3';
import type { ChatMessage } from '../agent/chat.js';
import type { FinishedSession, SessionMemory } from '../session/after-call/memory.js';

/** How long messages are kept. */
const KEPT_MS = 90 * 86_400_000;

interface Row {
  messages: string;
}

/** The messages of ended sessions, in the daemon's database, for sessions that continue them. */
export class SessionStore implements SessionMemory {
  readonly #byId: Database.Statement<unknown[], Row>;
  readonly #latest: Database.Statement<unknown[], Row>;
  readonly #keep: (session: FinishedSession) => void;

  constructor(database: Database.Database) {
    this.#byId = database.prepare('SELECT messages FROM finished_sessions WHERE id = ? AND agent_id IS ?');
    this.#latest = database.prepare(
      `SELECT messages FROM finished_sessions s JOIN session_identifiers i ON i.session_id = s.id
       WHERE i.name = ? AND i.value = ? AND s.agent_id IS ? ORDER BY s.ended_ms DESC, s.rowid DESC LIMIT 1`,
    );
    const expire = database.prepare('DELETE FROM finished_sessions WHERE ended_ms < ?');
    const remove = database.prepare('DELETE FROM finished_sessions WHERE id = ?');
    const insert = database.prepare(
      'INSERT INTO finished_sessions (id, agent_id, messages, ended_ms) VALUES (?, ?, ?, ?)',
    );
    const identify = database.prepare('INSERT INTO session_identifiers (session_id, name, value) VALUES (?, ?, ?)');
    this.#keep = database.transaction(({ sessionId, agentId, identifiers, messages, endedUnixMs }: FinishedSession) => {
      expire.run(endedUnixMs - KEPT_MS);
      remove.run(sessionId);
      insert.run(sessionId, agentId, JSON.stringify(messages), endedUnixMs);
      for (const [name, value] of identifiers) identify.run(sessionId, name, value);
    });
  }

  byId(sessionId: string, agentId: string | null): readonly ChatMessage[] | null {
    return messagesOf(this.#byId.get(sessionId, agentId));
  }

  latest(identifier: string, value: string, agentId: string | null): readonly ChatMessage[] | null {
    return messagesOf(this.#latest.get(identifier, value, agentId));
  }

  keep(session: FinishedSession): void {
    this.#keep(session);
  }
}

function messagesOf(row: Row | undefined): readonly ChatMessage[] | null {
  return row === undefined ? null : (JSON.parse(row.messages) as ChatMessage[]);
}
