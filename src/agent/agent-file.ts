import * as z from 'zod';
import { agentConfigSchema, type AgentConfig } from './agent.js';
import { type AgentExtensions, agentExtensionsSchema } from './extensions/extensions.js';
import { movingSchema, type OldPlaceWarning, oldPlaceWarnings } from './extensions/old-place.js';
import { parseWith } from '../schema/issues.js';
import { readSource } from '../schema/json-file.js';
import { fileJsonSchema, placedIn, placeIn, type Source } from '../schema/source.js';
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

const agentFileSchema = movingSchema(
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
 * Reads and checks an agent file: JSON, where comments and trailing commas are allowed, or YAML.
 * @throws InvalidConfigError with the line and column of each fault; ParleyError CONFIG_INVALID if it cannot be read
 */
export async function loadAgentFile(path: string, rules: AgentConfigRules = {}): Promise<AgentFile> {
  return agentFileIn(await readSource(path), rules);
}

/** The agent of a text. @throws InvalidConfigError with the line and column of each fault */
export function agentFileIn(source: Source, rules: AgentConfigRules = {}): AgentFile {
  const { warnings, ...file } = placedIn(source, () => parseAgentFile(source.value, rules));
  if (warnings === undefined) return file;
  return { ...file, warnings: warnings.map(({ loc, msg }) => ({ loc: [placeIn(source, loc), ...loc], msg })) };
}

/** JSON Schema of agent files, for editors; `data/agent.schema.json` holds it. */
export function agentFileJsonSchema(): Record<string, unknown> {
  const description = 'An agent file of parley. `parley agents check FILE` checks all of it.';
  return fileJsonSchema(agentFileSchema, 'parley agent', description);
}
