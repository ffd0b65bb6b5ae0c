import type { Clock } from '../clock/clock.js';
import type { ResolvedAgent } from '../config/resolve.js';
import type { GuardedClient } from '../net/guarded-client.js';
import { ServiceWebhook, type ServiceAddress } from '../tools/service-webhook.js';
import type { Tool } from '../tools/tool.js';
import { WebForm } from '../tools/web-form.js';

export interface AgentToolsOptions {
  clock: Clock;
  /** For addresses of the operator's. */
  operatorClient: GuardedClient;
  /** Where calls of service functions go, by the function's name. */
  serviceWebhooks: Readonly<Record<string, ServiceAddress>>;
  /** Whether the line's client shows forms. */
  hasScreen: boolean;
}

/** What an agent can do beside the functions of its `tools`. */
export function agentTools(agent: ResolvedAgent, options: AgentToolsOptions): Tool[] {
  const { clock, hasScreen, operatorClient, serviceWebhooks } = options;
  const { variables } = agent;
  return agent.serviceFunctions.map((fn) => {
    if (fn.type !== 'webhook') return new WebForm(fn, { clock, variables, hasScreen });
    const address = Object.hasOwn(serviceWebhooks, fn.name) ? (serviceWebhooks[fn.name] ?? null) : null;
    return new ServiceWebhook(fn, { clock, variables, hasScreen, client: operatorClient, address });
  });
}
