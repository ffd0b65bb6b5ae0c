import type { AgentConfig } from '../../agent/agent.js';
import { type AgentExtensions, overriddenExtensions } from '../../agent/extensions/extensions.js';
import { movedParts } from '../../agent/extensions/old-place.js';
import { overriddenAgent } from '../../agent/override-agent.js';
import { restoreSecrets } from '../../agent/redact.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import { ParleyError } from '../../base/errors.js';
import type { AgentRegistry } from './agents.js';
import { checkAgent } from './check-agent.js';

/** The agent of a request. */
export interface RequestedAgent {
  /** Null = a temporary agent. */
  agentId: string | null;
  agent: AgentConfig;
  extensions: AgentExtensions | null;
  script: unknown;
}

const CONFIG_PLACE = ['body', 'agent_config'];

/**
 * The stored agent, overridden by the number's configuration and then by the request's `agent_config` and
 * `agent_extensions`. Without a stored agent, only those of the request. A secret of `***` means the stored one.
 * @throws InvalidConfigError; ParleyError NOT_FOUND, AGENT_DISABLED
 */
export function requestedAgent(
  agents: Pick<AgentRegistry, 'get'>,
  agentId: string | null,
  { agentConfig, agentExtensions }: { agentConfig: AgentConfig | null; agentExtensions: AgentExtensions | null },
  between: AgentConfig | null = null,
): RequestedAgent {
  const stored = agentId === null ? null : agents.get(agentId);
  const own = movedParts(between ?? {}, null); // stored by an earlier release
  const base = overriddenAgent(stored?.config ?? {}, own.config);
  const given = agentConfig === null ? null : restoreSecrets(agentConfig, base, CONFIG_PLACE);
  const agent = overriddenAgent(base, given);
  if (stored?.config.status === 'disabled' || agent.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
  const extensions = overriddenExtensions(overriddenExtensions(stored?.extensions, own.extensions), agentExtensions);
  return { agentId, agent, extensions, script: stored?.script };
}

/** @throws InvalidConfigError if this daemon cannot serve such a conversation */
export function checkRequestedAgent(
  engine: Engine,
  { agentId, agent, extensions, script }: RequestedAgent,
  request: Pick<AgentRequest, 'metadata' | 'includeMetadataInPrompt' | 'phones'>,
): Promise<unknown> {
  const whole = {
    ...request,
    agent,
    extensions,
    agentId,
    script,
  };
  return checkAgent(engine, whole, { config: CONFIG_PLACE });
}
