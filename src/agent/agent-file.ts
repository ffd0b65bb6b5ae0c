import * as z from 'zod';
import { agentConfigSchema, type AgentConfig } from './agent.js';
import { type AgentExtensions, agentExtensionsSchema } from './extensions/extensions.js';
import { movingSchema, type OldPlaceWarning, oldPlaceWarnings } from './extensions/old-place.js';
import { parseWith } from '../schema/issues.js';
import { readJsonFile } from '../schema/json-file.js';
import { type AgentConfigRules, parseAgentConfig } from './parse.js';

/** An agent on disk, as `parley run --agent` takes it. */
export interface AgentFile {
  name: string;
  config: AgentConfig;
  /** Rules of the embedded scripted model; that model checks them (`docs/agent-scripts.md`). */
  script?: unknown;
  /** What the agent has beside its configuration. */
  extensions?: AgentExtensions | null;
  /** Members in places that the next release refuses. Left out where there are none. */
  warnings?: readonly OldPlaceWarning[];
}

export const agentFileSchema = movingSchema(
  z.strictObject({
    /** Where editors find the schema. */
    $schema: z.string().optional(),
    name: z.string().min(1).max(200),
    config: agentConfigSchema,
    script: z.unknown().optional(),
    extensions: agentExtensionsSchema.nullish(),
  }),
);

/**
 * A checked agent file.
 * @throws InvalidConfigError naming every fault.
 */
export function parseAgentFile(value: unknown, rules: AgentConfigRules = {}): AgentFile {
  const location = rules.location ?? [];
  const file = parseWith(agentFileSchema, value, location);
  const config = parseAgentConfig(file.config, { ...rules, location: [...location, 'config'] });
  const { name, script, extensions = null } = file;
  const warnings = oldPlaceWarnings((value as { config?: unknown }).config, [...location, 'config']);
  const agent: AgentFile = { name, config };
  if (script !== undefined) agent.script = script;
  if (extensions !== null) agent.extensions = extensions;
  if (warnings.length > 0) agent.warnings = warnings;
  return agent;
}

/**
 * Reads and checks an agent file.
 * @throws ParleyError CONFIG_INVALID.
 */
export async function loadAgentFile(path: string, rules: AgentConfigRules = {}): Promise<AgentFile> {
  return parseAgentFile(await readJsonFile(path), { ...rules, location: [path] });
}
