import type { WebhookAddress } from '../agent/webhook.js';
import type { StoredCall } from './calls.js';
import type { SecretBox } from './secret-box.js';
import { run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';

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
export interface EvalRunEnd extends Pick<StoredEvalRun, 'reason' | 'passed' | 'summary'> {
  status: Exclude<EvalRunStatus, 'queued' | 'running'>;
  /** Null = as stored. */
  progress: EvalRunProgress | null;
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
const COLUMNS = sql`seq, id, suite_id, suite_version, agent_id, agent_version, status, reason, passed, request, webhook,
  progress, summary, created_ms, started_ms, finished_ms`;

/** Changes of the queue are made one at a time: of all nodes, only one takes a run. */
const LOCK = 'eval_runs';

/** Runs of test suites, with their results and the calls that they held. */
export class EvalRunStore {
  /** Whether other nodes may hold runs. */
  readonly isShared: boolean;
  readonly #database: SqlDatabase;
  readonly #box: SecretBox;

  constructor(database: SqlDatabase, box: SecretBox) {
    this.isShared = database.dialect === 'postgres';
    this.#database = database;
    this.#box = box;
  }

  /** Adds a run to the queue. @returns null = this many have not ended yet */
  async add(added: NewEvalRun, mostOpen: number): Promise<StoredEvalRun | null> {
    const { id, suiteId, suiteVersion, agentId, agentVersion, request, webhook, createdMs } = added;
    const sealed = webhook === null ? null : this.#box.seal(JSON.stringify(webhook), WEBHOOK);
    const row = await this.#database.transaction(function* (): Transaction<Row | null> {
      const [open] = (yield sql`SELECT COUNT(*) AS count FROM eval_runs WHERE finished_ms IS NULL`).rows;
      if ((open as { count: number }).count >= mostOpen) return null;
      const inserted = yield sql`INSERT INTO eval_runs
          (id, suite_id, suite_version, agent_id, agent_version, status, request, webhook, progress, created_ms)
        VALUES (${id}, ${suiteId}, ${suiteVersion}, ${agentId}, ${agentVersion}, 'queued', ${request}, ${sealed},
          ${JSON.stringify(NONE_DONE)}, ${createdMs})
        RETURNING ${COLUMNS}`;
      return inserted.rows[0] as Row;
    }, LOCK);
    return row === null ? null : this.#run(row);
  }

  /** Takes the run that has waited longest for a node. @returns null = none waits */
  async take(nodeId: string, startedMs: number): Promise<StoredEvalRun | null> {
    const taken = this.isShared ? sql`FOR UPDATE SKIP LOCKED` : sql``;
    const row = await this.#database.first<Row>(
      sql`UPDATE eval_runs SET status = 'running', started_ms = ${startedMs}, node_id = ${nodeId}
          WHERE seq = (SELECT seq FROM eval_runs WHERE finished_ms IS NULL AND status = 'queued'
            ORDER BY seq LIMIT 1 ${taken})
          RETURNING ${COLUMNS}`,
    );
    return row === null ? null : this.#run(row);
  }

  /** Shows other nodes how far a run is. @returns whether to go on: nobody has canceled or ended it */
  async report(id: string, progress: EvalRunProgress): Promise<boolean> {
    const row = await this.#database.first<{ cancel: number }>(
      sql`UPDATE eval_runs SET progress = ${JSON.stringify(progress)} WHERE id = ${id} AND finished_ms IS NULL
          RETURNING cancel`,
    );
    return row?.cancel === 0;
  }

  /** Asks the node that holds a run to end it. */
  async cancel(id: string): Promise<void> {
    await this.#database.run(sql`UPDATE eval_runs SET cancel = 1 WHERE id = ${id} AND finished_ms IS NULL`);
  }

  /**
   * Ends a run, and forgets its webhook.
   * @param more runs in the same transaction for a run that has a webhook
   * @returns null = it has ended before, or is deleted
   */
  async end(
    id: string,
    end: EvalRunEnd,
    more: (run: StoredEvalRun, webhook: WebhookAddress) => Transaction<void>,
  ): Promise<StoredEvalRun | null> {
    const ending = (): Transaction<StoredEvalRun | null> => this.#end(id, end, more);
    return this.#database.transaction(ending);
  }

  *#end(
    id: string,
    { status, reason, passed, summary, result, calls, finishedMs, ...end }: EvalRunEnd,
    more: (run: StoredEvalRun, webhook: WebhookAddress) => Transaction<void>,
  ): Transaction<StoredEvalRun | null> {
    const locked = this.isShared ? sql`FOR UPDATE` : sql``;
    const open = yield sql`SELECT ${COLUMNS} FROM eval_runs WHERE id = ${id} AND finished_ms IS NULL ${locked}`;
    const [row] = open.rows as readonly Row[];
    if (row === undefined) return null;
    const before = this.#run(row);
    const progress = end.progress ?? before.progress;
    yield* run(sql`UPDATE eval_runs SET status = ${status}, reason = ${reason},
        passed = ${passed === null ? null : Number(passed)}, progress = ${JSON.stringify(progress)},
        summary = ${summary}, result = ${result}, finished_ms = ${finishedMs}, webhook = NULL
      WHERE id = ${id}`);
    for (const call of calls) {
      yield* run(sql`INSERT INTO eval_calls (session_id, run_id, call)
        VALUES (${call.sessionId}, ${id}, ${JSON.stringify(call)})`);
    }
    const after = { ...before, status, reason, passed, progress, summary, finishedMs, webhook: null };
    if (before.webhook !== null) yield* more(after, before.webhook);
    return after;
  }

  async get(id: string): Promise<StoredEvalRun | null> {
    const [found] = await this.#select(sql`id = ${id}`, sql``);
    return found ?? null;
  }

  /** The result as JSON; null = there is none. */
  async result(id: string): Promise<string | null> {
    const row = await this.#database.first<{ result: string | null }>(
      sql`SELECT result FROM eval_runs WHERE id = ${id}`,
    );
    return row?.result ?? null;
  }

  /** Latest first. */
  list({ suiteId, agentId, status, beforeSeq, limit }: EvalRunFilter): Promise<StoredEvalRun[]> {
    const conditions = [
      ...(suiteId === null ? [] : [sql`suite_id = ${suiteId}`]),
      ...(agentId === null ? [] : [sql`agent_id = ${agentId}`]),
      ...(status === null ? [] : [sql`status = ${status}`]),
      ...(beforeSeq === null ? [] : [sql`seq < ${beforeSeq}`]),
    ];
    const all = conditions.reduce((one, next) => sql`${one} AND ${next}`, sql`TRUE`);
    return this.#select(all, sql`ORDER BY seq DESC LIMIT ${limit}`);
  }

  /** Ids of runs that no node holds any more, oldest first: of one that died or stopped, or of none. */
  abandoned(): Promise<string[]> {
    return this.#ids(
      sql`finished_ms IS NULL AND status = 'running' AND (node_id IS NULL OR node_id NOT IN (SELECT id FROM nodes))
        ORDER BY seq`,
    );
  }

  /** Ids of runs that a node holds, oldest first. */
  heldBy(nodeId: string): Promise<string[]> {
    return this.#ids(sql`finished_ms IS NULL AND status = 'running' AND node_id = ${nodeId} ORDER BY seq`);
  }

  /** Ids of runs that ended before a time, oldest first. */
  endedBefore(unixMs: number, limit: number): Promise<string[]> {
    return this.#ids(sql`finished_ms < ${unixMs} ORDER BY seq LIMIT ${limit}`);
  }

  /** Ids of all runs of a suite or of an agent. */
  ofParent(kind: 'suite' | 'agent', id: string): Promise<string[]> {
    return this.#ids(kind === 'suite' ? sql`suite_id = ${id}` : sql`agent_id = ${id}`);
  }

  /** A call of a run; null = no run has held it. */
  async call(sessionId: string): Promise<StoredCall | null> {
    const row = await this.#database.first<{ call: string }>(
      sql`SELECT call FROM eval_calls WHERE session_id = ${sessionId}`,
    );
    return row === null ? null : (JSON.parse(row.call) as StoredCall);
  }

  /** The calls of a run. */
  async callsOf(id: string): Promise<StoredCall[]> {
    const rows = await this.#database.all<{ call: string }>(sql`SELECT call FROM eval_calls WHERE run_id = ${id}`);
    return rows.map(({ call }) => JSON.parse(call) as StoredCall);
  }

  /** Deletes a run with its calls, but not their files. Returns whether it existed. */
  async remove(id: string): Promise<boolean> {
    return (await this.#database.run(sql`DELETE FROM eval_runs WHERE id = ${id}`)) > 0;
  }

  async #select(condition: Statement, order: Statement): Promise<StoredEvalRun[]> {
    const rows = await this.#database.all<Row>(sql`SELECT ${COLUMNS} FROM eval_runs WHERE ${condition} ${order}`);
    return rows.map((row) => this.#run(row));
  }

  async #ids(condition: Statement): Promise<string[]> {
    const rows = await this.#database.all<{ id: string }>(sql`SELECT id FROM eval_runs WHERE ${condition}`);
    return rows.map(({ id }) => id);
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
