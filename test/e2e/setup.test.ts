import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasTool } from '../../scripts/system-tools.mjs';
import { packageFile } from '../../src/package-files.js';

const PARLEY = fileURLToPath(packageFile('bin/parley.js'));
const SECRET = 'sk-not-to-be-shown-1234';

/** `parley setup` as a process on a pseudo terminal, which `script` makes. */
class Terminal {
  readonly #child: ChildProcess;
  readonly ended: Promise<unknown[]>;
  shown = '';

  constructor(args: readonly string[], folder: string) {
    const command = [process.execPath, PARLEY, 'setup', ...args].join(' ');
    const env = { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm', OLLAMA_HOST: 'http://127.0.0.1:9' };
    this.#child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env, stdio: 'pipe' });
    this.ended = once(this.#child, 'exit');
    this.#child.stdout?.on('data', (data: Buffer) => (this.shown += stripVTControlCharacters(data.toString('utf8'))));
  }

  /** Types a line when the terminal shows a question. */
  async answer(question: string, line: string): Promise<void> {
    const deadline = AbortSignal.timeout(30_000);
    while (!this.shown.includes(question))
      await once(this.#child.stdout as NodeJS.ReadableStream, 'data', { signal: deadline });
    this.#child.stdin?.write(`${line}\r`);
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }
}

describe('parley setup on a terminal', { skip: !hasTool('script'), timeout: 90_000 }, () => {
  let folder: string;
  let terminal: Terminal | null = null;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-setup-'));
  });
  afterEach(() => {
    terminal?.close();
    rmSync(folder, { recursive: true });
  });

  it('asks for keys without showing them, and writes the files after one confirmation', async () => {
    terminal = new Terminal(
      ['--offline', '--stt', 'embedded', '--voice', 'embedded', '--llm-model', 'scripted'],
      folder,
    );
    await terminal.answer('Names, with commas', 'speechmatics');
    await terminal.answer('Key of Speechmatics (SPEECHMATICS_API_KEY, not shown)', SECRET);
    await terminal.answer('[Y/n]', '');
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.shown).toContain('found Speechmatics');
    expect(terminal.shown).toMatch(/heard +we have a table for two/);
    expect(terminal.shown).not.toContain(SECRET);
    expect(JSON.parse(readFileSync(join(folder, 'parley.json'), 'utf8'))).toEqual({ language: 'en-US' });
    expect(readFileSync(join(folder, 'parley.env'), 'utf8')).toBe(`SPEECHMATICS_API_KEY='${SECRET}'\n`);
  });

  it('stops at Ctrl-C and has changed nothing', async () => {
    terminal = new Terminal(['--offline'], folder);
    await terminal.answer('Names, with commas', '\u0003');
    const [code] = await terminal.ended;
    expect(code).not.toBe(0);
    expect(existsSync(join(folder, 'parley.json'))).toBe(false);
  });
});
