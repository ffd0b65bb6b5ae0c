import { type Argument, type Command, type Flag, type FlagSet, placeholder, takesValue } from './command.js';

/** Line width of help in characters. */
const WIDTH = 110;
/** Where the text beside names begins. */
const COLUMN = 24;

/** The command lines of a command, or of one action, without the program's name. */
export function usageLines(name: string, command: Command, action: string | null): string[] {
  const actions = Object.entries(command.actions).filter(([one]) => action === null || one === action);
  const ofActions = actions.map(([one, { args, flags }]) => usageLine(`${name} ${one}`, args, flags));
  const own = action === null && command.run !== null ? [usageLine(name, command.args, command.flags)] : [];
  return [...own, ...ofActions];
}

function usageLine(name: string, args: readonly Argument[], flags: FlagSet): string {
  const parts = args.map(({ name: word, optional, many }) => {
    const text = many === true ? `${word} …` : word;
    return optional === true ? `[${text}]` : text;
  });
  const required = Object.entries(flags).filter(([, flag]) => flag.required === true);
  const more = Object.keys(flags).length > required.length ? ['[flags]'] : [];
  return [name, ...parts, ...required.map(([flag, one]) => `--${flag} ${placeholder(one)}`), ...more].join(' ');
}

/** The first sentence of what a command does. */
export function summaryOf({ about }: Command): string {
  const [paragraph = ''] = paragraphs(about);
  return /^.*?\.(?=\s|$)/.exec(paragraph)?.[0] ?? paragraph;
}

export function paragraphs(text: string): string[] {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((one) => one.replaceAll(/\s+/g, ' ').trim());
}

/** A flag as it is written, such as `-y, --yes` or `--port N`. */
export function flagHead(name: string, flag: Flag): string {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  return `${short}--${name}${takesValue(flag) ? ` ${placeholder(flag)}` : ''}`;
}

/** What a flag does, with its values, its default and its variable. */
export function flagHelp(flag: Flag): string {
  const { help, value, choices = [], stream, repeatable, env } = flag;
  const isStream = flag.default === '-';
  return noted(help, [
    ...(value !== undefined && choices.length > 0 ? [choices.join(', ')] : []),
    ...(stream === undefined || isStream ? [] : [`- = standard ${stream}put`]),
    ...(repeatable === true ? ['repeatable'] : []),
    ...(flag.default === undefined || flag.default === '' ? [] : [`default: ${String(flag.default)}`]),
    ...(isStream ? ['standard output'] : []),
    ...(env === undefined ? [] : [`or ${env}`]),
  ]);
}

/** What an argument is, with its values. */
export function argumentHelp({ help, choices = [], stream }: Argument): string {
  return noted(help, [
    ...(choices.length > 0 ? [choices.join(', ')] : []),
    ...(stream === undefined ? [] : [`- = standard ${stream}put`]),
  ]);
}

/** Text with notes in its last parenthesis. */
function noted(text: string, notes: readonly string[]): string {
  if (notes.length === 0) return text;
  const isOpen = /\(default: [^()]*\)$/.test(text);
  return isOpen ? `${text.slice(0, -1)}; ${notes.join('; ')})` : `${text} (${notes.join('; ')})`;
}

/** The arguments of a command and of its actions. */
export function allArguments(command: Command): Argument[] {
  const all = [command, ...Object.values(command.actions)].flatMap(({ args }) => args);
  return all.filter(({ name }, at) => all.findIndex((one) => one.name === name) === at);
}

/** The flags of a command and of its actions; with `only`, those of a few actions. */
export function flagRows(root: Command): { name: string; flag: Flag; only: readonly string[] }[] {
  const all = [
    { owner: '', command: root },
    ...Object.entries(root.actions).map(([owner, command]) => ({ owner, command })),
  ].flatMap(({ owner, command }) => Object.entries(command.flags).map(([name, flag]) => ({ owner, name, flag })));
  const rows = new Map<string, { name: string; flag: Flag; owners: string[] }>();
  for (const { owner, name, flag } of all) {
    const key = `${name} ${flagHelp(flag)}`;
    const row = rows.get(key) ?? { name, flag, owners: [] };
    rows.set(key, row);
    row.owners.push(owner);
  }
  const count = Object.keys(root.actions).length;
  return [...rows.values()].map(({ name, flag, owners }) => {
    const isEverywhere = owners.includes('') || owners.length === count;
    return { name, flag, only: isEverywhere ? [] : owners };
  });
}

/** The help of a command, or of one of its actions. */
export function helpText(name: string, root: Command, action: string | null): string {
  const command = (action === null ? undefined : root.actions[action]) ?? root;
  const usage = usageLines(`parley ${name}`, root, action);
  const lines = [`Usage: ${usage.join('\n       ')}`];
  for (const paragraph of paragraphs(command.about)) lines.push('', ...wrapped(paragraph, 0));
  const actions = Object.entries(command.actions);
  if (actions.length > 0) {
    lines.push('', 'Actions:', ...actions.flatMap(([one, its]) => entry(one, summaryOf(its))));
  }
  const args = allArguments(command);
  if (args.length > 0) {
    lines.push('', 'Arguments:', ...args.flatMap((one) => entry(one.name, argumentHelp(one))));
  }
  const flags = flagRows(command);
  if (flags.length > 0) {
    const rows = flags.flatMap(({ name: flag, flag: one, only }) =>
      entry(flagHead(flag, one), `${only.length === 0 ? '' : `${only.join(', ')}: `}${flagHelp(one)}`),
    );
    lines.push('', 'Flags:', ...rows);
  }
  const examples = [command, ...Object.values(command.actions)].flatMap((one) => one.examples);
  if (examples.length > 0) {
    lines.push('', 'Examples:', ...examples.flatMap(([line, does]) => [`  ${line}`, `      ${does}`]));
  }
  if (actions.length > 0) lines.push('', `\`parley help ${name} ACTION\` tells more about one action.`);
  return `${lines.join('\n')}\n`;
}

/** A name with text beside it, or below it if the name is long. */
function entry(name: string, text: string): string[] {
  const [first = '', ...rest] = wrapped(text, COLUMN);
  const head = `  ${name}`;
  return head.length < COLUMN - 1 ? [head.padEnd(COLUMN) + first.trimStart(), ...rest] : [head, first, ...rest];
}

function wrapped(text: string, indent: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(' '.repeat(indent) + word);
  }
  return lines;
}
