import { randomUUID } from 'node:crypto';
import type { WebhookAddress } from '../../agent/webhook.js';
import { type Cancel, type Clock, delay } from '../../base/clock.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { faultOf } from '../../schema/issues.js';
import type { SuiteResult } from '../../eval/result.js';
import type { EvalMode, EvalSuite } from '../../eval/suite/suite-schema.js';
import type { EvalSettings } from '../../settings/setting-groups.js';
import type { Prices } from '../../settings/prices.js';
import type {
  EvalRunEnd,
  EvalRunFilter,
  EvalRunProgress,
  EvalRunStore,
  NewEvalRun,
  StoredEvalRun,
} from '../../store/eval-runs.js';
import type { AdmissionControl } from '../admission-control.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { Transaction } from '../../store/sql/statement.js';
import type { NodeIdentity } from '../nodes/this-node.js';
import type { MultiplierOf } from '../call-log/pricing.js';
import type { EvalFiles } from './eval-files.js';
import { withRecordedTurns } from './recorded-turns.js';
import type { SuiteJob, SuiteRunner, TestedAgent } from './suite-runner.js';
import type { EvalSuites } from './eval-suites.js';
import type { RunRequest } from './replies.js';
import { evalSessionId, NO_OUTCOME, runOutcome, runsOf } from './run-outcome.js';

export interface EvalRunsOptions {
  store: EvalRunStore;
  suites: EvalSuites;
  agents: Pick<AgentRegistry, 'stored' | 'version'>;
  runner: SuiteRunner;
  files: EvalFiles;
  /** The path of a call's recording. @throws ParleyError for a call that has none */
  recordingOf: (sessionId: string) => Promise<Buffer | null>;
  settings: EvalSettings;
  /** Whether event logs of calls are kept. */
  traces: boolean;
  prices: Prices;
  multiplierOf: MultiplierOf;
  clock: Clock;
  nowUnixMs: () => number;
  admission: Pick<AdmissionControl, 'enter' | 'isOpen'>;
  /** Runs in the transaction that ends a run which has a webhook. */
  report: (run: StoredEvalRun, webhook: WebhookAddress) => Transaction<void>;
  /** Called after that transaction. */
  reported: () => void;
  node: Pick<NodeIdentity, 'id'>;
  onError: (error: Error) => void;
}

/** What a new run is asked to do. */
export interface EvalRunRequest {
  suiteId: string;
  /** Default: the agent of the suite. */
  agentId: string | null;
  /** Null = the latest. */
  agentVersion: number | null;
  mode: EvalMode | null;
  runs: number | null;
  only: readonly string[] | null;
  /** Null = no comparison. */
  against: { agentId: string | null; agentVersion: number | null } | null;
  webhook: WebhookAddress | null;
}

/** A run that its runner holds. */
interface ActiveRun {
  run: StoredEvalRun;
  progress: EvalRunProgress;
  abort: AbortController;
  isCanceled: boolean;
  over: Promise<void>;
}

/** Receives the current state of a run, and null when it is deleted. */
export type RunListener = (run: StoredEvalRun | null) => void;

/** Runs that may wait. */
const MAX_QUEUED = 100;
/** Calls that the result of a run has room for. */
const MAX_CALLS = 20_000;
const CANCELED = 'The run was canceled.';
export const STOPPED = 'The daemon stopped during the run.';
/** How often nodes of one database look for queued runs. */
const QUEUE_MS = 5_000;
/** How often a node shows others its progress, and sees that of others. */
const BEAT_MS = 1_000;
/** Until a run that another node holds has ended. */
const CANCEL_MS = 30_000;

/**
 * Runs of test suites: a queue, and a few at a time in processes of their own. Each node of a database takes runs from the
 * queue.
 */
export class EvalRuns {
  readonly #options: EvalRunsOptions;
  /** Those of this node. */
  readonly #active = new Map<string, ActiveRun>();
  readonly #listeners = new Map<string, Set<RunListener>>();
  readonly #closed = new AbortController();
  #isOpen = false;
  #cancelPoll: Cancel = () => undefined;
  #taking: Promise<void> = Promise.resolve();

  constructor(options: EvalRunsOptions) {
    this.#options = options;
  }

  /** @throws ParleyError NOT_FOUND */
  async get(id: string): Promise<StoredEvalRun> {
    const run = await this.#options.store.get(id);
    if (run === null) throw new ParleyError('NOT_FOUND', { what: 'run', id });
    return this.#now(run);
  }

  /** Latest first. */
  async list(filter: EvalRunFilter): Promise<StoredEvalRun[]> {
    return (await this.#options.store.list(filter)).map((run) => this.#now(run));
  }

  /** @throws ParleyError NOT_FOUND, EVAL_RESULT_MISSING */
  async result(id: string): Promise<SuiteResult> {
    const { status } = await this.get(id);
    const result = await this.#options.store.result(id);
    if (result === null) throw new ParleyError('EVAL_RESULT_MISSING', { id, status });
    return JSON.parse(result) as SuiteResult;
  }

  /** Adds a run to the queue. @throws ParleyError NOT_FOUND, DAEMON_DRAINING, EVAL_QUEUE_FULL; InvalidConfigError */
  async start(request: EvalRunRequest): Promise<StoredEvalRun> {
    const { store, suites, agents, admission, nowUnixMs } = this.#options;
    admission.enter();
    const suite = await suites.get(request.suiteId);
    const { mode, runs, only, webhook } = request;
    const agentId = request.agentId ?? suite.agentId;
    if (agentId === null) throw faultOf(['body', 'agent_id'], 'Field required: the suite has no agent');
    const versionOf = async (id: string, version: number | null): Promise<number> => {
      const { draft, version: published } = agents.stored(id);
      const found = version ?? draft ?? published;
      await agents.version(id, found);
      return found;
    };
    const otherId = request.against?.agentId ?? agentId;
    const asked: RunRequest = {
      mode,
      runs,
      only: only === null ? null : [...only],
      against: request.against && {
        agent_id: otherId,
        agent_version: await versionOf(otherId, request.against.agentVersion),
      },
    };
    checkSize(JSON.parse(suite.suite) as EvalSuite, asked);
    const added: NewEvalRun = {
      id: randomUUID(),
      suiteId: suite.id,
      suiteVersion: suite.version,
      agentId,
      agentVersion: await versionOf(agentId, request.agentVersion),
      request: JSON.stringify(asked),
      webhook,
      createdMs: nowUnixMs(),
    };
    const run = await store.add(added, MAX_QUEUED);
    if (run === null) throw new ParleyError('EVAL_QUEUE_FULL', { limit: MAX_QUEUED });
    await this.#next();
    return this.get(run.id);
  }

  /**
   * Ends a run; one that is over stays as it is. It goes on for a while if another node holds it and does not answer.
   * @throws ParleyError NOT_FOUND
   */
  async cancel(id: string): Promise<StoredEvalRun> {
    const { status } = await this.get(id);
    const active = this.#active.get(id);
    if (active !== undefined) {
      active.isCanceled = true;
      active.abort.abort(new Error(CANCELED));
      await active.over;
    } else if (status === 'queued') await this.#end(id, { status: 'canceled', reason: null });
    else if (status === 'running') await this.#cancelElsewhere(id);
    return this.get(id);
  }

  /** Deletes a run with its calls and their files. @throws ParleyError NOT_FOUND, EVAL_RUN_GOES_ON */
  async remove(id: string): Promise<void> {
    const { store, files } = this.#options;
    if ((await this.get(id)).finishedMs === null) throw new ParleyError('EVAL_RUN_GOES_ON', { id });
    await files.remove(await store.callsOf(id));
    await store.remove(id);
    this.#tell(id, null);
  }

  /** Ends and deletes all runs of a suite or of an agent. */
  async empty(kind: 'suite' | 'agent', parentId: string): Promise<void> {
    for (const id of await this.#options.store.ofParent(kind, parentId)) {
      await this.cancel(id);
      await this.remove(id);
    }
  }

  /** Calls the listener after each change, at once if the run is over. Returns a function that stops it. */
  watch(id: string, listener: RunListener): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners);
    listeners.add(listener);
    const stopped = new AbortController();
    this.#follow(id, listener, AbortSignal.any([stopped.signal, this.#closed.signal])).catch((error: unknown) => {
      if (!stopped.signal.aborted && !this.#closed.signal.aborted) this.#options.onError(errorOf(error));
    });
    return () => {
      stopped.abort();
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
    };
  }

  /** Fails runs that an earlier process held. Queued ones still wait. */
  async recover(): Promise<void> {
    const { store, files } = this.#options;
    await this.#abandon(await store.abandoned());
    await files.clear(null);
  }

  /** Fails the runs of a node that has died. May be called again for the same node. */
  async takeOver(nodeId: string): Promise<void> {
    await this.#abandon(await this.#options.store.heldBy(nodeId));
  }

  /** Starts to hold runs. */
  resume(): void {
    this.#isOpen = true;
    void this.#next();
    if (this.#options.store.isShared) this.#poll();
  }

  /** Starts no further run. */
  stop(): void {
    this.#isOpen = false;
  }

  /** Ends the runs that go on; they fail. May be called twice. */
  async close(): Promise<void> {
    this.stop();
    this.#cancelPoll();
    this.#closed.abort(new Error(STOPPED));
    await this.#taking;
    const active = [...this.#active.values()];
    for (const { abort } of active) abort.abort(new Error(STOPPED));
    await Promise.all(active.map(({ over }) => over));
  }

  /** Takes runs from the queue while there is room. */
  #next(): Promise<void> {
    const { onError } = this.#options;
    this.#taking = this.#taking.then(() => this.#take()).catch((error: unknown) => onError(errorOf(error)));
    return this.#taking;
  }

  async #take(): Promise<void> {
    const { store, settings, admission, node, nowUnixMs } = this.#options;
    while (this.#isOpen && admission.isOpen && this.#active.size < settings.runs) {
      const run = await store.take(node.id, nowUnixMs());
      if (run === null) return;
      this.#hold(run);
    }
  }

  /** Looks for runs that other nodes have queued. */
  #poll(): void {
    const { clock } = this.#options;
    this.#cancelPoll = clock.schedule(clock.nowMs() + QUEUE_MS, () => {
      if (!this.#isOpen) return;
      void this.#next();
      this.#poll();
    });
  }

  #hold(run: StoredEvalRun): void {
    const { store, onError } = this.#options;
    const abort = new AbortController();
    const active: ActiveRun = { run, progress: run.progress, abort, isCanceled: false, over: Promise.resolve() };
    this.#active.set(run.id, active);
    this.#tell(run.id, run);
    if (store.isShared) this.#beat(active);
    active.over = this.#run(run, active)
      .catch((error: unknown) => onError(errorOf(error)))
      .finally(() => {
        this.#active.delete(run.id);
        active.abort.abort();
        void this.#next();
      });
  }

  /** Shows other nodes the progress of a run, and learns whether they have ended it. */
  #beat(active: ActiveRun): void {
    const { store, clock, onError } = this.#options;
    const { run, abort } = active;
    const beat = async (): Promise<void> => {
      while (!abort.signal.aborted) {
        await delay(clock, BEAT_MS, abort.signal);
        if (await store.report(run.id, active.progress).catch(() => true)) continue;
        active.isCanceled = true;
        abort.abort(new Error(CANCELED));
      }
    };
    beat().catch((error: unknown) => {
      if (!abort.signal.aborted) onError(errorOf(error));
    });
  }

  /** Holds a run and stores how it ended. */
  async #run(run: StoredEvalRun, active: ActiveRun): Promise<void> {
    const { runner, files, settings, clock, recordingOf } = this.#options;
    const { abort } = active;
    const late = `The run took longer than ${String(settings.maxRunS)} s (evals.maxRunS).`;
    const cancelLimit = clock.schedule(clock.nowMs() + settings.maxRunS * 1000, () => abort.abort(new Error(late)));
    try {
      const job = await this.#job(run, await files.open(run.id));
      // By text nothing is played.
      const suite = job.mode === 'text' ? job.suite : await withRecordedTurns(job.suite, job.folder, recordingOf);
      const result = await runner.run(
        { ...job, suite },
        {
          signal: abort.signal,
          onProgress: (progress) => {
            active.progress = progress;
            this.#tell(run.id, { ...run, progress });
          },
        },
      );
      await this.#done(run, job, result);
    } catch (error) {
      const isCanceled = active.isCanceled;
      await this.#end(run.id, {
        status: isCanceled ? 'canceled' : 'failed',
        reason: isCanceled ? null : reasonOf(error),
      });
    } finally {
      cancelLimit();
      await files.clear(run.id);
    }
  }

  /** @throws ParleyError NOT_FOUND for a version that is no longer kept */
  async #job(run: StoredEvalRun, folder: string): Promise<SuiteJob> {
    const { suites, agents, settings } = this.#options;
    const { mode, runs, only, against } = JSON.parse(run.request) as RunRequest;
    const tested = async (id: string, version: number): Promise<TestedAgent> => ({
      ...(await agents.version(id, version)),
      version,
    });
    return {
      suite: JSON.parse((await suites.version(run.suiteId, run.suiteVersion)).suite) as EvalSuite,
      agent: await tested(run.agentId, run.agentVersion),
      against: against && (await tested(against.agent_id, against.agent_version)),
      mode,
      runs,
      only,
      concurrency: settings.concurrency,
      folder,
    };
  }

  /** Stores a result. The files of its calls move first, so that no stored call lacks them. */
  async #done(run: StoredEvalRun, { agent, against }: SuiteJob, result: SuiteResult): Promise<void> {
    const { files, traces, prices, multiplierOf, nowUnixMs } = this.#options;
    const recordings = new Map<string, string | null>();
    for (const [at, { run: held }] of runsOf(result).entries()) {
      const sessionId = evalSessionId(run.id, at);
      if (held.recording !== null) recordings.set(sessionId, await files.keepRecording(sessionId, held.recording));
      if (held.trace !== null && traces) await files.keepTrace(sessionId, held.trace);
    }
    const outcome = runOutcome({
      run,
      result,
      agent,
      against,
      prices,
      multiplierOf,
      recordingOf: (sessionId) => recordings.get(sessionId) ?? null,
      finishedMs: nowUnixMs(),
    });
    await this.#end(run.id, { ...outcome, status: 'done', reason: null });
  }

  /** Stores the end of a run. It waits for a database that cannot be reached, unless the daemon closes. */
  async #end(id: string, end: Pick<EvalRunEnd, 'status' | 'reason'> & Partial<EvalRunEnd>): Promise<void> {
    const { store, nowUnixMs, report, reported, clock } = this.#options;
    const progress = this.#active.get(id)?.progress ?? null;
    const whole = { ...NO_OUTCOME, progress, finishedMs: nowUnixMs(), ...end };
    for (;;) {
      try {
        const ended = await store.end(id, whole, report);
        if (ended === null) return;
        reported();
        this.#tell(id, ended);
        return;
      } catch (error) {
        const isUnreachable = error instanceof ParleyError && error.code === 'DATABASE_UNREACHABLE';
        if (!isUnreachable || this.#closed.signal.aborted) throw error;
        await delay(clock, BEAT_MS, this.#closed.signal).catch(() => undefined);
      }
    }
  }

  async #abandon(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#end(id, { status: 'failed', reason: STOPPED });
  }

  /** Asks the node that holds a run to end it. */
  async #cancelElsewhere(id: string): Promise<void> {
    const { store, clock } = this.#options;
    await store.cancel(id);
    const until = clock.nowMs() + CANCEL_MS;
    while (clock.nowMs() < until) {
      const run = await store.get(id);
      if (run === null || run.finishedMs !== null) return;
      await delay(clock, BEAT_MS / 2, this.#closed.signal);
    }
  }

  /** Tells a listener how a run stands that has ended, or that another node holds. */
  async #follow(id: string, listener: RunListener, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options;
    while (!signal.aborted) {
      const run = await store.get(id);
      if (signal.aborted) return;
      const isOver = run === null || run.finishedMs !== null;
      if (isOver || (store.isShared && !this.#active.has(id))) listener(run);
      if (isOver || !store.isShared) return;
      await delay(clock, BEAT_MS, signal);
    }
  }

  #tell(id: string, run: StoredEvalRun | null): void {
    for (const listener of Array.from(this.#listeners.get(id) ?? [])) listener(run);
  }

  /** With the progress of a run that this node holds. */
  #now(run: StoredEvalRun): StoredEvalRun {
    const progress = run.finishedMs === null ? this.#active.get(run.id)?.progress : undefined;
    return progress === undefined ? run : { ...run, progress };
  }
}

/** @throws InvalidConfigError for a run with too many calls, or without a case */
function checkSize(suite: EvalSuite, { runs, only, against, mode }: RunRequest): void {
  const chosen = suite.cases.filter(
    ({ name, tags = [], modes = ['text', 'voice'] }) =>
      (only === null || only.some((each) => each === name || tags.includes(each))) &&
      (mode === null || modes.includes(mode)),
  );
  if (chosen.length === 0) throw faultOf(['body', 'only'], 'The suite has no such case');
  const calls = chosen.reduce((sum, each) => {
    const modes = mode === null ? (each.modes ?? ['text', 'voice']).length : 1;
    return sum + modes * (runs ?? each.runs ?? suite.defaults?.runs ?? 1);
  }, 0);
  const all = against === null ? calls : 2 * calls;
  if (all > MAX_CALLS) {
    const msg = `The run would have ${String(all)} calls, at most ${String(MAX_CALLS)} are allowed`;
    throw faultOf(['body', 'runs'], msg);
  }
}
