import type { ChatMessage } from '../agent/chat.js';
import type { FinishedSession, SessionMemory } from '../session/after-call/memory.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';

/** How long messages are kept. */
const KEPT_MS = 90 * 86_400_000;

interface Row {
  messages: string;
}

/** The messages of ended sessions, in the daemon's database, for sessions that continue them. */
export class SessionStore implements SessionMemory {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async byId(sessionId: string, agentId: string | null): Promise<readonly ChatMessage[] | null> {
    return messagesOf(
      await this.#database.first<Row>(
        sql`SELECT messages FROM finished_sessions WHERE id = ${sessionId} AND agent_id IS NOT DISTINCT FROM ${agentId}`,
      ),
    );
  }

  async latest(identifier: string, value: string, agentId: string | null): Promise<readonly ChatMessage[] | null> {
    return messagesOf(
      await this.#database.first<Row>(
        sql`SELECT messages FROM finished_sessions s JOIN session_identifiers i ON i.session_id = s.id
            WHERE i.name = ${identifier} AND i.value = ${value} AND s.agent_id IS NOT DISTINCT FROM ${agentId}
            ORDER BY s.ended_ms DESC, s.id DESC LIMIT 1`,
      ),
    );
  }

  keep(session: FinishedSession): Promise<void> {
    return this.#database.transaction(() => this.keeping(session));
  }

  /** As `keep`, in a transaction. */
  *keeping({ sessionId, agentId, identifiers, messages, endedUnixMs }: FinishedSession): Transaction<void> {
    yield* run(sql`DELETE FROM finished_sessions WHERE ended_ms < ${endedUnixMs - KEPT_MS}`);
    yield* run(sql`DELETE FROM finished_sessions WHERE id = ${sessionId}`);
    yield* run(
      sql`INSERT INTO finished_sessions (id, agent_id, messages, ended_ms)
          VALUES (${sessionId}, ${agentId}, ${JSON.stringify(messages)}, ${endedUnixMs})`,
    );
    for (const [name, value] of identifiers) {
      yield* run(
        sql`INSERT INTO session_identifiers (session_id, name, value) VALUES (${sessionId}, ${name}, ${value})`,
      );
    }
  }
}

function messagesOf(row: Row | null): readonly ChatMessage[] | null {
  return row === null ? null : (JSON.parse(row.messages) as ChatMessage[]);
}
