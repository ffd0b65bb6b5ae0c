import { agentFileJsonSchema } from '../agent/agent-file.js';
import { Engine } from '../engine/engine.js';
import { checkFile, findingLine } from './agents/check.js';
import { AgentDesk } from './agents/remote.js';
import { type CommandIo, defineCommand, type FlagOptions, type Flags, unknownAction } from './shared/command.js';
import { daemonClient, daemonPlace, DEFAULT_URL } from './shared/daemon-client.js';
import { engineSettings, SETTING_FLAGS } from './shared/engine-settings.js';

const OPTIONS = {
  ...SETTING_FLAGS,
  url: { type: 'string' },
  key: { type: 'string' },
  id: { type: 'string' },
  yes: { type: 'boolean', default: false },
  force: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

type Values = Flags<typeof OPTIONS>['values'];

const USAGE = 'expected check FILE …, schema, list, show AGENT, diff FILE, push FILE … or pull AGENT [FILE]';

export const agents = defineCommand({
  help: `
Usage: parley agents check FILE … [--json]
       parley agents schema
       parley agents list [--json]
       parley agents show AGENT
       parley agents diff FILE [--id AGENT]
       parley agents push FILE … [--id AGENT] [--yes] [--force]
       parley agents pull AGENT [FILE] [--yes]

Agent files, {name, config, script?, extensions?}, in JSON, with comments, or YAML; and the agents of a running daemon.
docs/agents.md describes both.

Actions:
  check   Check every field, the script, and that the model, the recogniser and the voice are available here. Prints
          file:line:column of each fault, and what would be right. FILE may be - for standard input. Exit code 1 if an
          agent could not hold a session.
  schema  Print the JSON Schema of agent files. An editor completes and checks a file whose \`$schema\` names it.
  list    List the agents of the daemon.
  show    Print an agent of the daemon as a file has it. AGENT is an id or a name.
  diff    Show what a push would change. Exit code 1 if there is a difference.
  push    Make the daemon's agent what the file says, or create it. Shows the difference and asks. Refuses if somebody
          has changed the agent since the file was pulled or pushed.
  pull    Make the file what the daemon's agent is, or write it. Shows the difference and asks. Comments stay.

Flags:
  --url URL             address of a running daemon, also PARLEY_URL (default ${DEFAULT_URL})
  --key KEY             a private key of it, also PARLEY_API_KEY
  --id AGENT            the daemon's agent (default: the one that was pulled into the file, or of the same name)
  --yes                 ask nothing
  --force               push also over changes of others
  --json                print JSON (check, list)
  --config FILE         settings file (JSON), as for parley serve (check)
  --llm-model ID        default language model, for agents that name none (check)
  --plugin FILE         functions, providers and more of your own, repeatable (check)
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, first, ...more] = positionals;
    if (action === 'schema' && first === undefined) {
      io.stdout.write(`${JSON.stringify(agentFileJsonSchema(), null, 2)}\n`);
      return 0;
    }
    if (action === 'check' && first !== undefined) return check([first, ...more], values, io);
    return remote(action, first, more, values, io);
  },
});

async function check(files: readonly string[], values: Values, io: CommandIo): Promise<number> {
  const { engine: options } = await engineSettings(io, {
    config: values.config,
    'llm-model': values['llm-model'],
    plugins: values.plugin,
  });
  const engine = new Engine(options);
  try {
    const checked = [];
    for (const file of files) {
      const found = await checkFile(file, engine, io);
      checked.push(found);
      if (values.json) continue;
      for (const finding of found.findings) io.stderr.write(`${findingLine(finding)}\n`);
      if (found.name !== null) io.stdout.write(`${file}: the agent "${found.name}" is valid\n`);
    }
    if (values.json) io.stdout.write(`${JSON.stringify(checked, null, 2)}\n`);
    return checked.some(({ name }) => name === null) ? 1 : 0;
  } finally {
    await engine.close();
  }
}

async function remote(
  action: string | undefined,
  first: string | undefined,
  more: readonly string[],
  values: Values,
  io: CommandIo,
): Promise<number> {
  const { id, yes, force, json } = values;
  const desk = (): AgentDesk =>
    new AgentDesk({ client: daemonClient(values, io), url: daemonPlace(values, io).url, io, yes });
  if (action === 'list' && first === undefined) return desk().list(json);
  if (action === 'show' && first !== undefined && more.length === 0) return desk().show(first);
  if (action === 'diff' && first !== undefined && more.length === 0) return desk().diff(first, id);
  if (action === 'pull' && first !== undefined && more.length < 2) return desk().pull(first, more[0]);
  if (action === 'push' && first !== undefined && (id === undefined || more.length === 0)) {
    for (const file of [first, ...more]) {
      const code = await desk().push(file, id, force);
      if (code !== 0) return code;
    }
    return 0;
  }
  throw unknownAction(action, ['check', 'schema', 'list', 'show', 'diff', 'push', 'pull'], USAGE);
}
