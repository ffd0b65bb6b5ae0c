import { parseArgs, type ParseArgsConfig } from 'node:util';

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

/** The closest word of a list, for "did you mean"; null = none is close. */
export function similar(word: string, known: readonly string[]): string | null {
  const [best] = known
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.max(1, Math.round(best.name.length / 2.5)) ? best.name : null;
}

/** Edit distance (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
