import { parseArgs, type ParseArgsConfig } from 'node:util';
import { nowUnixMs } from '../../base/real-clock.js';
import { similar } from '../../base/similar.js';
import { parseContinuation, type SessionContinuation } from '../../agent/continuation.js';
import { readJsonFile } from '../../schema/json-file.js';

/** One command of `parley`. */
export interface Command {
  readonly help: string;
  /**
   * Runs with the arguments after the command's name. Resolves with the exit code: 0 success, 1 failure, 2 wrong usage,
   * 130 interrupted. Rejects with UsageError for wrong usage and ParleyError for failures.
   */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

/** The flags of a command, by name without the dashes. */
export type FlagOptions = NonNullable<ParseArgsConfig['options']>;

/** The flags and arguments after a command's name. */
export type Flags<Options extends FlagOptions> = Pick<
  ReturnType<typeof parseArgs<{ args: string[]; allowPositionals: true; options: Options }>>,
  'values' | 'positionals'
>;

/** A command with declared flags; unknown flags and unexpected arguments are wrong usage. */
export function defineCommand<const Options extends FlagOptions>(command: {
  help: string;
  options: Options;
  /** Whether it takes arguments in addition to flags. Default false. */
  positionals?: boolean;
  run: (flags: Flags<Options>, io: CommandIo) => Promise<number>;
}): Command {
  const { help, options, positionals = false, run } = command;
  return { help, run: (args, io) => run(parseFlags(args, options, positionals), io) };
}

/** Input and output of a command; tests pass doubles. */
export interface CommandIo {
  /** Results, also for other programs. */
  stdout: NodeJS.WritableStream;
  /** Progress, notices and errors, for people. */
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  env: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /**
   * Returns a signal that the next Ctrl-C or SIGTERM aborts; without this call, the second one ends the process.
   * Undefined if not supported.
   */
  hurry?: () => AbortSignal;
}

/** Wrong usage of a command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Runs `parseArgs` and suggests a flag for a misspelt one. @throws UsageError, TypeError of parseArgs */
function parseFlags<Options extends FlagOptions>(
  given: readonly string[],
  options: Options,
  allowPositionals: boolean,
): Flags<Options> {
  const args = [...given];
  try {
    return parseArgs({ args, options, allowPositionals }) as Flags<Options>;
  } catch (error) {
    const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
    const flag = tokens.filter((token) => token.kind === 'option').find(({ name }) => !Object.hasOwn(options, name));
    if (flag === undefined) throw error;
    const meant = similar(flag.name, ['help', ...Object.keys(options)]);
    throw new UsageError(`unknown flag ${flag.rawName}.${meant === null ? '' : ` Did you mean: --${meant}?`}`);
  }
}

/**
 * The error for a missing or unknown action.
 * @param usage what the command expects. Default: a list of the actions
 */
export function unknownAction(
  word: string | undefined,
  actions: readonly string[],
  usage = `expected ${actions.slice(0, -1).join(', ')} or ${actions.at(-1) ?? ''}`,
): UsageError {
  if (word === undefined || word === '' || actions.includes(word)) return new UsageError(usage);
  const meant = similar(word, actions);
  return new UsageError(`unknown action "${word}"${meant === null ? `; ${usage}` : `. Did you mean: ${meant}?`}`);
}

const DAY_MS = 86_400_000;

/** The value of `--metadata`. @throws UsageError if it is not a JSON object */
export function metadataOf(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw new UsageError('--metadata must be a JSON object');
}

/**
 * The start time of a conversation, from `--now`. Virtual time keeps the date, so that "tomorrow" is right, but not the
 * hour, so that runs on one day are identical. @throws UsageError
 */
export function startTime(now: string | undefined, virtual: boolean): number {
  const unixMs = now === undefined ? nowUnixMs() : Date.parse(now);
  if (Number.isNaN(unixMs)) throw new UsageError('--now must be an ISO 8601 time');
  return virtual && now === undefined ? Math.floor(unixMs / DAY_MS) * DAY_MS + DAY_MS / 2 : unixMs;
}

/** The conversation to continue, from the file of `--continue`. @throws ParleyError CONFIG_INVALID */
export async function continuationOf(path: string | undefined): Promise<SessionContinuation | null> {
  return path === undefined ? null : parseContinuation(await readJsonFile(path), [path]);
}

/** The value of a numeric flag. @throws UsageError */
export function numberOf(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most)) {
    throw new UsageError(`${flag} must be a number from ${String(least)} to ${String(most)}`);
  }
  return value;
}

/** The id of an agent from a file. */
export function agentSlug(name: string): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g);
  return words?.join('-') ?? 'agent';
}
