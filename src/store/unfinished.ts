import type Database from 'better-sqlite3';
import type { FunctionCall } from '../session/record/session-report.js';
import type { SecretBox } from './secret-box.js';

const RECORD = 'unfinished_sessions.record';
const RUN = 'after_call_runs.run';

/** A function that runs after a session. */
export interface AfterCallRecord {
  name: string;
  /** Null = the process died before the function returned. */
  call: FunctionCall | null;
}

/**
 * Unfinished sessions, each as one sealed text, because configurations hold credentials. It also stores which functions
 * started after each session, so that none runs twice.
 */
export class UnfinishedStore<T extends { sessionId: string }> {
  readonly #box: SecretBox;
  readonly #put: Database.Statement<unknown[]>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #all: Database.Statement<unknown[], string>;
  readonly #get: Database.Statement<unknown[], string>;
  readonly #start: Database.Statement<unknown[]>;
  readonly #finish: Database.Statement<unknown[]>;
  readonly #runs: Database.Statement<unknown[], { tool: string; run: string | null }>;

  constructor(database: Database.Database, box: SecretBox) {
    this.#box = box;
    this.#put = database.prepare(
      `INSERT INTO unfinished_sessions (session_id, record) VALUES (?, ?)
       ON CONFLICT (session_id) DO UPDATE SET record = excluded.record`,
    );
    this.#remove = database.prepare('DELETE FROM unfinished_sessions WHERE session_id = ?');
    this.#all = database
      .prepare<unknown[], string>('SELECT session_id FROM unfinished_sessions ORDER BY rowid')
      .pluck();
    this.#get = database
      .prepare<unknown[], string>('SELECT record FROM unfinished_sessions WHERE session_id = ?')
      .pluck();
    this.#start = database.prepare('INSERT OR IGNORE INTO after_call_runs (session_id, tool) VALUES (?, ?)');
    this.#finish = database.prepare('UPDATE after_call_runs SET run = ? WHERE session_id = ? AND tool = ?');
    this.#runs = database.prepare('SELECT tool, run FROM after_call_runs WHERE session_id = ? ORDER BY rowid');
  }

  put(session: T): void {
    this.#put.run(session.sessionId, this.#box.seal(JSON.stringify(session), RECORD));
  }

  /** Deletes a session with the record of its functions. */
  remove(sessionId: string): void {
    this.#remove.run(sessionId);
  }

  /** Ids, oldest first. */
  ids(): string[] {
    return this.#all.all();
  }

  /** Null = there is none. @throws ParleyError SECRETS_UNREADABLE */
  get(sessionId: string): T | null {
    const record = this.#get.get(sessionId);
    return record === undefined ? null : (JSON.parse(this.#box.open(record, RECORD)) as T);
  }

  /** Stores that a function starts. Resolves with false if it started before. */
  async start(sessionId: string, tool: string): Promise<boolean> {
    return this.#start.run(sessionId, tool).changes > 0;
  }

  async finish(sessionId: string, call: FunctionCall): Promise<void> {
    this.#finish.run(this.#box.seal(JSON.stringify(call), RUN), sessionId, call.name);
  }

  /** The functions that started after a session, in that order. */
  runs(sessionId: string): AfterCallRecord[] {
    return this.#runs.all(sessionId).map(({ tool, run }) => ({
      name: tool,
      call: run === null ? null : (JSON.parse(this.#box.open(run, RUN)) as FunctionCall),
    }));
  }
}
