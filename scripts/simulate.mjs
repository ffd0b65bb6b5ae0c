/**
 * Plays conversations that chance has written and checks every rule at every step (docs/simulation.md):
 *
 *   npm run simulate -- --seed 7 --count 20000 [--from 0] [--jobs 2] [--out folder]
 *   npm run simulate -- --script failure.json
 *
 * A failure is made as small as it gets and written to `--out` (default `.parley/simulate`) as JSON, to be played again
 * with `--script`, and as the source of a scenario test. The exit code is 1 if there was one. Runs the build.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const SIMULATOR = new URL('../dist/testing/simulator/index.js', import.meta.url);
/** Conversations between two reports of a worker. */
const BATCH = 500;
/** More failures than this show nothing new. */
const MAX_FAILURES = 10;

/** @typedef {{ seed: number, from: number, count: number }} Range */
/** @typedef {{ conversations: number, steps: number, lengthMs: number, failures: { index: number, rule: string }[] }} Tally */

if (isMainThread) await main();
else await work(/** @type {Range} */ (workerData));

async function main() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '20000' },
      from: { type: 'string', default: '0' },
      jobs: { type: 'string', default: '1' },
      out: { type: 'string', default: '.parley/simulate' },
      script: { type: 'string' },
    },
  });
  if (!existsSync(SIMULATOR)) fail('There is no build: run npm run build first');
  if (values.script !== undefined) {
    await playAgain(values.script);
    return;
  }
  const seed = whole('seed', values.seed, 0);
  const from = whole('from', values.from, 0);
  const count = whole('count', values.count, 1);
  const jobs = Math.min(whole('jobs', values.jobs, 1), count);
  const startMs = performance.now();
  const tally = await runAll(seed, from, count, jobs);
  const seconds = (performance.now() - startMs) / 1000;
  const { conversations, steps, lengthMs, failures } = tally;
  console.log(
    `${conversations} conversations, ${steps} steps, ${(lengthMs / 3_600_000).toFixed(1)} hours of talk in ` +
      `${seconds.toFixed(1)} s: ${Math.round(conversations / seconds)} conversations a second (${jobs} jobs)`,
  );
  if (failures.length === 0) return;
  process.exitCode = 1;
  console.log(`${failures.length} broke a rule:`);
  /** @type {Map<string, number>} */
  const first = new Map();
  for (const { rule, index } of failures) first.set(rule, Math.min(index, first.get(rule) ?? Infinity));
  for (const [rule, index] of [...first].slice(0, MAX_FAILURES)) await report(seed, index, rule, values.out);
}

/**
 * Every job has a share of the conversations; which conversations there are does not depend on their number.
 * @param {number} seed
 * @param {number} from
 * @param {number} count
 * @param {number} jobs
 * @returns {Promise<Tally>}
 */
async function runAll(seed, from, count, jobs) {
  /** @type {Tally} */
  const sum = { conversations: 0, steps: 0, lengthMs: 0, failures: [] };
  const share = Math.ceil(count / jobs);
  const running = Array.from({ length: jobs }, (_job, index) => {
    const start = from + index * share;
    const data = { seed, from: start, count: Math.max(0, Math.min(share, from + count - start)) };
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: data });
    return new Promise((resolve, reject) => {
      worker.on('message', (/** @type {Tally} */ tally) => {
        sum.conversations += tally.conversations;
        sum.steps += tally.steps;
        sum.lengthMs += tally.lengthMs;
        sum.failures.push(...tally.failures);
        if (process.stderr.isTTY) process.stderr.write(`\r${sum.conversations} of ${count} \r`);
      });
      worker.once('error', reject);
      worker.once('exit', resolve);
    });
  });
  await Promise.all(running);
  return sum;
}

/** @param {Range} range */
async function work({ seed, from, count }) {
  const { generate, seedOf, simulate } = await import(SIMULATOR.href);
  for (let start = from; start < from + count; start += BATCH) {
    const end = Math.min(start + BATCH, from + count);
    /** @type {Tally} */
    const tally = { conversations: end - start, steps: 0, lengthMs: 0, failures: [] };
    for (let index = start; index < end; index++) {
      const { steps, lengthMs, failure } = simulate(generate(seedOf(seed, index)));
      tally.steps += steps;
      tally.lengthMs += lengthMs;
      if (failure !== null) tally.failures.push({ index, rule: failure.rule });
    }
    parentPort?.postMessage(tally);
  }
}

/**
 * Shrinks one failure and writes it down.
 * @param {number} seed
 * @param {number} index
 * @param {string} rule
 * @param {string} folder
 */
async function report(seed, index, rule, folder) {
  const { generate, seedOf, shrink, simulate, toSource } = await import(SIMULATOR.href);
  const script = shrink(generate(seedOf(seed, index)));
  const { failure } = simulate(script);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${seed}-${index}`);
  const head = [`Seed ${seed}, conversation ${index}. Broken: ${failure.message} (at ${failure.atMs} ms).`];
  const comment = head.map((line) => `// ${line}\n`).join('');
  writeFileSync(`${path}.json`, `${JSON.stringify({ seed, index, rule, script }, null, 2)}\n`);
  writeFileSync(`${path}.scenario.ts`, `${comment}${toSource(script)}`);
  console.log(`\n${rule}\n  ${path}.json\n${comment}${toSource(script)}${failure.timeline}`);
}

/** @param {string} path */
async function playAgain(path) {
  const { simulate } = await import(SIMULATOR.href);
  const { script } = JSON.parse(readFileSync(path, 'utf8'));
  const { failure, steps, lengthMs } = simulate(script);
  if (failure === null) {
    console.log(`Every rule holds: ${steps} steps, ${(lengthMs / 1000).toFixed(1)} s of talk`);
    return;
  }
  console.log(`${failure.timeline}\n${failure.message} (at ${failure.atMs} ms)`);
  process.exitCode = 1;
}

/**
 * @param {string} name
 * @param {string} text
 * @param {number} least
 */
function whole(name, text, least) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) fail(`--${name} is a whole number from ${least} on`);
  return value;
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(2);
}
