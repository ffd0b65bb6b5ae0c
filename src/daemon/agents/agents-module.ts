import * as z from 'zod';
import type { AgentConfig } from '../../agent/agent.js';
import { EMBEDDED_DEFAULTS } from '../../agent/resolve.js';
import { whyNeverCalled } from '../../telephony/carriers/destinations.js';
import { isAllowedExtension } from '../../telephony/carriers/sip/open.js';
import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import { agentRoutes } from './agent-routes.js';
import { AgentRegistry } from './agents.js';
import { embedRoutes } from './embed-routes.js';
import { knowledgeRoutes } from './knowledge-routes.js';
import { stepRoutes } from './step-routes.js';
import { voiceRoutes } from './voice-routes.js';
import { Voices } from './voices.js';
import { unixSeconds } from '../../base/real-clock.js';
import { CampaignStore } from '../../store/campaigns.js';
import type { StoredMemories } from '../../store/memory.js';
import type { Api } from '../http/api.js';

/** Agents, with their knowledge, memories, widgets and voices. */
export interface AgentsModule extends DaemonModule {
  readonly registry: AgentRegistry;
}

/** @param inUse changes a stored configuration for use in this process. Default: no change */
export function agentsModule(
  context: DaemonContext,
  { access, clients, links }: HttpModule,
  inUse: (config: AgentConfig) => AgentConfig = (config) => config,
): AgentsModule {
  const { settings, engine, nowUnixMs, stores, database } = context;
  const { knowledge, memories, uploads } = stores.agentData;
  const registry = new AgentRegistry({
    engine,
    nowUnixMs,
    inUse,
    store: stores.agents,
    phones: stores.phones,
    campaigns: new CampaignStore(database),
    whyNeverTransferred: (target) => (isAllowedExtension(settings.sip, target) ? null : whyNeverCalled(target)),
  });
  engine.keepIn({
    agents: {
      get: async (id) => {
        const found = registry.find(id);
        if (found === null) return null;
        const { name, config: agent, extensions, script } = found;
        return { name, agent, extensions, script };
      },
    },
  });
  const voices = new Voices({
    engine,
    nowUnixMs,
    store: stores.voices,
    agents: registry,
    defaults: { language: settings.language, provider: settings.tts ?? EMBEDDED_DEFAULTS.voiceProvider },
  });
  return {
    name: 'agents',
    registry,
    routes: (api) => {
      agentRoutes(api, { agents: registry, knowledge });
      embedRoutes(api, { agents: registry, access, regions: settings.regions });
      knowledgeRoutes(api, { agents: registry, knowledge, uploads });
      memoryRoutes(api, memories);
      stepRoutes(api, { agents: registry, nowUnixMs, figures: (...period) => stores.calls.stepFigures(...period) });
      voiceRoutes(api, { voices, clients, links });
    },
  };
}

const params = { user: z.string().min(1).max(500) };
const query = { agent_id: z.string().min(1).max(200).exactOptional() };
const memory = z
  .strictObject({
    agent_id: z.string(),
    user: z.string(),
    session_id: z.string(),
    text: z.string(),
    created_at: z.int().describe('Unix seconds'),
  })
  .meta({ id: 'Memory', description: "An agent's memory of one session." });

/** Reads and deletes the memories of agents about a user. */
function memoryRoutes(api: Api, memories: StoredMemories): void {
  api.add({
    id: 'getMemories',
    method: 'GET',
    path: '/memories/{user}',
    tag: 'memories',
    params,
    query,
    summary: 'The memories of agents about a user',
    answer: z.array(memory),
    examples: () => ({
      answer: [
        {
          agent_id: 'the-crooked-fork',
          user: '+12025550101',
          session_id: '39c5fc58-e0cb-4c29-87f1-e62cadc339f3',
          text: 'Ann booked a table for four on the terrace. She is vegetarian.',
          created_at: 1_795_448_212,
        },
      ],
    }),
    handle: async ({ params: { user }, query: { agent_id: agentId = null } }) =>
      (await memories.list({ user, agentId })).map((kept) => ({
        agent_id: kept.agentId,
        user: kept.user,
        session_id: kept.sessionId,
        text: kept.text,
        created_at: unixSeconds(kept.unixMs),
      })),
  });

  api.add({
    id: 'deleteMemories',
    method: 'DELETE',
    scope: 'admin',
    path: '/memories/{user}',
    tag: 'memories',
    params,
    query,
    summary: 'Delete the memories of agents about a user',
    answer: z.strictObject({ success: z.boolean(), erased: z.int() }),
    examples: () => ({ answer: { success: true, erased: 1 } }),
    handle: async ({ params: { user }, query: { agent_id: agentId = null } }) => ({
      success: true,
      erased: await memories.erase({ user, agentId }),
    }),
  });
}
