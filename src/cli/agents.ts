import { agentFileJsonSchema } from '../agent/agent-file.js';
import { Engine } from '../engine/engine.js';
import { checkFile, findingLine } from './agents/check.js';
import { AgentDesk } from './agents/remote.js';
import { type CommandIo, defineCommand, UsageError, type Values } from './shared/command.js';
import { daemonClient, daemonPlace } from './shared/daemon-client.js';
import { DEMO_DESK_URL } from './shared/demo-desk.js';
import { engineSettings } from './shared/engine-settings.js';
import { DAEMON, ENGINE, JSON_OUTPUT, settingsOf } from './shared/flags.js';

const AGENT = { name: 'AGENT', help: "the id or the name of one of the daemon's agents" } as const;
const YES = { yes: { help: 'ask nothing' } } as const;
const ID = {
  id: {
    value: 'AGENT',
    help: "the daemon's agent (default: the one that was pulled into the file, or of the same name)",
  },
} as const;
const NOTE = { note: { value: 'TEXT', help: 'what it is for, for the history' } } as const;
const CHECK = { ...JSON_OUTPUT, ...ENGINE } as const;

export const agents = defineCommand({
  about: `
    Agent files, {name, config, script?, extensions?}, in JSON, with comments, or YAML; and the agents of a running daemon.
    docs/agents.md describes both.`,
  actions: {
    check: defineCommand({
      about: `
        Check every field, the script, and that the model, the recogniser and the voice are available here. Prints
        file:line:column of each fault, and what would be right. Exit code 1 if an agent could not hold a session.`,
      args: [{ name: 'FILE', help: 'agent file; - is standard input', many: true }],
      flags: CHECK,
      examples: [['parley agents check agents/*.json', 'checks all agents of a folder']],
      run: ({ values, positionals }, io) => check(positionals, values, io),
    }),
    schema: defineCommand({
      about: `
        Print the JSON Schema of agent files. An editor completes and checks a file whose \`$schema\` names it.`,
      run: async (_given, io) => {
        io.stdout.write(`${JSON.stringify(agentFileJsonSchema(), null, 2)}\n`);
        return 0;
      },
    }),
    list: defineCommand({
      about: 'List the agents of the daemon.',
      flags: { ...DAEMON, ...JSON_OUTPUT },
      run: ({ values }, io) => deskOf(values, io).list(values.json),
    }),
    show: defineCommand({
      about: 'Print an agent of the daemon as a file has it.',
      args: [AGENT],
      flags: DAEMON,
      run: ({ values, positionals: [agent = ''] }, io) => deskOf(values, io).show(agent),
    }),
    diff: defineCommand({
      about: `
        Show what a push would change, or with --from and --to what differs between two versions of an agent. Exit code 1 if
        there is a difference.`,
      args: [{ name: 'FILE', help: 'agent file; with --from an agent of the daemon', stream: 'in' }],
      flags: {
        ...ID,
        from: { value: 'VERSION', help: 'the first version' },
        to: { value: 'VERSION', help: 'the second version' },
        ...DAEMON,
      },
      examples: [['parley agents diff baker --from 3 --to 4', 'what version 4 has changed']],
      run({ values, positionals: [file = ''] }, io) {
        const { from, to } = values;
        if (from === undefined && to === undefined) return deskOf(values, io).diff(file, values.id);
        if (from === undefined || to === undefined) throw new UsageError('--from and --to need each other');
        return deskOf(values, io).versionDiff(file, versionOf(from), versionOf(to));
      },
    }),
    versions: defineCommand({
      about: 'List the versions of an agent: which one callers have, the draft, who made each and why.',
      args: [AGENT],
      flags: { ...DAEMON, ...JSON_OUTPUT },
      run: ({ values, positionals: [agent = ''] }, io) => deskOf(values, io).versions(agent, values.json),
    }),
    publish: defineCommand({
      about: `
        Publish the draft of an agent, or another version. Waits for the test suite of its gate. Exit code 1 if it is refused.`,
      args: [AGENT, { name: 'VERSION', help: 'its number (default: the draft)', optional: true }],
      flags: {
        ...NOTE,
        at: { value: 'TIME', help: 'when, such as 2027-01-31T08:00:00Z (default: at once)' },
        override: { value: 'REASON', help: 'why it needs no gate; the key needs the scope admin' },
        ...DAEMON,
      },
      examples: [['parley agents publish baker --note "winter hours"', 'brings the draft to callers']],
      run({ values, positionals: [agent = '', number] }, io) {
        const { note, at, override } = values;
        const version = number === undefined ? undefined : versionOf(number);
        return deskOf(values, io).publish(agent, { version, note, at, override });
      },
    }),
    rollback: defineCommand({
      about: 'Make the version before, or another one that callers had, the published one again, at once.',
      args: [AGENT, { name: 'VERSION', help: 'its number (default: the one before)', optional: true }],
      flags: { ...NOTE, ...DAEMON },
      run({ values, positionals: [agent = '', number] }, io) {
        const version = number === undefined ? undefined : versionOf(number);
        return deskOf(values, io).rollBack(agent, version, values.note);
      },
    }),
    push: defineCommand({
      about: `
        Make the daemon's agent what the file says, or create it. Shows the difference and asks. Refuses if somebody has
        changed the agent since the file was pulled or pushed.`,
      args: [{ name: 'FILE', help: 'agent file', many: true, stream: 'in' }],
      flags: { ...ID, ...YES, force: { help: 'push also over changes of others' }, ...DAEMON },
      async run({ values, positionals }, io) {
        if (values.id !== undefined && positionals.length > 1) throw new UsageError('--id needs a single FILE');
        for (const file of positionals) {
          const code = await deskOf(values, io, values.yes).push(file, values.id, values.force);
          if (code !== 0) return code;
        }
        return 0;
      },
    }),
    pull: defineCommand({
      about: `
        Make the file what the daemon's agent is, or write it. Shows the difference and asks. Comments stay.`,
      args: [
        AGENT,
        {
          name: 'FILE',
          help: 'agent file (default: the one that the agent came from, or one named after it)',
          optional: true,
        },
      ],
      flags: { ...YES, ...DAEMON },
      run: ({ values, positionals: [agent = '', file] }, io) => deskOf(values, io, values.yes).pull(agent, file),
    }),
  },
});

/** @throws UsageError */
function versionOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${text} is no number of a version`);
  return Number(text);
}

function deskOf(flags: Values<typeof DAEMON>, io: CommandIo, yes = false): AgentDesk {
  return new AgentDesk({ client: daemonClient(flags, io), url: daemonPlace(flags, io).url, io, yes });
}

async function check(files: readonly string[], values: Values<typeof CHECK>, io: CommandIo): Promise<number> {
  const { engine: options } = await engineSettings(io, settingsOf(values));
  // `parley serve` and `parley talk` put a desk of their own in its place.
  const engine = new Engine({ ...options, allowUrls: [...options.allowUrls, DEMO_DESK_URL] });
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
