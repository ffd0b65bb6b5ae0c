import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { ParleyError } from '../../base/errors.js';
import { similar } from '../../base/similar.js';
import { InvalidConfigError } from '../../schema/issues.js';

/** A flag: a switch, unless it has `value` or `choices`. */
export interface Flag {
  /** What it does, in a line; help adds choices, the default and the variable. */
  help: string;
  /** Placeholder of the value in help. `FILE` and `DIR` complete paths. */
  value?: string;
  /** The values that are allowed. */
  choices?: readonly string[];
  /** Least and greatest value of a number. */
  number?: readonly [number, number];
  /** Least and greatest value of a whole number. */
  integer?: readonly [number, number];
  default?: string | number;
  /** It may be given several times. */
  repeatable?: true;
  required?: true;
  /** One letter that stands for the flag. */
  short?: string;
  /** Environment variable that is read where the flag is not given; for help. */
  env?: string;
  /** The value `-` is standard input or standard output. */
  stream?: 'in' | 'out';
}

/** Flags by name without the dashes. */
export type FlagSet = Readonly<Record<string, Flag>>;

/** An argument that is not a flag. */
export interface Argument {
  name: string;
  help: string;
  choices?: readonly string[];
  optional?: true;
  /** Only for the last one: it may be repeated. */
  many?: true;
  stream?: 'in' | 'out';
}

type OneValue<F> = F extends { choices: readonly (infer Choice)[] }
  ? Choice
  : F extends { number: unknown } | { integer: unknown }
    ? number
    : string;

type FlagValue<F> = F extends { value: string } | { choices: unknown }
  ? F extends { repeatable: true }
    ? readonly OneValue<F>[]
    : F extends { default: unknown } | { required: true }
      ? OneValue<F>
      : OneValue<F> | undefined
  : boolean;

/** The values of flags: switches are false and lists empty where they are not given. */
export type Values<Flags extends FlagSet> = { readonly [Name in keyof Flags]: FlagValue<Flags[Name]> };

/** What is given to a command. */
export interface Given<Flags extends FlagSet> {
  values: Values<Flags>;
  positionals: readonly string[];
}

/** A command of `parley`, or an action of one. */
export interface Command {
  /** For help: what it does, in sentences. An action's first sentence is its summary. */
  about: string;
  args: readonly Argument[];
  flags: FlagSet;
  /** Command lines with what each does. */
  examples: readonly (readonly [line: string, does: string])[];
  actions: Readonly<Record<string, Command>>;
  /**
   * Resolves with the exit code: 0 success, 1 failure, 2 wrong usage, 130 interrupted. Rejects with UsageError for wrong
   * usage and ParleyError for failures. Null = an action must be named.
   */
  run: ((given: Given<FlagSet>, io: CommandIo) => Promise<number>) | null;
}

interface Declared<Flags extends FlagSet> {
  about: string;
  args?: Command['args'];
  flags?: Flags;
  examples?: Command['examples'];
  actions?: Command['actions'];
  run?: (given: Given<Flags>, io: CommandIo) => Promise<number>;
}

/** Declares a command or an action, once: parsing, help, completion and docs/cli.md follow from it. */
export function defineCommand<const Flags extends FlagSet>(declared: Declared<Flags>): Command {
  const { about, args = [], flags = {}, examples = [], actions = {}, run } = declared;
  return { about, args, flags, examples, actions, run: (run ?? null) as Command['run'] };
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
  /** What a file called `-` is written to, where a command has one; `stdout` is then standard error. */
  output?: NodeJS.WritableStream;
  /** The path of the file that stands for standard input, where a file is `-`. */
  input?: string;
}

/** Wrong usage of a command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command line that is understood. */
export interface CommandLine extends Given<FlagSet> {
  command: Command;
  /** The name of the action; null = the command itself. */
  action: string | null;
  /** Whether help is wanted; nothing is checked then. */
  isHelp: boolean;
}

/** Whether a flag takes a value. */
export function takesValue({ value, choices }: Flag): boolean {
  return value !== undefined || choices !== undefined;
}

/** The flags of a command and of its actions. */
export function allFlags({ flags, actions }: Command): FlagSet {
  return Object.fromEntries([...Object.values(actions), { flags }].flatMap((one) => Object.entries(one.flags)));
}

/** Reads the arguments after a command's name. @throws UsageError */
export function parseCommand(root: Command, args: readonly string[]): CommandLine {
  const all = allFlags(root);
  const options = Object.fromEntries(
    Object.entries(all).map(([name, flag]) => {
      const type = takesValue(flag) ? ('string' as const) : ('boolean' as const);
      return [name, flag.short === undefined ? { type } : { type, short: flag.short }];
    }),
  );
  const { tokens } = parseArgs({
    args: [...args],
    options: { ...options, help: { type: 'boolean', short: 'h' } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  const given = tokens.filter((token) => token.kind === 'option');
  const isHelp = args.includes('--help') || args.includes('-h');
  const [first = ''] = words;
  const action = Object.hasOwn(root.actions, first) ? first : null;
  const command = (action === null ? undefined : root.actions[action]) ?? root;
  const isUnknown = action === null && Object.keys(root.actions).length > 0 && first !== '' && root.args.length === 0;
  if (isHelp && !isUnknown) return { command, action, isHelp, values: {}, positionals: [] };
  for (const { name, rawName } of given) if (!isHelp) checkFlag(root, { name, rawName, action });
  const positionals = action === null ? words : words.slice(1);
  if (command.run === null || isUnknown) throw unknownAction(first, Object.keys(root.actions));
  checkArguments(command.args, positionals);
  const values = Object.entries(command.flags).map(([name, flag]) => {
    const texts = given.filter((token) => token.name === name).map((token) => textOf(flag, token));
    return [name, valueOf(name, flag, texts)];
  });
  return { command, action, isHelp, values: Object.fromEntries(values) as CommandLine['values'], positionals };
}

interface Option {
  rawName: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}

/** The text of a flag that takes a value; '' for a switch. @throws UsageError */
function textOf(flag: Flag, { rawName, value, inlineValue = false }: Option): string {
  if (!takesValue(flag)) {
    if (inlineValue) throw new UsageError(`${rawName} takes no value`);
    return '';
  }
  if (value === undefined) throw new UsageError(`${rawName} needs a value: ${placeholder(flag)}`);
  if (!inlineValue && value.length > 1 && value.startsWith('-')) {
    throw new UsageError(`${rawName} needs a value. Should it be ${value}? Write ${rawName}=${value}`);
  }
  return value;
}

/** A flag's value in help. */
export function placeholder({ value, choices = [] }: Flag): string {
  return value ?? choices.join('|');
}

function valueOf(name: string, flag: Flag, texts: readonly string[]): unknown {
  if (!takesValue(flag)) return texts.length > 0;
  if (flag.repeatable === true) return texts.map((text) => checked(`--${name}`, flag, text));
  const text = texts.at(-1);
  if (text !== undefined) return checked(`--${name}`, flag, text);
  if (flag.required === true) throw new UsageError(`--${name} is missing`);
  return flag.default;
}

function checked(name: string, { choices, number, integer }: Flag, text: string): string | number {
  if (choices !== undefined && !choices.includes(text)) {
    throw new UsageError(`${name} must be ${listed(choices)}, not ${text}${hintOf(text, choices)}`);
  }
  const range = number ?? integer;
  if (range === undefined) return text;
  const value = Number(text);
  const [least, most] = range;
  const isWhole = integer === undefined || Number.isInteger(value);
  if (text.trim() !== '' && value >= least && value <= most && isWhole) return value;
  const kind = integer === undefined ? 'number' : 'whole number';
  throw new UsageError(`${name} must be a ${kind} from ${String(least)} to ${String(most)}, not ${text || 'empty'}`);
}

/** @throws UsageError for a flag that nothing or another action takes */
function checkFlag(
  root: Command,
  { name, rawName, action }: { name: string; rawName: string; action: string | null },
): void {
  const { flags } = (action === null ? undefined : root.actions[action]) ?? root;
  if (Object.hasOwn(flags, name)) return;
  if (!Object.hasOwn(allFlags(root), name)) {
    throw new UsageError(
      `unknown flag ${rawName}${hintOf(name, ['help', ...Object.keys(allFlags(root))], '--') || '.'}`,
    );
  }
  const owners = Object.keys(root.actions).filter((other) => Object.hasOwn(root.actions[other]?.flags ?? {}, name));
  if (action !== null) {
    const where = owners.length === 0 ? '' : `: it applies to ${listed(owners, 'and')}`;
    throw new UsageError(`${rawName} does not apply to ${action}${where}`);
  }
  if (root.run !== null) throw new UsageError(`${rawName} applies to ${listed(owners, 'and')} only`);
  // Else the missing action is reported.
}

/** @throws UsageError */
function checkArguments(args: readonly Argument[], given: readonly string[]): void {
  const missing = args.find(({ optional }, at) => optional !== true && given[at] === undefined);
  if (missing !== undefined) throw new UsageError(`${missing.name} is missing: ${missing.help}`);
  const last = args.at(-1);
  const extra = last?.many === true ? undefined : given[args.length];
  if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"`);
  for (const [at, text] of given.entries()) {
    const { name, choices } = args[at] ?? last ?? { name: '' };
    if (choices !== undefined) checked(name, { help: '', choices }, text);
  }
}

/** The error for a missing or unknown action. */
function unknownAction(word: string, actions: readonly string[]): UsageError {
  const usage = `expected ${listed(actions)}`;
  if (word === '') return new UsageError(usage);
  return new UsageError(`unknown action "${word}"${hintOf(word, actions) || `; ${usage}`}`);
}

/** "Did you mean", to follow a sentence without its stop; empty = nothing is close. */
function hintOf(word: string, known: readonly string[], before = ''): string {
  const meant = similar(word, known);
  return meant === null ? '' : `. Did you mean: ${before}${meant}?`;
}

function listed(words: readonly string[], last = 'or'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1) ?? ''}`;
}

/**
 * Runs a command. Where a file is `-`, what it reads of standard input is a file while it runs, and results that would
 * mix with what it writes go to standard error.
 */
export async function runCommand({ command, values, positionals }: CommandLine, io: CommandIo): Promise<number> {
  const named = [
    ...command.args.flatMap(({ name, stream }, at) =>
      positionals
        .slice(at, at === command.args.length - 1 ? undefined : at + 1)
        .map((value) => ({ name, stream, value })),
    ),
    ...Object.entries(command.flags).flatMap(([name, { stream }]) =>
      [values[name]].flat().map((value: unknown) => ({ name: `--${name}`, stream, value })),
    ),
  ].filter(({ stream, value }) => stream !== undefined && value === '-');
  for (const way of ['in', 'out'] as const) {
    const names = named.filter(({ stream }) => stream === way).map(({ name }) => name);
    if (names.length > 1) throw new UsageError(`only one of ${listed(names, 'and')} can be standard ${way}put`);
  }
  const inputs = named.filter(({ stream }) => stream === 'in').map(({ name }) => name);
  const given = { values, positionals };
  const own = named.some(({ stream }) => stream === 'out') ? { ...io, stdout: io.stderr, output: io.stdout } : io;
  const [input] = inputs;
  if (input === undefined || command.run === null) return (await command.run?.(given, own)) ?? 2;
  const folder = await mkdtemp(join(tmpdir(), 'parley-'));
  const path = join(folder, 'stdin');
  try {
    await pipeline(io.stdin, createWriteStream(path), { signal: io.signal });
    const read = <T>(name: string, value: T): T | string => (name === input && value === '-' ? path : value);
    return await command.run(
      {
        positionals: positionals.map((text, at) => read((command.args[at] ?? command.args.at(-1))?.name ?? '', text)),
        values: Object.fromEntries(
          Object.entries(values).map(([name, value]: [string, unknown]) => [
            name,
            Array.isArray(value) ? value.map((one: unknown) => read(`--${name}`, one)) : read(`--${name}`, value),
          ]),
        ) as Values<FlagSet>,
      },
      { ...own, input: path, stdout: renaming(own.stdout, path), stderr: renaming(own.stderr, path) },
    );
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) {
      if (error instanceof ParleyError) error.message = error.message.replaceAll(path, STDIN);
      throw error;
    }
    const renamed = (step: string | number): string | number =>
      typeof step === 'string' ? step.replaceAll(path, STDIN) : step;
    throw new InvalidConfigError(
      error.issues.map((issue) => ({ ...issue, loc: issue.loc.map(renamed) })),
      error,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const STDIN = 'standard input';

/** The stream, with the name of standard input for the path of its file. */
function renaming<Stream extends NodeJS.WritableStream>(stream: Stream, path: string): Stream {
  const renamed = Object.create(stream) as Stream;
  renamed.write = (text: string | Uint8Array) =>
    stream.write(typeof text === 'string' ? text.replaceAll(path, STDIN) : text);
  return renamed;
}
