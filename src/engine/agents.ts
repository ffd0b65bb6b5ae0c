import type { AgentConfig } from '../config/agent.js';
import type { AgentFile } from '../config/agent-file.js';

/** The configuration's checks are loaded when the first one is asked for: importing the library does not wait for them. */

/**
 * A checked AgentConfig: unknown members are refused, nothing is coerced. `createSession` checks what it is given too.
 * @throws ParleyError CONFIG_INVALID naming every fault
 */
export async function parseAgentConfig(value: unknown): Promise<AgentConfig> {
  return (await import('../config/parse.js')).parseAgentConfig(value);
}

/**
 * Reads and checks an agent file: JSON, `{name, config, script?, extensions?}`.
 * @throws ParleyError CONFIG_INVALID naming every fault
 */
export async function loadAgentFile(path: string): Promise<AgentFile> {
  return (await import('../config/agent-file.js')).loadAgentFile(path);
}
