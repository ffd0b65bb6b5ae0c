/**
 * What every hot function costs, as a multiple of a reference loop that runs beside it, so that one machine's figures
 * are another's. Against a budget: `npm test` runs it with `--check`.
 *
 *   npm run build && node bench/run.mjs micro [--check] [--write]
 *
 * Each function is timed by tinybench in short turns, the reference in turns between, and the least of all turns counts
 * for both: what a busy machine adds is not the function's. `--check` fails where a function costs more than twice its
 * entry in micro-budget.json, in three attempts; `--write` writes the entries.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bench } from 'tinybench';
import { nativeStatus } from '../dist/native.js';
import { hotFunctions } from './lib/hot-functions.js';
import { machine } from './lib/machine.js';
import { markdownTable } from './lib/numbers.js';

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
});
const BUDGET = new URL('micro-budget.json', import.meta.url);
/** A regression is what costs more than this many times its budget; the twins of native kernels are slower. */
const TOLERANCE = nativeStatus().loaded ? 2 : 8;
const ATTEMPTS = 3;
const TURNS = values.write ? 20 : 5;
const TURN_MS = 12;
const REFERENCE = Int16Array.from({ length: 960 }, (_, at) => (at * 7919) % 32_000);

const budget = JSON.parse(readFileSync(BUDGET, 'utf8')) as Record<string, number>;
const functions = await hotFunctions();
const least = new Map<string, { us: number; ratio: number }>();
let over: string[] = [];
for (let attempt = 0; attempt < (values.check ? ATTEMPTS : 1); attempt++) {
  const again = attempt === 0 ? functions : functions.filter(([name]) => over.includes(name));
  for (const [name, once] of again) {
    const measured = await measure(once);
    if (measured.ratio < (least.get(name)?.ratio ?? Number.POSITIVE_INFINITY)) least.set(name, measured);
  }
  over = functions
    .map(([name]) => name)
    .filter((name) => (least.get(name)?.ratio ?? 0) > TOLERANCE * (budget[name] ?? Number.POSITIVE_INFINITY));
  if (over.length === 0) break;
}

const rows = functions.map(([name]) => {
  const { us, ratio } = least.get(name) ?? { us: Number.NaN, ratio: Number.NaN };
  return [name, us, ratio, budget[name] ?? '–', over.includes(name) ? 'over' : ''];
});
console.log(`${markdownTable([['function', 'us', 'times the reference', 'budget', ''], ...rows])}\n\n${machine()}`);
if (values.write) {
  const entries = rows.map(([name, , ratio]) => [name, Number(Number(ratio).toPrecision(3))]);
  writeFileSync(BUDGET, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
}
const unknown = functions.map(([name]) => name).filter((name) => budget[name] === undefined);
if (values.check && unknown.length > 0) console.error(`no budget for ${unknown.join(', ')}: --write`);
if (values.check && over.length > 0)
  console.error(`more than ${String(TOLERANCE)} times the budget: ${over.join(', ')}`);
process.exit(values.check && (over.length > 0 || unknown.length > 0) ? 1 : 0);

async function measure(once: () => void): Promise<{ us: number; ratio: number }> {
  let [us, reference] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turn = 0; turn < TURNS; turn++) {
    us = Math.min(us, await timed(once));
    reference = Math.min(reference, await timed(referenceLoop));
  }
  return { us, ratio: us / reference };
}

/** The quickest of a turn's calls, in microseconds. */
async function timed(once: () => void): Promise<number> {
  const bench = new Bench({ time: TURN_MS, warmupTime: 3, iterations: 5, warmupIterations: 2 });
  bench.add('it', once);
  await bench.run();
  const [task] = bench.tasks;
  if (task?.result.state !== 'completed') throw new Error(`not timed: ${String(task?.result.state)}`);
  return task.result.latency.min * 1000;
}

/** Work as the hot functions do it: integers, doubles and typed arrays, some 20 us of it. */
function referenceLoop(): number {
  let sum = 0;
  for (let round = 0; round < 12; round++) {
    for (let at = 0; at < REFERENCE.length; at++) {
      const value = REFERENCE[at] as number;
      sum += value * 0.25 + ((value >> 3) & 7);
    }
  }
  return sum;
}
