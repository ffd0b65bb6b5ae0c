import type { Memory, MemoryStore } from '../session/after-call/memory.js';
import { run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';
import { DirectWrites, type Writes } from './writes.js';

export interface StoredMemoriesOptions {
  database: SqlDatabase;
  /** Default: the database can always be reached. */
  writes?: Writes;
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
  readonly #keep: (memory: Memory) => Promise<unknown>;

  constructor(options: StoredMemoriesOptions) {
    this.#options = options;
    const { database, writes = new DirectWrites(database) } = options;
    this.#keep = writes.operation('memories.keep', keeping);
  }

  async keep(memory: Memory): Promise<void> {
    await this.#keep(memory);
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

function* keeping({ sessionId, agentId, user, text, unixMs }: Memory): Transaction<void> {
  yield* run(
    sql`INSERT INTO memories (session_id, agent_id, "user", text, unix_ms)
        VALUES (${sessionId}, ${agentId}, ${user}, ${text}, ${unixMs})
        ON CONFLICT (session_id) DO UPDATE SET agent_id = excluded.agent_id, "user" = excluded."user",
          text = excluded.text, unix_ms = excluded.unix_ms`,
  );
}

function chosen({ user = null, agentId = null }: { user?: string | null; agentId?: string | null }): Statement {
  const ofUser = user === null ? sql`TRUE` : sql`"user" = ${user}`;
  return agentId === null ? ofUser : sql`${ofUser} AND agent_id = ${agentId}`;
}

function memoryOf({ agent_id, user, session_id, text, unix_ms }: Row): Memory {
  return { agentId: agent_id, user, sessionId: session_id, text, unixMs: unix_ms };
}
