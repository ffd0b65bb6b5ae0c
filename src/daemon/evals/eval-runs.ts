import { randomUUID } from 'node:crypto';
import type { WebhookAddress } from '../../agent/webhook.js';
import type { Clock } from '../../base/clock.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { faultOf } from '../../schema/issues.js';
import type { SuiteResult } from '../../eval/result.js';
import type { EvalMode, EvalSuite } from '../../eval/suite/suite-schema.js';
import type { EvalSettings } from '../../settings/setting-groups.js';
import type { Prices } from '../../settings/prices.js';
import type { EvalRunEnd, EvalRunFilter, EvalRunProgress, EvalRunStore, StoredEvalRun } from '../../store/eval-runs.js';
import type { AdmissionControl } from '../admission-control.js';
import type { AgentRegistry } from '../agents/agents.js';
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
  /** Called in the transaction that ends a run which has a webhook. */
  report: (run: StoredEvalRun, webhook: WebhookAddress) => void;
  /** Called after that transaction. */
  reported: () => void;
  atomically: <T>(work: () => T) => T;
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
export const STOPPED = 'The daemon stopped during the run.';

/** Runs of test suites: a queue, and a few at a time in processes of their own. */
export class EvalRuns {
  readonly #options: EvalRunsOptions;
  readonly #active = new Map<string, ActiveRun>();
  readonly #listeners = new Map<string, Set<RunListener>>();
  #isOpen = false;

  constructor(options: EvalRunsOptions) {
    this.#options = options;
  }

  /** @throws ParleyError NOT_FOUND */
  get(id: string): StoredEvalRun {
    const run = this.#options.store.get(id);
    if (run === null) throw new ParleyError('NOT_FOUND', { what: 'run', id });
    return { ...run, progress: this.#active.get(id)?.progress ?? run.progress };
  }

  /** Latest first. */
  list(filter: EvalRunFilter): StoredEvalRun[] {
    return this.#options.store
      .list(filter)
      .map((run) => ({ ...run, progress: this.#active.get(run.id)?.progress ?? run.progress }));
  }

  /** @throws ParleyError NOT_FOUND, EVAL_RESULT_MISSING */
  result(id: string): SuiteResult {
    const { status } = this.get(id);
    const result = this.#options.store.result(id);
    if (result === null) throw new ParleyError('EVAL_RESULT_MISSING', { id, status });
    return JSON.parse(result) as SuiteResult;
  }

  /** Adds a run to the queue. @throws ParleyError NOT_FOUND, DAEMON_DRAINING, EVAL_QUEUE_FULL; InvalidConfigError */
  async start(request: EvalRunRequest): Promise<StoredEvalRun> {
    const { store, suites, agents, admission, nowUnixMs } = this.#options;
    admission.enter();
    const suite = suites.get(request.suiteId);
    const { mode, runs, only, webhook } = request;
    const agentId = request.agentId ?? suite.agentId;
    if (agentId === null) throw faultOf(['body', 'agent_id'], 'Field required: the suite has no agent');
    const versionOf = async (id: string, version: number | null): Promise<number> => {
      const found = version ?? agents.stored(id).version;
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
    if (store.open().length >= MAX_QUEUED) throw new ParleyError('EVAL_QUEUE_FULL', { limit: MAX_QUEUED });
    const run = store.add({
      id: randomUUID(),
      suiteId: suite.id,
      suiteVersion: suite.version,
      agentId,
      agentVersion: await versionOf(agentId, request.agentVersion),
      request: JSON.stringify(asked),
      webhook,
      createdMs: nowUnixMs(),
    });
    this.#next();
    return this.get(run.id);
  }

  /** Ends a run; one that is over stays as it is. @throws ParleyError NOT_FOUND */
  async cancel(id: string): Promise<StoredEvalRun> {
    const { status } = this.get(id);
    const active = this.#active.get(id);
    if (active !== undefined) {
      active.isCanceled = true;
      active.abort.abort(new Error('The run was canceled.'));
      await active.over;
    } else if (status === 'queued') this.#end(id, { status: 'canceled', reason: null });
    return this.get(id);
  }

  /** Deletes a run with its calls and their files. @throws ParleyError NOT_FOUND, EVAL_RUN_GOES_ON */
  async remove(id: string): Promise<void> {
    const { store, files } = this.#options;
    if (this.get(id).finishedMs === null) throw new ParleyError('EVAL_RUN_GOES_ON', { id });
    await files.remove(store.callsOf(id));
    store.remove(id);
    this.#tell(id);
  }

  /** Ends and deletes all runs of a suite or of an agent. */
  async empty(kind: 'suite' | 'agent', parentId: string): Promise<void> {
    for (const id of this.#options.store.ofParent(kind, parentId)) {
      await this.cancel(id);
      await this.remove(id);
    }
  }

  /** Calls the listener after each change. Returns a function that stops it. */
  watch(id: string, listener: RunListener): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
    };
  }

  /** Fails runs that an earlier process held. Queued ones still wait. */
  async recover(): Promise<void> {
    const { store, files } = this.#options;
    for (const { id, status } of store.open()) {
      if (status === 'running') this.#end(id, { status: 'failed', reason: STOPPED });
    }
    await files.clear(null);
  }

  /** Starts to hold runs. */
  resume(): void {
    this.#isOpen = true;
    this.#next();
  }

  /** Starts no further run. */
  stop(): void {
    this.#isOpen = false;
  }

  /** Ends the runs that go on; they fail. May be called twice. */
  async close(): Promise<void> {
    this.stop();
    const active = [...this.#active.values()];
    for (const { abort } of active) abort.abort(new Error(STOPPED));
    await Promise.all(active.map(({ over }) => over));
  }

  #next(): void {
    const { store, settings, admission } = this.#options;
    if (!this.#isOpen || !admission.isOpen) return;
    const queued = store.open().filter(({ id, status }) => status === 'queued' && !this.#active.has(id));
    for (const run of queued.slice(0, Math.max(0, settings.runs - this.#active.size))) this.#hold(run);
  }

  #hold(run: StoredEvalRun): void {
    const { store, nowUnixMs, onError } = this.#options;
    const startedMs = nowUnixMs();
    store.start(run.id, startedMs);
    const abort = new AbortController();
    const active: ActiveRun = { progress: run.progress, abort, isCanceled: false, over: Promise.resolve() };
    this.#active.set(run.id, active);
    this.#tell(run.id);
    active.over = this.#run({ ...run, startedMs }, active)
      .catch((error: unknown) => onError(errorOf(error)))
      .finally(() => {
        this.#active.delete(run.id);
        this.#tell(run.id);
        this.#next();
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
            this.#tell(run.id);
          },
        },
      );
      await this.#done(run, job, result);
    } catch (error) {
      const isCanceled = active.isCanceled;
      this.#end(run.id, { status: isCanceled ? 'canceled' : 'failed', reason: isCanceled ? null : reasonOf(error) });
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
      suite: JSON.parse(suites.version(run.suiteId, run.suiteVersion).suite) as EvalSuite,
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
    this.#end(run.id, { ...outcome, status: 'done', reason: null });
  }

  #end(id: string, end: Pick<EvalRunEnd, 'status' | 'reason'> & Partial<EvalRunEnd>): void {
    const { store, nowUnixMs, report, reported, atomically } = this.#options;
    const isReported = atomically(() => {
      const before = store.get(id);
      if (before === null) return false;
      const { progress } = this.#active.get(id) ?? before;
      store.end(id, { ...NO_OUTCOME, progress, finishedMs: nowUnixMs(), ...end });
      const after = store.get(id);
      if (after === null || before.finishedMs !== null || before.webhook === null) return false;
      report(after, before.webhook);
      return true;
    });
    if (isReported) reported();
    this.#tell(id);
  }

  #tell(id: string): void {
    const listeners = this.#listeners.get(id);
    if (listeners === undefined) return;
    const stored = this.#options.store.get(id);
    const run = stored && { ...stored, progress: this.#active.get(id)?.progress ?? stored.progress };
    for (const listener of Array.from(listeners)) listener(run);
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
