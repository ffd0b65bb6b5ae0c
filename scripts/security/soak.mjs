/**
 * Callers who talk with the demo agent for minutes or days, and what the daemon holds meanwhile: JavaScript heap after a
 * full collection, resident memory, open handles, delay of the event loop. After the first fifth nothing of it may grow
 * beyond a few percent.
 *
 *   npm run build && node scripts/security/soak.mjs [--count=30] [--minutes=8]
 */
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDaemon } from '../daemon-process.mjs';
import { Caller, framesOf } from './caller.mjs';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '30' }, minutes: { type: 'string', default: '8' } },
});
const SAMPLES = 20;
/** Growth of the median between the second and the last fifth of the samples that counts as a leak. */
const HEAP_GROWTH = 1.1;
const RSS_GROWTH = 1.1;
const HANDLES_MORE = 10;
const AGENT = 'the-crooked-fork';
const LINES = ['table', 'lively', 'name', 'change', 'yes'];
/** The agent has its say in between. */
const SILENCE_MS = 6000;
/** A session's history and log grow with it: callers hang up, so that as much is given back as is taken. */
const LONGEST_MS = 60_000;

const callers = Number(values.count);
const everyMs = (Number(values.minutes) * 60_000) / SAMPLES;
const speech = LINES.flatMap((line) => framesOf(`booking/rms/${line}.wav`, SILENCE_MS));
const daemon = await startDaemon({ limits: { sessions: callers + 10 } });
let failed = false;
try {
  /** @type {Caller[]} */
  const all = [];
  for (let at = 0; at < callers; at++) {
    // Each begins at another place of the same lines, so that they do not all speak at once.
    const from = Math.floor((at * speech.length) / callers);
    all.push(new Caller(daemon.address, AGENT, [...speech.slice(from), ...speech.slice(0, from)], LONGEST_MS));
    await wait(200);
  }
  const sum = (/** @type {(caller: Caller) => number} */ of) => all.reduce((total, caller) => total + of(caller), 0);
  /** @type {import('./probe.mjs').Figures[]} */
  const samples = [];
  await daemon.figures();
  console.log('minute  heap MB  RSS MB  handles  loop p99 ms  longest ms  calls  answers  late frames');
  for (let at = 1; at <= SAMPLES && daemon.isAlive(); at++) {
    await wait(everyMs);
    const figures = await daemon.figures();
    samples.push(figures);
    const { heapMb, rssMb, handles, loopDelayMs } = figures;
    const late = (
      (100 * sum((each) => each.lateFrames)) /
      Math.max(
        1,
        sum((each) => each.frames),
      )
    ).toFixed(2);
    const row = [((at * everyMs) / 60_000).toFixed(1), heapMb.toFixed(1), rssMb.toFixed(0), handles];
    row.push(
      loopDelayMs.p99,
      loopDelayMs.longest,
      sum((each) => each.calls),
      sum((each) => each.answers),
      `${late} %`,
    );
    console.log(row.map((value) => String(value).padStart(7)).join('  '));
  }
  const faults = all.flatMap((caller) => caller.faults);
  for (const caller of all) caller.close();
  for (const fault of new Set(faults)) console.log(`${faults.filter((each) => each === fault).length} x ${fault}`);
  failed ||= faults.length > 0 || !daemon.isAlive() || sum((each) => each.answers) === 0;
  failed ||= grows(
    'heap',
    samples,
    (each) => each.heapMb,
    (early) => early * HEAP_GROWTH,
  );
  failed ||= grows(
    'RSS',
    samples,
    (each) => each.rssMb,
    (early) => early * RSS_GROWTH,
  );
  failed ||= grows(
    'handles',
    samples,
    (each) => each.handles,
    (early) => early + HANDLES_MORE,
  );
} finally {
  await daemon.close();
}
process.exitCode = failed ? 1 : 0;

/**
 * @param {string} name
 * @param {import('./probe.mjs').Figures[]} samples
 * @param {(figures: import('./probe.mjs').Figures) => number} of
 * @param {(early: number) => number} limitOf
 */
function grows(name, samples, of, limitOf) {
  const fifth = Math.floor(samples.length / 5);
  const early = median(samples.slice(fifth, 2 * fifth).map(of));
  const late = median(samples.slice(-fifth).map(of));
  const isMore = late > limitOf(early);
  console.log(`${name}: ${early.toFixed(1)} early, ${late.toFixed(1)} at the end${isMore ? ': it grows' : ''}`);
  return isMore;
}

/** @param {number[]} numbers */
function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
