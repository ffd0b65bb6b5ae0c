import type Database from 'better-sqlite3';
import type { WebhookAddress } from '../agent/webhook.js';
import type { StoredCall } from './calls.js';
import type { SecretBox } from './secret-box.js';

/**
 * - `queued`: it waits for others to end.
 * - `running`: its calls are held.
 * - `done`: it has a result.
 * - `canceled`: a request has ended it.
 * - `failed`: it could not be held to its end; `reason` says why.
 */
export type EvalRunStatus = 'queued' | 'running' | 'done' | 'canceled' | 'failed';

/** How far a run is. */
export interface EvalRunProgress {
  /** Calls that are over. */
  done: number;
  /** Calls in all; 0 = not known yet. */
  total: number;
  passed: number;
  failed: number;
}

/** A run of a suite. Times in milliseconds since 1970. */
export interface StoredEvalRun {
  /** Grows with each run. */
  seq: number;
  id: string;
  suiteId: string;
  suiteVersion: number;
  agentId: string;
  agentVersion: number;
  status: EvalRunStatus;
  /** Why it failed. */
  reason: string | null;
  /** Whether all cases passed; null = there is no result. */
  passed: boolean | null;
  /** What was asked for, as JSON. */
  request: string;
  /** Where to report the end; null = nowhere. */
  webhook: WebhookAddress | null;
  progress: EvalRunProgress;
  /** Figures of each case, as JSON; null = there is no result. */
  summary: string | null;
  createdMs: number;
  startedMs: number | null;
  finishedMs: number | null;
}

export type NewEvalRun = Pick<
  StoredEvalRun,
  'id' | 'suiteId' | 'suiteVersion' | 'agentId' | 'agentVersion' | 'request' | 'webhook' | 'createdMs'
>;

/** How a run ended. */
export interface EvalRunEnd extends Pick<StoredEvalRun, 'reason' | 'passed' | 'summary' | 'progress'> {
  status: Exclude<EvalRunStatus, 'queued' | 'running'>;
  /** The result as JSON; null = there is none. */
  result: string | null;
  /** Its calls. */
  calls: readonly StoredCall[];
  finishedMs: number;
}

export interface EvalRunFilter {
  suiteId: string | null;
  agentId: string | null;
  status: EvalRunStatus | null;
  /** Only runs before this one; null = from the latest. */
  beforeSeq: number | null;
  limit: number;
}

interface Row {
  seq: number;
  id: string;
  suite_id: string;
  suite_version: number;
  agent_id: string;
  agent_version: number;
  status: EvalRunStatus;
  reason: string | null;
  passed: number | null;
  request: string;
  webhook: string | null;
  progress: string;
  summary: string | null;
  created_ms: number;
  started_ms: number | null;
  finished_ms: number | null;
}

/** The purpose of the encryption of webhooks, see `SecretBox`: their headers may hold credentials. */
const WEBHOOK = 'eval_runs.webhook';
const NONE_DONE: EvalRunProgress = { done: 0, total: 0, passed: 0, failed: 0 };
/** All columns but `result`, which may be large. */
const COLUMNS = `seq, id, suite_id, suite_version, agent_id, agent_version, status, reason, passed, request, webhook,
  progress, summary, created_ms, started_ms, finished_ms`;

/** Runs of test suites, with their results and the calls that they held. */
export class EvalRunStore {
  readonly #box: SecretBox;
  readonly #add: Database.Statement<unknown[]>;
  readonly #start: Database.Statement<unknown[]>;
  readonly #get: Database.Statement<unknown[], Row>;
  readonly #result: Database.Statement<unknown[], string | null>;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #open: Database.Statement<unknown[], Row>;
  readonly #old: Database.Statement<unknown[], string>;
  readonly #ofParent: Readonly<Record<'suite' | 'agent', Database.Statement<unknown[], string>>>;
  readonly #call: Database.Statement<unknown[], string>;
  readonly #calls: Database.Statement<unknown[], string>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #end: (id: string, end: EvalRunEnd) => void;

  constructor(database: Database.Database, box: SecretBox) {
    this.#box = box;
    this.#add = database.prepare(
      `INSERT INTO eval_runs (id, suite_id, suite_version, agent_id, agent_version, status, request, webhook, progress,
         created_ms)
       VALUES (@id, @suiteId, @suiteVersion, @agentId, @agentVersion, 'queued', @request, @webhook, @progress,
         @createdMs)`,
    );
    this.#start = database.prepare(
      `UPDATE eval_runs SET status = 'running', started_ms = ? WHERE id = ? AND status = 'queued'`,
    );
    this.#get = database.prepare(`SELECT ${COLUMNS} FROM eval_runs WHERE id = ?`);
    this.#result = database.prepare<unknown[], string | null>('SELECT result FROM eval_runs WHERE id = ?').pluck();
    this.#list = database.prepare(
      `SELECT ${COLUMNS} FROM eval_runs WHERE (@beforeSeq IS NULL OR seq < @beforeSeq)
         AND (@suiteId IS NULL OR suite_id = @suiteId) AND (@agentId IS NULL OR agent_id = @agentId)
         AND (@status IS NULL OR status = @status)
       ORDER BY seq DESC LIMIT @limit`,
    );
    this.#open = database.prepare(`SELECT ${COLUMNS} FROM eval_runs WHERE finished_ms IS NULL ORDER BY seq`);
    const ids = (condition: string): Database.Statement<unknown[], string> =>
      database.prepare<unknown[], string>(`SELECT id FROM eval_runs WHERE ${condition}`).pluck();
    this.#old = ids('finished_ms < ? ORDER BY seq LIMIT ?');
    this.#ofParent = { suite: ids('suite_id = ?'), agent: ids('agent_id = ?') };
    this.#call = database.prepare<unknown[], string>('SELECT call FROM eval_calls WHERE session_id = ?').pluck();
    this.#calls = database.prepare<unknown[], string>('SELECT call FROM eval_calls WHERE run_id = ?').pluck();
    this.#remove = database.prepare('DELETE FROM eval_runs WHERE id = ?');
    const finish = database.prepare(
      `UPDATE eval_runs SET status = @status, reason = @reason, passed = @passed, progress = @progress,
         summary = @summary, result = @result, finished_ms = @finishedMs, webhook = NULL
       WHERE id = @id AND finished_ms IS NULL`,
    );
    const keep = database.prepare('INSERT INTO eval_calls (session_id, run_id, call) VALUES (?, ?, ?)');
    this.#end = database.transaction((id: string, { calls, progress, passed, ...end }: EvalRunEnd) => {
      const shown = passed === null ? null : Number(passed);
      const { changes } = finish.run({ ...end, id, passed: shown, progress: JSON.stringify(progress) });
      if (changes > 0) for (const call of calls) keep.run(call.sessionId, id, JSON.stringify(call));
    });
  }

  /** Adds a run to the queue. */
  add({ webhook, ...run }: NewEvalRun): StoredEvalRun {
    const sealed = webhook === null ? null : this.#box.seal(JSON.stringify(webhook), WEBHOOK);
    const seq = Number(this.#add.run({ ...run, webhook: sealed, progress: JSON.stringify(NONE_DONE) }).lastInsertRowid);
    return {
      ...run,
      seq,
      webhook,
      status: 'queued',
      reason: null,
      passed: null,
      progress: NONE_DONE,
      summary: null,
      startedMs: null,
      finishedMs: null,
    };
  }

  /** A queued run begins. */
  start(id: string, startedMs: number): void {
    this.#start.run(startedMs, id);
  }

  /** Ends a run that has not ended, and forgets its webhook. */
  end(id: string, end: EvalRunEnd): void {
    this.#end(id, end);
  }

  get(id: string): StoredEvalRun | null {
    const row = this.#get.get(id);
    return row === undefined ? null : this.#run(row);
  }

  /** The result as JSON; null = there is none. */
  result(id: string): string | null {
    return this.#result.get(id) ?? null;
  }

  /** Latest first. */
  list(filter: EvalRunFilter): StoredEvalRun[] {
    return this.#list.all(filter).map((row) => this.#run(row));
  }

  /** Runs that have not ended, oldest first. */
  open(): StoredEvalRun[] {
    return this.#open.all().map((row) => this.#run(row));
  }

  /** Ids of runs that ended before a time, oldest first. */
  endedBefore(unixMs: number, limit: number): string[] {
    return this.#old.all(unixMs, limit);
  }

  /** Ids of all runs of a suite or of an agent. */
  ofParent(kind: 'suite' | 'agent', id: string): string[] {
    return this.#ofParent[kind].all(id);
  }

  /** A call of a run; null = no run has held it. */
  call(sessionId: string): StoredCall | null {
    const text = this.#call.get(sessionId);
    return text === undefined ? null : (JSON.parse(text) as StoredCall);
  }

  /** The calls of a run. */
  callsOf(id: string): StoredCall[] {
    return this.#calls.all(id).map((text) => JSON.parse(text) as StoredCall);
  }

  /** Deletes a run with its calls, but not their files. Returns whether it existed. */
  remove(id: string): boolean {
    return this.#remove.run(id).changes > 0;
  }

  #run(row: Row): StoredEvalRun {
    return {
      seq: row.seq,
      id: row.id,
      suiteId: row.suite_id,
      suiteVersion: row.suite_version,
      agentId: row.agent_id,
      agentVersion: row.agent_version,
      status: row.status,
      reason: row.reason,
      passed: row.passed === null ? null : row.passed === 1,
      request: row.request,
      webhook: row.webhook === null ? null : (JSON.parse(this.#box.open(row.webhook, WEBHOOK)) as WebhookAddress),
      progress: JSON.parse(row.progress) as EvalRunProgress,
      summary: row.summary,
      createdMs: row.created_ms,
      startedMs: row.started_ms,
      finishedMs: row.finished_ms,
    };
  }
}
