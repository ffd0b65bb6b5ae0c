import { Readable, PassThrough } from 'node:stream';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../../src/base/errors.js';
import {
  type CommandIo,
  defineCommand,
  parseCommand,
  runCommand,
  UsageError,
} from '../../../src/cli/shared/command.js';
import { helpText } from '../../../src/cli/shared/help.js';
import { suggestionFor } from '../../../src/settings/suggestion.js';
import { openOutput, withOutputPath } from '../../../src/cli/shared/output-file.js';

const bake = defineCommand({
  about: 'Bakes bread. It takes an hour.',
  flags: { quiet: { help: 'say nothing', short: 'q' } },
  actions: {
    loaf: defineCommand({
      about: 'Bake loaves. They are warm.',
      args: [
        { name: 'KIND', help: 'of flour', choices: ['rye', 'wheat'] },
        { name: 'FILE', help: 'recipe', optional: true, many: true, stream: 'in' },
      ],
      flags: {
        count: { value: 'N', integer: [1, 9], default: 1, help: 'how many' },
        heat: { value: 'C', number: [0.5, 300], help: 'of the oven' },
        crust: { choices: ['soft', 'hard'], default: 'soft', help: 'outside' },
        seed: { value: 'NAME', help: 'on top', repeatable: true },
        by: { value: 'NAME', help: 'the baker', required: true, env: 'BAKER' },
        out: { value: 'FILE', help: 'the loaf', stream: 'out' },
        list: { value: 'FILE', help: 'what there is', stream: 'in' },
        quiet: { help: 'say nothing', short: 'q' },
      },
      run: async () => 0,
    }),
    clean: defineCommand({ about: 'Clean up.', flags: { hard: { help: 'scrub' } }, run: async () => 0 }),
  },
});
const parsed = (...args: string[]) => parseCommand(bake, ['loaf', ...args]);

describe('a command line', () => {
  it('has the declared types and defaults', () => {
    const { values, positionals, action } = parsed('rye', '--by', 'Ann', 'a', 'b');
    expect([action, positionals]).toEqual(['loaf', ['rye', 'a', 'b']]);
    expect(values).toEqual({ count: 1, crust: 'soft', seed: [], by: 'Ann', quiet: false });
    const all = [
      '--count=3',
      '--heat',
      '0.5',
      '--crust',
      'hard',
      '--seed',
      'a',
      '--seed=-b',
      '-q',
      '--by=',
      '--',
      '-x',
    ];
    expect(parsed('wheat', ...all)).toMatchObject({
      values: { count: 3, heat: 0.5, crust: 'hard', seed: ['a', '-b'], quiet: true, by: '' },
      positionals: ['wheat', '-x'],
    });
  });

  it.each([
    [[], 'expected loaf or clean'],
    [['loav'], 'unknown action "loav". Did you mean: loaf?'],
    [['sleep'], 'unknown action "sleep"; expected loaf or clean'],
    [['loaf', '--by', 'x'], 'KIND is missing: of flour'],
    [['loaf', 'rie', '--by', 'x'], 'KIND must be rye or wheat, not rie. Did you mean: rye?'],
    [['loaf', 'rye'], '--by is missing'],
    [['loaf', 'rye', '--by'], '--by needs a value: NAME'],
    [['loaf', 'rye', '--by', '--count', '2'], '--by needs a value. Should it be --count? Write --by=--count'],
    [['loaf', 'rye', '--by', 'x', '--count', '10'], '--count must be a whole number from 1 to 9, not 10'],
    [['loaf', 'rye', '--by', 'x', '--count', '1.5'], '--count must be a whole number from 1 to 9, not 1.5'],
    [['loaf', 'rye', '--by', 'x', '--heat='], '--heat must be a number from 0.5 to 300, not empty'],
    [['loaf', 'rye', '--by', 'x', '--crust', 'sofd'], '--crust must be soft or hard, not sofd. Did you mean: soft?'],
    [['loaf', 'rye', '--by', 'x', '--quiet=no'], '--quiet takes no value'],
    [['loaf', 'rye', '--by', 'x', '--cuont', '2'], 'unknown flag --cuont. Did you mean: --count?'],
    [['loaf', 'rye', '-z'], 'unknown flag -z.'],
    [['loaf', 'rye', '--hard'], '--hard does not apply to loaf: it applies to clean'],
    [['clean', 'up'], 'unexpected argument "up"'],
    [['clean', '--help', 'me'], null],
    [['help', '--help'], 'unknown action "help"; expected loaf or clean'],
  ])('%j', (args, fault) => {
    const work = () => parseCommand(bake, args);
    if (fault === null) expect(work().isHelp).toBe(true);
    else expect(work).toThrow(new UsageError(fault));
  });

  it('has help of the whole command, and of an action', () => {
    expect(helpText('bake', bake, null)).toBe(`Usage: parley bake loaf KIND [FILE …] --by NAME [flags]
       parley bake clean [flags]

Bakes bread. It takes an hour.

Actions:
  loaf                  Bake loaves.
  clean                 Clean up.

Arguments:
  KIND                  of flour (rye, wheat)
  FILE                  recipe (- = standard input)

Flags:
  -q, --quiet           say nothing
  --count N             loaf: how many (default: 1)
  --heat C              loaf: of the oven
  --crust soft|hard     loaf: outside (default: soft)
  --seed NAME           loaf: on top (repeatable)
  --by NAME             loaf: the baker (or BAKER)
  --out FILE            loaf: the loaf (- = standard output)
  --list FILE           loaf: what there is (- = standard input)
  --hard                clean: scrub

\`parley help bake ACTION\` tells more about one action.
`);
    const help = helpText('bake', bake, 'loaf');
    expect(help).toContain('Usage: parley bake loaf KIND [FILE …] --by NAME [flags]\n\nBake loaves. They are warm.\n');
    expect(help).toContain('\n  --count N             how many (default: 1)\n');
    expect(help).not.toContain('--hard');
  });
});

/** Streams with `stdin` as input, and what was written to the two others. */
function streams(stdin: string): { io: CommandIo; out: PassThrough; err: PassThrough } {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const io = { stdin: Readable.from([stdin]), stdout: out, stderr: err, env: {}, signal: new AbortController().signal };
  return { io, out, err };
}

describe('-', () => {
  const files: string[] = [];
  const copy = defineCommand({
    about: 'Copies.',
    args: [{ name: 'FILE', help: 'from', optional: true, stream: 'in' }],
    flags: {
      also: { value: 'FILE', help: 'more', repeatable: true, stream: 'in' },
      name: { value: 'NAME', help: 'no file' },
      out: { value: 'FILE', default: '-', help: 'to', stream: 'out' },
      more: { value: 'FILE', help: 'to, too', stream: 'out' },
    },
    async run({ values, positionals: [from] }, io) {
      const read = from ?? values.also[0] ?? '';
      files.push(read);
      io.stdout.write(`name ${values.name ?? ''}`);
      if (read === io.input) io.stderr.write(` of ${read}`);
      const text = await readFile(read, 'utf8');
      if (text === 'bad') throw new ParleyError('CONFIG_INVALID', { reason: `${read}: bad` });
      if (values.more === undefined) {
        const file = await openOutput(values.out, io);
        await file.write(Buffer.from(text));
        await file.close();
      } else await withOutputPath(values.more, io, (path) => writeFile(path, `${text}!`));
      return 0;
    },
  });
  const run = (args: string[], io: CommandIo) => runCommand(parseCommand(copy, args), io);

  it('is standard input and output, and other results go to standard error', async () => {
    const { io, out, err } = streams('bread');
    expect(await run(['-', '--name', '-'], io)).toBe(0);
    expect([String(out.read()), String(err.read())]).toEqual(['bread', 'name - of standard input']);
    expect(files.map((file) => existsSync(file))).toEqual([false]);
    const other = streams('rolls');
    expect(await run(['--also', '-', '--out', 'x', '--more', '-'], other.io)).toBe(0);
    expect(String(other.out.read())).toBe('rolls!');
  });

  it('is called standard input in errors', async () => {
    const { io } = streams('bad');
    await expect(run(['-'], io)).rejects.toThrow('The configuration is not valid: standard input: bad');
  });

  it('is one file only', async () => {
    const { io } = streams('');
    await expect(run(['-', '--also', '-'], io)).rejects.toThrow('only one of FILE and --also can be standard input');
    await expect(run(['--more', '-'], io)).rejects.toThrow('only one of --out and --more can be standard output');
  });
});

it('suggests the name that may be meant', () => {
  const unknown = (kind: string, name: string) =>
    suggestionFor(new ParleyError('PROVIDER_UNKNOWN', { kind, name, known: 'flite, espeak-ng' }));
  expect(unknown('text-to-speech', 'flitte')).toBe('. Did you mean flite?');
  expect(unknown('text-to-speech', 'nothing')).toBe('');
  expect(unknown('language model', 'gpt-4o')).toBe('; set OPENAI_API_KEY');
  const agent = new ParleyError('NOT_FOUND', { what: 'agent', id: 'bakre', known: 'baker, miller' });
  expect(suggestionFor(agent)).toBe('. Did you mean baker?');
});
