import { similar } from '../base/similar.js';
import { InvalidConfigError, placeOf } from '../schema/issues.js';
import { ParleyError } from '../base/errors.js';
import { packageVersion } from '../package-files.js';
import { COMMANDS } from './commands.js';
import { type CommandIo, parseCommand, runCommand, UsageError } from './shared/command.js';
import { helpText } from './shared/help.js';

/** The `parley` command. Returns the exit code. */
export async function main(args: readonly string[], io: CommandIo = processIo()): Promise<number> {
  // `parley help calls list` is `parley calls list --help`.
  const [name, ...rest] = args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args;
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
  try {
    const parsed = parseCommand(command, rest);
    if (!parsed.isHelp) return await runCommand(parsed, io);
    io.stdout.write(helpText(name, command, parsed.action));
    return 0;
  } catch (error) {
    if (io.signal.aborted && error === io.signal.reason) return 130;
    if (error instanceof UsageError) {
      io.stderr.write(`parley ${name}: ${error.message}\nTry: parley ${name} --help\n`);
      return 2;
    }
    if (!(error instanceof ParleyError)) throw error;
    if (error instanceof InvalidConfigError && error.issues.length > 5) {
      const lines = error.issues.map(({ loc, msg }) => `  ${placeOf(loc)}: ${msg}\n`);
      io.stderr.write(`parley ${name}: ${String(error.issues.length)} faults [${error.code}]\n${lines.join('')}`);
      return 1;
    }
    const { suggestionFor } = await import('../settings/suggestion.js');
    io.stderr.write(`parley ${name}: ${error.message}${suggestionFor(error)} [${error.code}]\n`);
    return 1;
  }
}

function overview(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(13)}${summary}`);
  const head = `parley ${packageVersion()}: a real-time voice agent engine\n\nUsage: parley COMMAND [arguments]`;
  return `${head}\n\nCommands:\n${lines.join('\n')}\n\nRun \`parley help COMMAND\` for the flags of a command.\n`;
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
