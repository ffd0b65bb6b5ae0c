import type { Clock } from '../clock/clock.js';
import { placed } from '../config/issues.js';
import type { ResolvedAgent } from '../config/resolve.js';
import type { GuardedClient } from '../net/guarded-client.js';
import { AppTool } from '../tools/app-tool.js';
import type { McpServers } from '../tools/mcp/tools.js';
import { ServiceWebhook } from '../tools/service-webhook.js';
import type { Tool } from '../tools/tool.js';
import { WebForm } from '../tools/web-form.js';
import type { EngineOptions } from './options.js';

export interface AgentToolsOptions {
  clock: Clock;
  /** For addresses of the operator's. */
  operatorClient: GuardedClient;
  options: Pick<EngineOptions, 'serviceWebhooks' | 'appBaseUrls'>;
  mcp: McpServers;
  /** Null where the agent has no id. */
  agentId: string | null;
  /** Whether the line's client shows forms. */
  hasScreen: boolean;
}

/**
 * What an agent can do beside the functions of its `tools`.
 * @throws ParleyError CONFIG_INVALID for an app that there is not, or without its credentials
 */
export function agentTools(agent: ResolvedAgent, options: AgentToolsOptions): Tool[] {
  const tools = [...serviceTools(agent, options), ...appTools(agent, options)];
  const taken = new Set([...agent.tools.map(({ name }) => name), ...tools.map(({ spec }) => spec.name)]);
  return [...tools, ...options.mcp.tools(options.agentId, options.clock, taken)];
}

function serviceTools({ serviceFunctions, variables }: ResolvedAgent, options: AgentToolsOptions): Tool[] {
  const { clock, hasScreen, operatorClient: client } = options;
  const { serviceWebhooks = {} } = options.options;
  return serviceFunctions.map((fn) => {
    if (fn.type !== 'webhook') return new WebForm(fn, { clock, variables, hasScreen });
    const address = Object.hasOwn(serviceWebhooks, fn.name) ? (serviceWebhooks[fn.name] ?? null) : null;
    return new ServiceWebhook(fn, { clock, variables, hasScreen, client, address });
  });
}

function appTools({ appFunctions, timezone, language }: ResolvedAgent, options: AgentToolsOptions): Tool[] {
  const { clock, operatorClient: client } = options;
  const baseUrls = options.options.appBaseUrls ?? {};
  return appFunctions.map((fn, at) =>
    placed(['app_functions', at], () => new AppTool(fn, { client, clock, timezone, language, baseUrls })),
  );
}
