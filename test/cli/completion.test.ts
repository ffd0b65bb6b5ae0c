import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parley } from './support.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-completion-'));
  for (const shell of SHELLS) await writeFile(join(folder, shell), (await parley(['completion', shell])).out);
  await writeFile(join(folder, 'agent.json'), '');
});
afterAll(() => rm(folder, { recursive: true }));

function shell(program: string, args: readonly string[]): string {
  const env = { ...process.env, HOME: folder, TERM: 'dumb' };
  const { stdout, stderr, status } = spawnSync(program, args, { cwd: folder, encoding: 'utf8', env, timeout: 30_000 });
  expect([stderr, status]).toEqual(['', 0]);
  return stdout;
}

/** Each shell's candidates for the last word of each line, sorted; files where it leaves them to the shell. */
const CANDIDATES: Record<'bash' | 'fish', (line: string) => string[]> = {
  bash(line) {
    const words = line.split(' ');
    // As bash calls it; with no candidates, readline completes files unless the function has switched that off.
    const script = `source ./bash; complete() { :; }; compopt() { [[ $1 == +o ]] && none=1; return 0; }
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${String(words.length - 1)}; _parley
      if ((\${#COMPREPLY[@]})); then printf '%s\\n' "\${COMPREPLY[@]}"; elif [[ -z $none ]]; then compgen -f -- "\${COMP_WORDS[-1]}"; fi`;
    return linesOf(shell('bash', ['--norc', '-c', script]));
  },
  fish: (line) =>
    linesOf(shell('fish', ['--no-config', '-c', `source fish; complete -C '${line}'`])).map(
      (one) => one.split('\t')[0] ?? '',
    ),
};

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .toSorted();
}

describe.each(['bash', 'fish'] as const)('completion in %s', (name) => {
  it.each([
    ['parley cal', ['call', 'calls']],
    ['parley calls e', ['erase', 'export']],
    ['parley help calls e', ['erase', 'export']],
    ['parley calls export --format ', ['csv', 'jsonl']],
    ['parley calls export --fo', ['--format']],
    ['parley calls list --fo', []],
    ['parley campaigns start --ur', ['--url']],
    ['parley serve --log-level er', ['error']],
    ['parley keys create pr', ['private']],
    ['parley completion f', ['fish']],
    ['parley run --speed m', ['max']],
    ['parley run --agent ag', ['agent.json']],
    ['parley agents check ag', ['agent.json']],
    ['parley calls show ag', []],
    ['parley calls list --agent ag', []],
  ])('%s', (line, expected) => {
    expect(CANDIDATES[name](line)).toEqual(expected);
  });
});

describe('completion in zsh', () => {
  it('completes what is typed', () => {
    // A shell on a pseudo terminal: a tab completes, and Ctrl-X prints the line.
    const lines = [
      ['parley calls ex', 'parley calls export '],
      ['parley help campai', 'parley help campaigns '],
      ['parley calls export --form', 'parley calls export --format '],
      ['parley calls export --format c', 'parley calls export --format csv '],
      ['parley run --agent ag', 'parley run --agent agent.json '],
      ['parley keys create pu', 'parley keys create public '],
      ['parley agents check ag', 'parley agents check agent.json '],
      ['parley doctor --jso', 'parley doctor --json '],
    ];
    const script = `
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1=""; autoload -U compinit; compinit -u -D; source ./zsh; print-line() { print -r -- "<$BUFFER>"; zle kill-whole-line }; zle -N print-line; bindkey "^I" complete-word; bindkey "^X" print-line'
      for line in ${lines.map(([typed]) => `'${typed ?? ''}'`).join(' ')}; do
        zpty -n -w shell "$line"$'\\t'$'\\x18'
        zpty -r -m shell out '*<parley*>*'
        print -r -- "$out"
      done
      zpty -d shell`;
    const out = shell('zsh', ['-f', '-c', script]);
    const completed = [...out.matchAll(/<(parley [^>]*)>/g)].map(([, line]) => line);
    expect(completed).toEqual(lines.map(([, expected]) => expected));
  });
});
