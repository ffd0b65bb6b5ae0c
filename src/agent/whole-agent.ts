import { type AgentConfig, agentConfigSchema } from './agent.js';
import { withoutUnsetMembers, withUnsetMembers } from './unset-members.js';

/**
 * A configuration as answers and webhooks have it: members that are not set are null, arrays []. It means the same, but
 * not as an override: there, [] takes the place of what the agent has.
 */
export function wholeAgentConfig(config: AgentConfig): AgentConfig {
  return withUnsetMembers(agentConfigSchema, config);
}

/** A configuration as it is stored: without the members that are not set. */
export function trimmedAgentConfig(config: AgentConfig): AgentConfig {
  return withoutUnsetMembers(agentConfigSchema, config);
}
