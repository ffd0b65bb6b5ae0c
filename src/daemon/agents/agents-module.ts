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
import { memoryRoutes } from './memory-routes.js';
import { voiceRoutes } from './voice-routes.js';
import { Voices } from './voices.js';

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
  const { settings, engine, nowUnixMs, stores } = context;
  const { knowledge, memories, uploads } = stores.agentData;
  const registry = new AgentRegistry({
    engine,
    nowUnixMs,
    inUse,
    store: stores.agents,
    phones: stores.phones,
    whyNeverTransferred: (target) => (isAllowedExtension(settings.sip, target) ? null : whyNeverCalled(target)),
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
      voiceRoutes(api, { voices, clients, links });
    },
  };
}
