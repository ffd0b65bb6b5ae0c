import { type AgentFile, loadAgentFile } from '../agent/agent-file.js';
import { agentFileJsonSchema } from '../agent/agent-schema.js';
import { InvalidConfigError, type ValidationIssue } from '../schema/issues.js';
import { readJsonFile } from '../schema/json-file.js';
import { Engine } from '../engine/engine.js';
import type { AgentRequest } from '../engine/options.js';
import { ParleyError } from '../base/errors.js';
import { type CommandIo, defineCommand, unknownAction } from './shared/command.js';
import { engineSettings, printWarnings, SETTING_FLAGS } from './shared/engine-settings.js';

export const agents = defineCommand({
  help: `
Usage: parley agents check FILE …
       parley agents schema

Checks agent files, {name, config, script?, extensions?}, without a call or a daemon.

Actions:
  check   Check every field, the script, and that the model, the recogniser and the voice are available here.
          Exit code 1 if an agent could not hold a session.
  schema  Print the JSON Schema of agent files. An editor completes and checks a file whose \`$schema\` names it.

Flags:
  --config FILE         settings file (JSON), as for parley serve
  --llm-model ID        default language model, for agents that name none
  --plugin FILE         functions, providers and more of your own (repeatable)
`,
  options: SETTING_FLAGS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, ...files] = positionals;
    if (action === 'schema' && files.length === 0) {
      io.stdout.write(`${JSON.stringify(agentFileJsonSchema(), null, 2)}\n`);
      return 0;
    }
    if (action !== 'check' || files.length === 0)
      throw unknownAction(action, ['check', 'schema'], 'expected check FILE … or schema');
    const { engine: options } = await engineSettings(io, {
      config: values.config,
      'llm-model': values['llm-model'],
      plugins: values.plugin,
    });
    const engine = new Engine(options);
    let code = 0;
    try {
      for (const path of files) {
        const faults = await check(path, engine, io);
        for (const fault of faults) io.stderr.write(`${fault}\n`);
        if (faults.length > 0) code = 1;
      }
    } finally {
      await engine.close();
    }
    return code;
  },
});

/** Prints the warnings of a valid file. @returns a line for each fault */
async function check(path: string, engine: Engine, io: CommandIo): Promise<readonly string[]> {
  let file: AgentFile | null = null;
  const issues: ValidationIssue[] = [];
  try {
    file = await loadAgentFile(path);
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) return [messageLine(path, error)];
    issues.push(...error.issues);
  }
  const { faults } = await engine.reviewAgent(file === null ? await unchecked(path) : requestOf(file));
  if (file !== null && faults.length === 0) {
    printWarnings(file, engine, io);
    io.stdout.write(`${path}: the agent "${file.name}" is valid\n`);
    return [];
  }
  const ofSchema = issues.map(({ loc, msg }) => ({
    place: [path, ...loc.slice(loc[0] === path ? 1 : 0)].join('.'),
    msg,
  }));
  const known = new Set(ofSchema.map(({ place }) => place));
  // The engine also reports the faults that the file's schema has found.
  const more = faults.flatMap((fault) => {
    if (!(fault instanceof InvalidConfigError)) return [messageLine(path, fault)];
    return fault.issues.flatMap(({ loc, msg }) => {
      const place = [path, 'config', ...loc].join('.');
      return known.has(place) ? [] : [`${place}: ${msg}`];
    });
  });
  return [...ofSchema.map(({ place, msg }) => `${place}: ${msg}`), ...more];
}

function requestOf({ config, script, extensions }: AgentFile): AgentRequest {
  return { agent: config, script, extensions };
}

/** The agent of a file that its schema rejects. */
async function unchecked(path: string): Promise<AgentRequest> {
  const { config, script, extensions } = ((await readJsonFile(path)) ?? {}) as Partial<AgentFile>;
  return requestOf({ name: path, config: config ?? {}, script, extensions: extensions ?? null });
}

/** @throws errors that are not faults of the file */
function messageLine(path: string, error: unknown): string {
  if (!(error instanceof ParleyError)) throw error;
  return `${path}: ${error.message}`;
}
