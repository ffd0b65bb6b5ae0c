import type { AgentRegistry } from '../agents/agents.js';
import type { DaemonContext } from '../context.js';
import type { EvalsModule } from '../evals/evals-module.js';
import type { DaemonModule } from '../module.js';
import { Publisher } from './publisher.js';
import { draftRoutes, publicationRoutes } from './publishing-routes.js';
import { versionRoutes } from './version-routes.js';

/** Drafts of agents, their publication, splits between versions, and what becomes of the calls of each. */
export function publishingModule(
  { stores, leases, clock, faults, database }: DaemonContext,
  { agents, evals: { suites, runs } }: { agents: AgentRegistry; evals: EvalsModule },
): DaemonModule {
  const store = stores.publications;
  const publisher = new Publisher({ agents, store, suites, runs, leases, clock, onError: faults.report });
  return {
    name: 'publishing',
    routes: (api) => {
      draftRoutes(api, { agents, publisher });
      publicationRoutes(api, { agents, publisher });
      versionRoutes(api, { agents, database });
    },
    resume: () => publisher.start(),
    close: () => publisher.close(),
  };
}
