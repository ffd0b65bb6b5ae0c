import * as z from 'zod';
import { RealClock } from '../../base/real-clock.js';
import { embeddingRoute } from '../../settings/models.js';
import { newDelivery } from '../../tools/outbox.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallArchive } from '../call-log/call-archive.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { caseRoutes } from './case-routes.js';
import { ChildRunner } from './child-runner.js';
import { EvalFiles } from './eval-files.js';
import { EvalRuns } from './eval-runs.js';
import { EvalSuites } from './eval-suites.js';
import { progressReply, progressSchema, runReply } from './replies.js';
import { reportRoutes } from './report-routes.js';
import { runRoutes } from './run-routes.js';
import { suiteRoutes } from './suite-routes.js';
import type { Clock } from '../../base/clock.js';
import type { Leases } from '../../store/leases.js';
import type { EvalRunStore } from '../../store/eval-runs.js';
import { DailyPurge, DAY_MS } from '../daily-purge.js';
import { ParleyError } from '../../base/errors.js';
import type { Api } from '../http/api.js';
import { EventStream, sendProgress } from '../http/event-stream.js';

export interface EvalsModule extends DaemonModule {
  readonly suites: EvalSuites;
  readonly runs: EvalRuns;
}

/** Test suites of agents and their runs. */
export function evalsModule(
  context: DaemonContext,
  { agents, archive }: { agents: AgentRegistry; archive: CallArchive },
): EvalsModule {
  const { settings, engine, clock, nowUnixMs, stores, faults, admission, leases } = context;
  const [onError, store] = [faults.report, stores.evalRuns];
  const suites = new EvalSuites({ store: stores.evalSuites, agents, nowUnixMs });
  const runner = new ChildRunner({
    engine,
    onError,
    knowledge: stores.agentData.knowledge,
    voices: () => stores.voices.list(),
    embedding: embeddingRoute(settings),
    prices: settings.prices,
    settings: settings.evals,
    clock: clock.virtual ? new RealClock() : clock,
  });
  const runs = new EvalRuns({
    store,
    suites,
    agents,
    runner,
    clock,
    nowUnixMs,
    admission,
    onError,
    files: new EvalFiles(settings.dataDir, archive.files),
    recordingOf: async (sessionId) => {
      const { recording } = await archive.get(sessionId);
      return recording === null ? null : archive.files.read(recording);
    },
    settings: settings.evals,
    traces: settings.traces,
    prices: settings.prices,
    multiplierOf: stores.voices.multiplierOf,
    report: function* (run, webhook) {
      const nowMs = nowUnixMs();
      const message = { type: 'eval_run.finished', timestamp: new Date(nowMs).toISOString(), data: runReply(run) };
      yield* stores.outbox.adding(newDelivery(run.id, webhook, JSON.stringify(message), nowMs));
    },
    reported: () => stores.outbox.wake(),
    node: context.node,
  });
  const retention = new EvalRetention({
    store,
    runs,
    clock,
    leases,
    nowUnixMs,
    onError,
    days: settings.evals.retentionDays,
  });
  agents.onRemove(async (agentId) => {
    for (const { id } of await suites.list(agentId)) await runs.empty('suite', id);
    await runs.empty('agent', agentId);
  });
  return {
    name: 'evals',
    suites,
    runs,
    routes: (api) => {
      suiteRoutes(api, { suites, runs });
      caseRoutes(api, { suites, archive });
      runRoutes(api, runs);
      runProgressRoutes(api, runs, clock);
      reportRoutes(api, runs);
    },
    recover: async () => {
      await runs.recover();
      retention.start();
    },
    takeOver: (nodeId) => runs.takeOver(nodeId),
    resume: () => runs.resume(),
    stop: () => runs.stop(),
    close: async () => {
      await retention.close();
      await runs.close();
    },
  };
}

interface EvalRetentionOptions {
  store: Pick<EvalRunStore, 'endedBefore'>;
  runs: Pick<EvalRuns, 'remove'>;
  clock: Clock;
  leases: Pick<Leases, 'lead'>;
  nowUnixMs: () => number;
  /** How long runs are kept. */
  days: number;
  onError: (error: Error) => void;
}

/** Deletes old runs with their calls at the start and daily. */
class EvalRetention {
  readonly #options: EvalRetentionOptions;
  readonly #daily: DailyPurge;

  constructor(options: EvalRetentionOptions) {
    this.#options = options;
    const { clock, leases, onError } = options;
    this.#daily = new DailyPurge({ clock, leases, name: 'retention of evals', purge: () => this.purge(), onError });
  }

  start(): void {
    this.#daily.start();
  }

  /** Deletes what is too old now. */
  async purge(): Promise<void> {
    const { store, runs, nowUnixMs, days } = this.#options;
    await this.#daily.inBatches(
      async () => store.endedBefore(nowUnixMs() - days * DAY_MS, 1),
      async ([id]) => {
        if (id !== undefined) await runs.remove(id);
      },
    );
  }

  /** May be called twice. Resolves when no deletion runs. */
  close(): Promise<void> {
    return this.#daily.close();
  }
}

/** Maximum of concurrent watchers. */
const MOST_STREAMS = 100;
const RETRY_S = 10;

/** The progress of runs as server-sent events. */
function runProgressRoutes(api: Api, runs: EvalRuns, clock: Clock): void {
  let streams = 0;

  api.add({
    id: 'watchEvalRun',
    method: 'GET',
    path: '/evals/runs/{run_id}/progress',
    tag: 'evals',
    summary: 'Watch the progress of a run',
    description:
      'Server-sent events: `event: progress` with the progress as JSON, at once and after each change. One event may ' +
      'combine several changes. The stream ends when the run is over or deleted.',
    params: { run_id: z.string().min(1).max(100) },
    content: 'text/event-stream',
    answer: progressSchema,
    stream: {
      events: { progress: progressSchema },
      last: { member: 'status', values: ['done', 'canceled', 'failed'] },
    },
    errors: ['NOT_FOUND', 'STREAMS_FULL'],
    examples: () => ({ answer: { status: 'running', reason: null, done: 12, total: 25, passed: 11, failed: 1 } }),
    handle: async ({ params: { run_id: id }, reply }) => {
      const run = await runs.get(id);
      if (streams >= MOST_STREAMS) throw new ParleyError('STREAMS_FULL', { limit: MOST_STREAMS, retryAfterS: RETRY_S });
      streams++;
      void sendProgress(new EventStream(reply, clock), run, {
        watch: (listener) => runs.watch(id, listener),
        reply: progressReply,
        isLast: ({ finishedMs }) => finishedMs !== null,
      }).finally(() => {
        streams--;
      });
      return reply;
    },
  });
}
