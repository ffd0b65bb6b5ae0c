import type Database from 'better-sqlite3';
import type { Memory, MemoryStore } from '../session/after-call/memory.js';

export interface SqliteMemoriesOptions {
  database: Database.Database;
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
export class SqliteMemories implements MemoryStore {
  readonly #options: SqliteMemoriesOptions;
  readonly #keep: Database.Statement<unknown[]>;
  readonly #recall: Database.Statement<unknown[], Row>;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #erase: Database.Statement<unknown[]>;
  readonly #purge: Database.Statement<unknown[]>;

  constructor(options: SqliteMemoriesOptions) {
    this.#options = options;
    const { database } = options;
    this.#keep = database.prepare(
      `INSERT OR REPLACE INTO memories (session_id, agent_id, user, text, unix_ms)
       VALUES (@sessionId, @agentId, @user, @text, @unixMs)`,
    );
    this.#recall = database.prepare(
      `SELECT * FROM memories WHERE agent_id = ? AND user = ? AND unix_ms > ? ORDER BY unix_ms DESC, rowid DESC LIMIT ?`,
    );
    const chosen = '(@user IS NULL OR user = @user) AND (@agentId IS NULL OR agent_id = @agentId)';
    this.#list = database.prepare(
      `SELECT * FROM memories WHERE ${chosen} AND unix_ms > @after ORDER BY unix_ms DESC, rowid DESC`,
    );
    this.#erase = database.prepare(`DELETE FROM memories WHERE ${chosen}`);
    this.#purge = database.prepare('DELETE FROM memories WHERE unix_ms <= ?');
  }

  async keep(memory: Memory): Promise<void> {
    this.#keep.run(memory);
  }

  async recall(agentId: string, user: string, limit: number): Promise<readonly Memory[]> {
    return this.#recall.all(agentId, user, this.#oldestUnixMs(), limit).map(memoryOf);
  }

  /** Newest first. @param of null = of all users or agents */
  list(of: { user?: string | null; agentId?: string | null }): Memory[] {
    const { user = null, agentId = null } = of;
    return this.#list.all({ user, agentId, after: this.#oldestUnixMs() }).map(memoryOf);
  }

  /** Returns the number of deleted memories. */
  erase(of: { user: string; agentId?: string | null }): number {
    const { user, agentId = null } = of;
    return this.#erase.run({ user, agentId }).changes;
  }

  /** Deletes memories that are too old. Returns their number. */
  purge(): number {
    return this.#purge.run(this.#oldestUnixMs()).changes;
  }

  #oldestUnixMs(): number {
    const { nowUnixMs, retentionDays } = this.#options;
    return nowUnixMs() - retentionDays * DAY_MS;
  }
}

function memoryOf({ agent_id, user, session_id, text, unix_ms }: Row): Memory {
  return { agentId: agent_id, user, sessionId: session_id, text, unixMs: unix_ms };
}
