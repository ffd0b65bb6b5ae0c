/**
 * What every hot function costs, as a multiple of a reference loop that runs beside it, so that one machine's figures
 * are another's. Against a budget: `npm test` runs it with `--check`.
 *
 *   npm run build && node bench/run.mjs micro [--check] [--write]
 *
 * Each function is timed by tinybench in short turns, the reference in turns between, and the least of all turns counts
 * for both: what a busy machine adds is not the function's. `--check` fails where a function costs more than 1.8 times its
 * entry in micro-budget.json in each of four attempts, so that what has become twice as slow is found; every attempt is a
 * process of its own, for the compiler does not always come to the same code. `--write` writes the entries.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bench } from 'tinybench';
import { nativeStatus } from '../dist/base/native.js';
import { measureInChild } from './lib/child.js';
import { hotFunctions } from './lib/hot-functions.js';
import { machine } from './lib/machine.js';
import { markdownTable } from './lib/numbers.js';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    one: { type: 'string' },
  },
});
const BUDGET = new URL('micro-budget.json', import.meta.url);
/** What costs more than this many times its budget is a regression; the twins of native kernels are slower. */
const TOLERANCE = nativeStatus().loaded ? 1.8 : 8;
const ATTEMPTS = 4;
const TURNS = 5;
/** Those that seemed too slow are looked at for longer: a moment without others on the processor comes. */
const PATIENT_TURNS = 25;
const TURN_MS = 12;
const REFERENCE = Int16Array.from({ length: 960 }, (_, at) => (at * 7919) % 32_000);

/** Of one function, by its name. */
type Costs = Record<string, { us: number; ratio: number }>;

if (values.one === undefined) {
  await all();
} else {
  const names = JSON.parse(values.one) as string[];
  const costs: Costs = {};
  for (const [name, once] of await hotFunctions()) {
    if (names.length === 0 || names.includes(name))
      costs[name] = await measure(once, names.length === 0 ? TURNS : PATIENT_TURNS);
  }
  console.log(JSON.stringify(costs));
  process.exit(0);
}

async function all(): Promise<void> {
  const budget = JSON.parse(readFileSync(BUDGET, 'utf8')) as Record<string, number>;
  const least: Costs = {};
  let over: string[] = [];
  for (let attempt = 0; attempt < (values.check || values.write ? ATTEMPTS : 1); attempt++) {
    const costs = await measureInChild<Costs>([`--one=${JSON.stringify(values.write ? [] : over)}`]);
    for (const [name, cost] of Object.entries(costs)) {
      if (cost.ratio < (least[name]?.ratio ?? Number.POSITIVE_INFINITY)) least[name] = cost;
    }
    over = Object.entries(least).flatMap(([name, { ratio }]) =>
      ratio > TOLERANCE * (budget[name] ?? Number.POSITIVE_INFINITY) ? [name] : [],
    );
    if (over.length === 0 && !values.write) break;
  }
  const rows = Object.entries(least).map(([name, { us, ratio }]) => {
    const limit = budget[name];
    return [
      name,
      us,
      ratio,
      limit ?? '–',
      limit === undefined ? '–' : ratio / limit,
      over.includes(name) ? 'over' : '',
    ];
  });
  const heads = ['function', 'us', 'times the reference', 'budget', 'times that', ''];
  console.log(`${markdownTable([heads, ...rows])}\n\n${machine()}`);
  if (values.write) {
    const entries = Object.entries(least).map(([name, { ratio }]) => [name, Number(ratio.toPrecision(3))]);
    writeFileSync(BUDGET, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
  }
  const unknown = Object.keys(least).filter((name) => budget[name] === undefined);
  if (values.check && unknown.length > 0) console.error(`no budget for ${unknown.join(', ')}: --write`);
  if (values.check && over.length > 0) {
    console.error(`more than ${String(TOLERANCE)} times the budget: ${over.join(', ')}`);
  }
  process.exit(values.check && (over.length > 0 || unknown.length > 0) ? 1 : 0);
}

async function measure(once: () => void, turns: number): Promise<{ us: number; ratio: number }> {
  let [us, reference] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turn = 0; turn < turns; turn++) {
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
