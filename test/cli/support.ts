import { PassThrough, Writable } from 'node:stream';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { main } from '../../src/cli/main.js';
import { packageFile } from '../../src/package-files.js';

export interface Ran {
  code: number;
  out: string;
  err: string;
}

export interface RunOptions {
  /** Lines that are piped in. */
  stdin?: readonly string[];
  env?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** Whether stderr is a terminal. Default no. */
  terminal?: boolean;
  /** Whether stdin is a terminal. Default no. */
  stdinTerminal?: boolean;
  /** Called with everything that is written to stdout or stderr. */
  onOutput?: (text: string) => void;
}

/** Runs `parley` in this process, without a terminal and with an environment of its own. */
export async function parley(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const {
    stdin = [],
    env = {},
    signal = new AbortController().signal,
    terminal = false,
    onOutput,
    stdinTerminal = false,
  } = options;
  const [out, err] = [capture(onOutput), capture(onOutput)];
  const input = new PassThrough();
  input.end(stdin.map((line) => `${line}\n`).join(''));
  // No Ollama is looked for: what this machine has must not change what a test sees.
  const quiet = { OLLAMA_HOST: 'http://127.0.0.1:9', ...env };
  const code = await main(args, {
    stdout: out.stream,
    stderr: Object.assign(err.stream, { isTTY: terminal }),
    stdin: Object.assign(input, { isTTY: stdinTerminal }),
    env: quiet,
    signal,
  });
  return { code, out: out.text(), err: err.text() };
}

function capture(onOutput: ((text: string) => void) | undefined): { stream: Writable; text: () => string } {
  let written = '';
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      written += String(chunk);
      onOutput?.(String(chunk));
      done();
    },
  });
  return { stream, text: () => stripVTControlCharacters(written) };
}

export const DEMO_AGENT = fileURLToPath(packageFile('examples/restaurant/agent.json'));

export function fixture(name: string): string {
  return fileURLToPath(packageFile(`fixtures/audio/${name}`));
}

/** A folder that is there while `work` runs. */
export async function inFolder<T>(work: (path: (name: string) => string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-cli-'));
  try {
    return await work((name) => join(folder, name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
