import { RealClock } from '../../base/real-clock.js';
import { embeddingRoute } from '../../settings/models.js';
import { databaseFile } from '../../store/database.js';
import { newDelivery } from '../../tools/outbox.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallArchive } from '../call-log/call-archive.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { caseRoutes } from './case-routes.js';
import { ChildRunner } from './child-runner.js';
import { EvalFiles } from './eval-files.js';
import { EvalRetention } from './eval-retention.js';
import { EvalRuns } from './eval-runs.js';
import { EvalSuites } from './eval-suites.js';
import { runReply } from './replies.js';
import { reportRoutes } from './report-routes.js';
import { runProgressRoutes } from './run-progress-routes.js';
import { runRoutes } from './run-routes.js';
import { suiteRoutes } from './suite-routes.js';

/** Test suites of agents and their runs. */
export function evalsModule(
  context: DaemonContext,
  { agents, archive }: { agents: AgentRegistry; archive: CallArchive },
): DaemonModule {
  const { settings, engine, clock, nowUnixMs, database, stores, faults, admission } = context;
  const onError = faults.report;
  const store = stores.evalRuns;
  const suites = new EvalSuites({ store: stores.evalSuites, agents, nowUnixMs });
  const runner = new ChildRunner({
    engine,
    onError,
    knowledge: stores.agentData.knowledge,
    database: databaseFile(settings.dataDir),
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
    files: new EvalFiles(settings.dataDir),
    settings: settings.evals,
    traces: settings.traces,
    prices: settings.prices,
    multiplierOf: stores.voices.multiplierOf,
    report: (run, webhook) => {
      const nowMs = nowUnixMs();
      const message = { type: 'eval_run.finished', timestamp: new Date(nowMs).toISOString(), data: runReply(run) };
      stores.outbox.add(newDelivery(run.id, webhook, JSON.stringify(message), nowMs));
    },
    reported: () => stores.outbox.wake(),
    atomically: (work) => database.transaction(work)(),
  });
  const retention = new EvalRetention({
    store,
    runs,
    clock,
    nowUnixMs,
    onError,
    days: settings.evals.retentionDays,
  });
  agents.onRemove(async (agentId) => {
    for (const { id } of suites.list(agentId)) await runs.empty('suite', id);
    await runs.empty('agent', agentId);
  });
  return {
    name: 'evals',
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
    resume: () => runs.resume(),
    stop: () => runs.stop(),
    close: async () => {
      await retention.close();
      await runs.close();
    },
  };
}
