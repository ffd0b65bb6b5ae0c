import * as z from 'zod';
import { agentConfigSchema, type AgentConfig } from './agent.js';
import { parseWith } from './issues.js';
import { readJsonFile } from './json-file.js';
import { type AgentConfigRules, parseAgentConfig } from './parse.js';

/** An agent on disk, as `parley run --agent` takes it. */
export interface AgentFile {
  name: string;
  config: AgentConfig;
  /** Rules of the embedded scripted model; that model checks them (`docs/agent-scripts.md`). */
  script?: unknown;
}

const agentFileSchema = z.strictObject({
  name: z.string().min(1).max(200),
  config: agentConfigSchema,
  script: z.unknown().optional(),
});

/**
 * A checked agent file.
 * @throws InvalidConfigError naming every fault.
 */
export function parseAgentFile(value: unknown, rules: AgentConfigRules = {}): AgentFile {
  const location = rules.location ?? [];
  const file = parseWith(agentFileSchema, value, location);
  const config = parseAgentConfig(file.config, { ...rules, location: [...location, 'config'] });
  return { name: file.name, config, ...(file.script !== undefined && { script: file.script }) };
}

/**
 * Reads and checks an agent file.
 * @throws ParleyError CONFIG_INVALID.
 */
export async function loadAgentFile(path: string, rules: AgentConfigRules = {}): Promise<AgentFile> {
  return parseAgentFile(await readJsonFile(path), { ...rules, location: [path] });
}
