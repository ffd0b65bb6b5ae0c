import { InvalidConfigError, placeOf } from '../schema/issues.js';
import { ParleyError } from '../base/errors.js';
import { similar } from '../base/similar.js';
import { packageVersion } from '../package-files.js';
import { type Command, type CommandIo, UsageError } from './shared/command.js';

interface Entry {
  /** One line for the list of commands. */
  summary: string;
  /** Loads the command on use, so that `parley --help` does not wait for the engines. */
  load: () => Promise<Command>;
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    summary: 'start the daemon: REST API, page and console',
    load: async () => (await import('./serve.js')).serve,
  },
  setup: {
    summary: 'choose, download and check a recogniser, a voice and models',
    load: async () => (await import('./setup/setup.js')).setup,
  },
  talk: {
    summary: 'talk to an agent in this terminal',
    load: async () => (await import('./talk.js')).talk,
  },
  run: {
    summary: 'play a recording of a user through a conversation',
    load: async () => (await import('./run.js')).run,
  },
  bench: {
    summary: 'measure response times over a folder of recordings',
    load: async () => (await import('./bench.js')).bench,
  },
  eval: {
    summary: 'run a test suite: simulated callers hold calls with an agent',
    load: async () => (await import('./eval/eval.js')).evalCommand,
  },
  call: {
    summary: 'let an agent call a number on the simulated phone network',
    load: async () => (await import('./call.js')).call,
  },
  numbers: {
    summary: 'list the numbers of the simulated phone network',
    load: async () => (await import('./numbers.js')).numbers,
  },
  keys: {
    summary: "list, create or revoke the daemon's API keys, change the secret key",
    load: async () => (await import('./keys/keys.js')).keys,
  },
  calls: {
    summary: 'list, show, export or erase calls of the call log',
    load: async () => (await import('./calls.js')).calls,
  },
  campaigns: {
    summary: 'create, start and watch campaigns of a running daemon',
    load: async () => (await import('./campaigns.js')).campaigns,
  },
  nodes: {
    summary: 'list the daemons that share a database',
    load: async () => (await import('./nodes.js')).nodes,
  },
  memories: {
    summary: "list or erase agents' memories of their users",
    load: async () => (await import('./memories.js')).memories,
  },
  'do-not-call': {
    summary: 'list, add or remove numbers that agents never call',
    load: async () => (await import('./do-not-call.js')).doNotCall,
  },
  providers: {
    summary: 'list recognisers, language models and voices, or test one',
    load: async () => (await import('./providers/providers.js')).providers,
  },
  turn: {
    summary: 'export labelled pauses of calls, train a turn model on them',
    load: async () => (await import('./turn/turn.js')).turn,
  },
  models: {
    summary: 'list, download or check local models',
    load: async () => (await import('./models/models.js')).models,
  },
  mcp: {
    summary: 'offer the platform as MCP tools on standard input and output; authorize at MCP servers',
    load: async () => (await import('./mcp/mcp.js')).mcp,
  },
  agents: {
    summary: 'check agent files, or print their JSON Schema',
    load: async () => (await import('./agents.js')).agents,
  },
  doctor: {
    summary: 'check the installation and suggest fixes',
    load: async () => (await import('./doctor/doctor.js')).doctor,
  },
  backup: {
    summary: "write the daemon's data into one archive, also while it runs",
    load: async () => (await import('./backup.js')).backup,
  },
  restore: {
    summary: "replace the daemon's data with a backup",
    load: async () => (await import('./restore.js')).restore,
  },
  migrate: {
    summary: 'copy a data folder into a PostgreSQL database',
    load: async () => (await import('./migrate.js')).migrate,
  },
  replay: {
    summary: "replay a session's event log, with the same or other settings",
    load: async () => (await import('./replay.js')).replay,
  },
};

/** The `parley` command. Returns the exit code. */
export async function main(args: readonly string[], io: CommandIo = processIo()): Promise<number> {
  // `parley help serve` is `parley serve --help`.
  const [first, second] = args;
  const [name, ...rest] = first === 'help' && second !== undefined ? [second, '--help'] : args;
  if (name === '--version' || name === '-v') {
    io.stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    io.stdout.write(overview());
    return name === undefined ? 2 : 0;
  }
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) {
    const meant = similar(name, [...Object.keys(COMMANDS), 'help', '--help', '--version']);
    const hint = meant === null ? `Commands: ${Object.keys(COMMANDS).join(', ')}` : `Did you mean: parley ${meant}?`;
    io.stderr.write(`parley: unknown command "${name}". ${hint}\n`);
    return 2;
  }
  const command = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    io.stdout.write(`${command.help.trim()}\n`);
    return 0;
  }
  try {
    return await command.run(rest, io);
  } catch (error) {
    if (io.signal.aborted && error === io.signal.reason) return 130;
    if (error instanceof UsageError || isParseArgsError(error)) {
      io.stderr.write(`parley ${name}: ${error.message}\nTry: parley ${name} --help\n`);
      return 2;
    }
    if (!(error instanceof ParleyError)) throw error;
    if (error instanceof InvalidConfigError && error.issues.length > 5) {
      const lines = error.issues.map(({ loc, msg }) => `  ${placeOf(loc)}: ${msg}\n`);
      io.stderr.write(`parley ${name}: ${String(error.issues.length)} faults [${error.code}]\n${lines.join('')}`);
      return 1;
    }
    io.stderr.write(`parley ${name}: ${error.message} [${error.code}]\n`);
    return 1;
  }
}

function overview(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(13)}${summary}`);
  const head = `parley ${packageVersion()}: a real-time voice agent engine\n\nUsage: parley <command> [arguments]`;
  return `${head}\n\nCommands:\n${lines.join('\n')}\n\nRun \`parley <command> --help\` for the flags of a command.\n`;
}

function isParseArgsError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

function processIo(): CommandIo {
  // The first signal starts an orderly shutdown; the second one has its default effect.
  const signal = nextStopSignal();
  const { stdout, stderr, stdin, env } = process;
  // The reader may close the pipe (`parley run … | head`).
  for (const stream of [stdout, stderr]) stream.on('error', () => undefined);
  return { stdout, stderr, stdin, env, signal, hurry: nextStopSignal };
}

/** Aborted by the next Ctrl-C or SIGTERM. */
function nextStopSignal(): AbortSignal {
  const abort = new AbortController();
  const names = ['SIGINT', 'SIGTERM'] as const;
  const stop = (name: (typeof names)[number]): void => {
    for (const each of names) process.off(each, stop);
    abort.abort(new Error(name));
  };
  for (const name of names) process.on(name, stop);
  return abort.signal;
}
