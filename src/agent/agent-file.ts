import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
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
  /**
   * The agents of other files in its folder, by the id that `parley serve` gives them. Only an agent that hands over to
   * others has them.
   */
  agents?: Readonly<Record<string, AgentBeside>>;
  /** Members in places that the next release refuses. Left out where there are none. */
  warnings?: readonly OldPlaceWarning[];
}

/** An agent to whom the one of a file may hand over. */
export interface AgentBeside {
  name: string;
  agent: AgentConfig;
  extensions: AgentExtensions | null;
  script: unknown;
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
  const file = agentFileIn(await readSource(path), rules);
  return file.extensions?.handover == null ? file : { ...file, agents: await agentsBeside(path) };
}

/** The id of an agent from a file. */
export function agentSlug(name: string): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g);
  return words?.join('-') ?? 'agent';
}

/** The agents in the folder of a file. What is no agent file is left out. */
export async function agentsBeside(path: string): Promise<Readonly<Record<string, AgentBeside>>> {
  const folder = dirname(path);
  const names = (await readdir(folder)).filter((name) => name !== basename(path) && /\.(jsonc?|ya?ml)$/.test(name));
  const files = await Promise.all(
    names.map(async (name) => agentFileIn(await readSource(join(folder, name)))).map((file) => file.catch(() => null)),
  );
  return Object.fromEntries(
    files.flatMap((file) => {
      if (file === null) return [];
      const { name, config: agent, extensions = null, script } = file;
      return [[agentSlug(name), { name, agent, extensions, script }]];
    }),
  );
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
