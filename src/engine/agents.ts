import type { AgentConfig } from '../agent/agent.js';
import type { AgentFile } from '../agent/agent-file.js';

/** The validation is loaded on first use, so that importing the library stays fast. */

/**
 * A checked AgentConfig: unknown members are refused, nothing is coerced. `createSession` also checks its agent.
 * @throws ParleyError CONFIG_INVALID naming every fault
 */
export async function parseAgentConfig(value: unknown): Promise<AgentConfig> {
  return (await import('../agent/parse.js')).parseAgentConfig(value);
}

/**
 * Reads and checks an agent file: JSON, `{name, config, script?, extensions?}`.
 * @throws ParleyError CONFIG_INVALID naming every fault
 */
export async function loadAgentFile(path: string): Promise<AgentFile> {
  return (await import('../agent/agent-file.js')).loadAgentFile(path);
}
