import { parseArgs, type ParseArgsConfig } from 'node:util';
import { similar } from './similar.js';

/** One command of `parley`. */
export interface Command {
  /** The whole help text. */
  readonly help: string;
  /**
   * Runs with the arguments after the command's name. Resolves with the exit code: 0 done, 1 failed, 2 wrong usage,
   * 130 interrupted. Throws UsageError for wrong usage and ParleyError for what went wrong.
   */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

/** The flags of a command, by name without the dashes. */
export type FlagOptions = NonNullable<ParseArgsConfig['options']>;

/** The flags and words after a command's name. */
export type Flags<Options extends FlagOptions> = Pick<
  ReturnType<typeof parseArgs<{ args: string[]; allowPositionals: true; options: Options }>>,
  'values' | 'positionals'
>;

/** A command whose arguments are read by its options; a flag or word that it does not take is wrong usage. */
export function defineCommand<const Options extends FlagOptions>(command: {
  help: string;
  options: Options;
  /** Whether it takes words besides its flags. Default false. */
  positionals?: boolean;
  run: (flags: Flags<Options>, io: CommandIo) => Promise<number>;
}): Command {
  const { help, options, positionals = false, run } = command;
  return { help, run: (args, io) => run(parseFlags(args, options, positionals), io) };
}

/** Input and output of a command; tests pass their own. */
export interface CommandIo {
  /** Data, for other programs. */
  stdout: NodeJS.WritableStream;
  /** Everything for people: progress, notices, errors. */
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  env: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /**
   * Aborted by the second one, which otherwise ends the process; after reading this property, the third one does.
   * Undefined if not supported.
   */
  hurry?: () => AbortSignal;
}

/** Wrong usage of a command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `parseArgs`, which names the flag that is meant where one is misspelt. @throws UsageError, TypeError of parseArgs */
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
    throw new UsageError(`there is no flag ${flag.rawName}.${meant === null ? '' : ` Did you mean: --${meant}?`}`);
  }
}
