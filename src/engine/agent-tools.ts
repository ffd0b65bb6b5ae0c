import type { ResolvedAgent } from '../agent/resolve.js';
import { placed } from '../schema/issues.js';
import { AppTool } from '../tools/apps/app-tool.js';
import { ServiceWebhook } from '../tools/service-webhook.js';
import type { Tool } from '../tools/tool.js';
import { WebForm } from '../tools/web-form.js';
import type { FaultCollector } from './agent-faults.js';
import type { EngineServices } from './services.js';

type ToolServices = Pick<EngineServices, 'clock' | 'operatorClient' | 'options' | 'mcp'>;

export interface AgentToolsOptions {
  /** Null if the agent has no id. */
  agentId: string | null;
  /** Whether the line's client shows forms. */
  hasScreen: boolean;
  /** Collects apps that do not exist or lack credentials. */
  faults: FaultCollector;
}

/** The tools of an agent other than the functions of its `tools`. */
export function agentTools(
  agent: ResolvedAgent,
  services: ToolServices,
  { agentId, hasScreen, faults }: AgentToolsOptions,
): Tool[] {
  const tools = [...serviceTools(agent, services, hasScreen), ...appTools(agent, services, faults)];
  const taken = new Set([...agent.tools.map(({ name }) => name), ...tools.map(({ spec }) => spec.name)]);
  return [...tools, ...services.mcp.tools(agentId, services.clock, taken)];
}

function serviceTools(
  { serviceFunctions, variables }: ResolvedAgent,
  { clock, operatorClient: client, options }: ToolServices,
  hasScreen: boolean,
): Tool[] {
  const serviceWebhooks = options.serviceWebhooks ?? {};
  return serviceFunctions.map((fn) => {
    if (fn.type !== 'webhook') return new WebForm(fn, { clock, variables, hasScreen });
    const address = Object.hasOwn(serviceWebhooks, fn.name) ? (serviceWebhooks[fn.name] ?? null) : null;
    return new ServiceWebhook(fn, { clock, variables, hasScreen, client, address });
  });
}

function appTools(
  { appFunctions, timezone, language }: ResolvedAgent,
  { clock, operatorClient: client, options }: ToolServices,
  faults: FaultCollector,
): Tool[] {
  const baseUrls = options.appBaseUrls ?? {};
  return appFunctions.flatMap((fn, at) => {
    const make = (): Tool => new AppTool(fn, { client, clock, timezone, language, baseUrls });
    const tool = faults.attempt(() => placed(['app_functions', at], make));
    return tool === null ? [] : [tool];
  });
}
