import type { Memory, MemoryStore } from '../session/after-call/memory.js';
import { sql, type SqlDatabase, type Statement } from './sql/statement.js';

export interface StoredMemoriesOptions {
  database: SqlDatabase;
  /** Older memories are not returned, and `purge` deletes them. */
  retentionDays: number;
  nowUnixMs: () => number;
}

interface Row {
  agent_id: string;
  user: string;
  session_id: string;
  text: string;
  unix_ms: number;
}

const DAY_MS = 86_400_000;

/** Memories of agents about their users. */
export class StoredMemories implements MemoryStore {
  readonly #options: StoredMemoriesOptions;

  constructor(options: StoredMemoriesOptions) {
    this.#options = options;
  }

  async keep({ sessionId, agentId, user, text, unixMs }: Memory): Promise<void> {
    await this.#options.database.run(
      sql`INSERT INTO memories (session_id, agent_id, "user", text, unix_ms)
          VALUES (${sessionId}, ${agentId}, ${user}, ${text}, ${unixMs})
          ON CONFLICT (session_id) DO UPDATE SET agent_id = excluded.agent_id, "user" = excluded."user",
            text = excluded.text, unix_ms = excluded.unix_ms`,
    );
  }

  async recall(agentId: string, user: string, limit: number): Promise<readonly Memory[]> {
    return this.#select(sql`agent_id = ${agentId} AND "user" = ${user}`, sql`LIMIT ${limit}`);
  }

  /** Newest first. @param of null = of all users or agents */
  async list(of: { user?: string | null; agentId?: string | null }): Promise<Memory[]> {
    return this.#select(chosen(of), sql``);
  }

  /** Returns the number of deleted memories. */
  erase(of: { user: string; agentId?: string | null }): Promise<number> {
    return this.#options.database.run(sql`DELETE FROM memories WHERE ${chosen(of)}`);
  }

  /** Deletes memories that are too old. Returns their number. */
  purge(): Promise<number> {
    return this.#options.database.run(sql`DELETE FROM memories WHERE unix_ms <= ${this.#oldestUnixMs()}`);
  }

  async #select(condition: Statement, limit: Statement): Promise<Memory[]> {
    const rows = await this.#options.database.all<Row>(
      sql`SELECT agent_id, "user", session_id, text, unix_ms FROM memories
          WHERE ${condition} AND unix_ms > ${this.#oldestUnixMs()} ORDER BY unix_ms DESC, rowid DESC ${limit}`,
    );
    return rows.map(memoryOf);
  }

  #oldestUnixMs(): number {
    const { nowUnixMs, retentionDays } = this.#options;
    return nowUnixMs() - retentionDays * DAY_MS;
  }
}

function chosen({ user = null, agentId = null }: { user?: string | null; agentId?: string | null }): Statement {
  const ofUser = user === null ? sql`TRUE` : sql`"user" = ${user}`;
  return agentId === null ? ofUser : sql`${ofUser} AND agent_id = ${agentId}`;
}

function memoryOf({ agent_id, user, session_id, text, unix_ms }: Row): Memory {
  return { agentId: agent_id, user, sessionId: session_id, text, unixMs: unix_ms };
}
