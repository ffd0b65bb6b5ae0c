import type { FunctionCall } from '../session/record/session-report.js';
import type { SecretBox } from './secret-box.js';
import { run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';
import type { RowOwner } from './row-owner.js';

const RECORD = 'unfinished_sessions.record';
const RUN = 'after_call_runs.run';

/** A function that runs after a session. */
export interface AfterCallRecord {
  name: string;
  /** Null = the process died before the function returned. */
  call: FunctionCall | null;
}

/** An encrypted session. */
export interface SealedSession {
  sessionId: string;
  record: string;
}

/** An encrypted result of a function. */
export interface SealedRun {
  sessionId: string;
  tool: string;
  run: string;
}

/**
 * Unfinished sessions, each as one sealed text, because configurations hold credentials. It also stores which functions
 * started after each session, so that none runs twice.
 */
export class UnfinishedStore<T extends { sessionId: string }> {
  readonly #database: SqlDatabase;
  readonly #box: SecretBox;
  readonly #node: RowOwner | null;

  /** @param node has the sessions that are added; null = there is one node */
  constructor(database: SqlDatabase, box: SecretBox, node: RowOwner | null = null) {
    this.#database = database;
    this.#box = box;
    this.#node = node;
  }

  put(session: T): Promise<void> {
    return this.#database.transaction(() => this.putting(this.sealed(session)));
  }

  sealed(session: T): SealedSession {
    return { sessionId: session.sessionId, record: this.#box.seal(JSON.stringify(session), RECORD) };
  }

  /** Adds or replaces a session, unless its call has ended: then another node has finished it. */
  *putting({ sessionId, record }: SealedSession): Transaction<void> {
    yield* run(
      sql`INSERT INTO unfinished_sessions (session_id, record, node_id)
          SELECT ${sessionId}, ${record}, ${this.#node?.id ?? null}
          WHERE NOT EXISTS (SELECT 1 FROM calls WHERE session_id = ${sessionId} AND ended_us IS NOT NULL)
          ON CONFLICT (session_id) DO UPDATE SET record = excluded.record`,
    );
  }

  /** Deletes a session with the record of its functions. */
  async remove(sessionId: string): Promise<void> {
    await this.#database.transaction(() => this.removing(sessionId));
  }

  /** As `remove`, in a transaction. */
  *removing(sessionId: string): Transaction<void> {
    yield* run(sql`DELETE FROM unfinished_sessions WHERE session_id = ${sessionId}`);
  }

  /** Ids, oldest first. */
  ids(): Promise<string[]> {
    return this.#ids(sql``);
  }

  /** Ids of a node's sessions, oldest first. */
  idsOf(nodeId: string): Promise<string[]> {
    return this.#ids(sql`WHERE node_id = ${nodeId}`);
  }

  /** Null = there is none. @throws ParleyError SECRETS_UNREADABLE */
  async get(sessionId: string): Promise<T | null> {
    const row = await this.#database.first<{ record: string }>(
      sql`SELECT record FROM unfinished_sessions WHERE session_id = ${sessionId}`,
    );
    return row === null ? null : (JSON.parse(this.#box.open(row.record, RECORD)) as T);
  }

  /** Stores that a function starts. Resolves with false if it started before. */
  async start(sessionId: string, tool: string): Promise<boolean> {
    return this.#database.transaction(() => this.starting(sessionId, tool));
  }

  /** As `start`, in a transaction. */
  *starting(sessionId: string, tool: string): Transaction<boolean> {
    const changes = yield* run(
      sql`INSERT INTO after_call_runs (session_id, tool) VALUES (${sessionId}, ${tool}) ON CONFLICT DO NOTHING`,
    );
    return changes > 0;
  }

  async finish(sessionId: string, call: FunctionCall): Promise<void> {
    await this.#database.transaction(() => this.finishing(this.sealedRun(sessionId, call)));
  }

  sealedRun(sessionId: string, call: FunctionCall): SealedRun {
    return { sessionId, tool: call.name, run: this.#box.seal(JSON.stringify(call), RUN) };
  }

  /** As `finish`, in a transaction. */
  *finishing({ sessionId, tool, run: text }: SealedRun): Transaction<void> {
    yield* run(sql`UPDATE after_call_runs SET run = ${text} WHERE session_id = ${sessionId} AND tool = ${tool}`);
  }

  /** The functions that started after a session, in that order. */
  async runs(sessionId: string): Promise<AfterCallRecord[]> {
    const rows = await this.#database.all<{ tool: string; run: string | null }>(
      sql`SELECT tool, run FROM after_call_runs WHERE session_id = ${sessionId} ORDER BY rowid`,
    );
    return rows.map(({ tool, run: text }) => ({
      name: tool,
      call: text === null ? null : (JSON.parse(this.#box.open(text, RUN)) as FunctionCall),
    }));
  }

  async #ids(where: Statement): Promise<string[]> {
    const rows = await this.#database.all<{ session_id: string }>(
      sql`SELECT session_id FROM unfinished_sessions ${where} ORDER BY rowid`,
    );
    return rows.map(({ session_id: id }) => id);
  }
}
