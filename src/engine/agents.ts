import type { AgentConfig } from '../agent/agent.js';
import type { AgentFile } from '../agent/agent-file.js';

/** The configuration's checks are loaded when the first one is asked for: importing the library does not wait for them. */

/**
 * A checked AgentConfig: unknown members are refused, nothing is coerced. `createSession` checks what it is given too.
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
