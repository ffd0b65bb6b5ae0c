import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.js';
import { type Command, type FlagSet, parseCommand, takesValue } from '../../src/cli/shared/command.js';
import { argumentHelp, flagHead, flagHelp, paragraphs, usageLines } from '../../src/cli/shared/help.js';
import { packageFile } from '../../src/package-files.js';

const commands = await Promise.all(
  Object.entries(COMMANDS).map(async ([name, { summary, load }]) => ({ name, summary, command: await load() })),
);
const places = commands.flatMap(({ name, command }) => [
  { words: [name], root: command, command },
  ...Object.entries(command.actions).map(([action, one]) => ({ words: [name, action], root: command, command: one })),
]);

describe('every command', () => {
  it('has a line of help for itself, each argument and each flag', () => {
    for (const { words, command } of places) {
      const lines = [
        ...command.args.map(({ name, help }) => [name, help]),
        ...Object.entries(command.flags).map(([name, { help }]) => [`--${name}`, help]),
      ];
      for (const [name = '', help = ''] of lines) {
        expect([words, name, /^\S.{3,}[^.\s]$/.test(help)]).toEqual([words, name, true]);
      }
      expect(paragraphs(command.about)[0]).toMatch(/^[A-Z].*[.]$/);
    }
  });

  it('has flags that take a value in all of its actions or in none', () => {
    for (const { name, command } of commands) {
      const kinds = new Map<string, boolean>();
      for (const { flags } of [command, ...Object.values(command.actions)]) {
        for (const [flag, one] of Object.entries(flags)) {
          const takes = takesValue(one);
          expect([name, flag, kinds.get(flag) ?? takes]).toEqual([name, flag, takes]);
          kinds.set(flag, takes);
        }
      }
    }
  });

  it('has examples that it understands', () => {
    let count = 0;
    for (const { root, command } of places) {
      for (const [line] of command.examples) {
        const [program, name, ...args] = (line.split('|').at(-1) ?? '').split('>')[0]?.trim().split(/\s+/) ?? [];
        expect([line, program, Object.hasOwn(COMMANDS, name ?? '')]).toEqual([line, 'parley', true]);
        expect(parseCommand(root, args).command).toBe(command);
        count++;
      }
    }
    expect(count).toBeGreaterThan(10);
  });
});

it('docs/cli.md is made of the declarations', async () => {
  const path = fileURLToPath(packageFile('docs/cli.md'));
  if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(path, page());
  expect(await readFile(path, 'utf8')).toBe(page());
});

function page(): string {
  const list = commands.map(({ name, summary }) => `| [\`${name}\`](#parley-${name}) | ${cell(summary)} |`);
  return `# The command line

A test makes this page of the declarations in \`src/cli\`: \`PARLEY_UPDATE_DOCS=1 npx vitest run --project unit test/house/cli-docs.test.ts\` writes it. \`parley help COMMAND\` and \`parley help COMMAND ACTION\` print the same, and \`parley completion\` makes a shell complete it.

- Where help says so, \`-\` in the place of a file is standard input or standard output. What a command otherwise prints goes to standard error then.
- Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
- Results go to standard output, progress and errors to standard error.

| command | what it does |
| --- | --- |
${list.join('\n')}

${commands.map(section).join('\n')}`;
}

function section({ name, command }: { name: string; command: Command }): string {
  const actions = Object.entries(command.actions);
  return [
    `## parley ${name}\n`,
    fence(usageLines(`parley ${name}`, command, null)),
    prose(command.about),
    ...(command.run === null ? [] : [table(command), examples(command)]),
    ...actions.flatMap(([action, one]) => [
      `### parley ${name} ${action}\n`,
      fence(usageLines(`parley ${name}`, command, action)),
      prose(one.about),
      table(one),
      examples(one),
    ]),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function prose(text: string): string {
  return `${paragraphs(text).map(escaped).join('\n\n')}\n`;
}

function table({ args, flags }: { args: Command['args']; flags: FlagSet }): string {
  const rows = [
    ...args.map((one) => `| \`${one.name}\` | ${cell(argumentHelp(one))} |`),
    ...Object.entries(flags).map(([name, flag]) => `| \`${cell(flagHead(name, flag))}\` | ${cell(flagHelp(flag))} |`),
  ];
  return rows.length === 0 ? '' : `| argument or flag | |\n| --- | --- |\n${rows.join('\n')}\n`;
}

function examples(command: Command): string {
  return command.examples.length === 0 ? '' : fence(command.examples.map(([line, does]) => `${line}   # ${does}`));
}

function fence(lines: readonly string[]): string {
  return `\`\`\`\n${lines.join('\n')}\n\`\`\`\n`;
}

function cell(text: string): string {
  return escaped(text).replaceAll('|', '\\|');
}

/** Markdown would take these for emphasis or HTML. */
function escaped(text: string): string {
  return text.replaceAll(/(?<!`[^`]*)[*_<](?![^`]*`)/g, String.raw`\$&`);
}
