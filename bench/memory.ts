/**
 * What sessions keep in memory: how much the heap grows with the frames that go through, sampled over minutes, and how
 * much each session adds to the process.
 *
 *   npm run build && node bench/run.mjs memory [--minutes=10] [--sessions=10] [--real]
 *
 * Growth: sessions run in virtual time (with --real, on the clock); after each minute the heap and the array buffers
 * outside it are measured behind a full collection, and a straight line is laid through all minutes but the first.
 * Idle sessions hear a hiss; talking ones hold six turns a minute, whose words they remember, as a call's history.
 * Size: resident memory of a process with 0, 10 and 50 sessions, 5 s after the last one began.
 */
import { parseArgs } from 'node:util';
import { RealClock } from '../dist/base/real-clock.js';
import { VirtualClock } from '../dist/base/virtual-clock.js';
import { Engine } from '../dist/engine/engine.js';
import type { Conduct } from './lib/caller-sound.js';
import { Callers, type Engines } from './lib/callers.js';
import { measureInChild } from './lib/child.js';
import { collector } from './lib/collector.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';

interface Growth {
  /** Bytes behind a full collection, a number for each minute. */
  keptBytes: number[];
  framesPerMinute: number;
  answers: number;
}
interface Size {
  rssBytes: number;
  keptBytes: number;
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '10' },
    real: { type: 'boolean', default: false },
    growth: { type: 'string' },
    size: { type: 'string' },
  },
});
const minutes = Number(values.minutes);
const sessions = Number(values.sessions);

if (values.growth !== undefined) {
  console.log(JSON.stringify(await growth(...(values.growth.split(':') as [Conduct, Engines]))));
  process.exit(0);
} else if (values.size !== undefined) {
  const [engines, count] = values.size.split(':');
  console.log(JSON.stringify(await size(engines as Engines, Number(count))));
  process.exit(0);
}

console.log(`${machine()}\n`);
const growthRows: (string | number)[][] = [];
for (const conduct of ['idle', 'talking'] as const) {
  const settings = [`--minutes=${values.minutes}`, `--sessions=${values.sessions}`, ...(values.real ? ['--real'] : [])];
  const { keptBytes, framesPerMinute, answers } = await measureInChild<Growth>([
    `--growth=${conduct}:doubles`,
    ...settings,
  ]);
  const perMinute = slope(keptBytes.slice(1));
  growthRows.push([
    conduct,
    String(framesPerMinute * minutes),
    String(answers),
    perMinute / framesPerMinute,
    perMinute / 1000 / sessions,
    answers === 0 ? '–' : perMinute / (answers / minutes),
    keptBytes.map((bytes) => (bytes / 1e6).toFixed(2)).join(' '),
  ]);
}
const growthHeader = [
  'sessions',
  'frames',
  'answers',
  'bytes a frame',
  'kB a minute and session',
  'bytes an answer',
  'MB kept, minute by minute',
];
console.log(`growth, ${values.sessions} sessions:\n${markdownTable([growthHeader, ...growthRows])}\n`);

const sizeRows: (string | number)[][] = [];
for (const engines of ['doubles', 'embedded'] as const) {
  let alone: Size | undefined;
  for (const count of engines === 'doubles' ? [0, 10, 50] : [0, 10]) {
    const taken = await measureInChild<Size>([`--size=${engines}:${String(count)}`]);
    alone ??= taken;
    const each = (bytes: number): string | number => (count === 0 ? '–' : bytes / count / 1e6);
    sizeRows.push([
      engines,
      String(count),
      taken.rssBytes / 1e6,
      each(taken.rssBytes - alone.rssBytes),
      each(taken.keptBytes - alone.keptBytes),
    ]);
  }
}
console.log(
  `size:\n${markdownTable([['engines', 'sessions', 'RSS MB', 'RSS MB a session', 'of that on the main heap'], ...sizeRows])}\n\n${machine()}`,
);

async function growth(conduct: Conduct, engines: Engines): Promise<Growth> {
  const collect = collector();
  const clock = values.real ? new RealClock() : new VirtualClock();
  const engine = new Engine({ clock });
  const callers = new Callers(engine, conduct, engines);
  for (let caller = 0; caller < sessions; caller++) await callers.add(caller / sessions);
  await pass(clock, 30_000);
  const { frames, answers } = callers;
  const keptBytes: number[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    await pass(clock, 60_000);
    keptBytes.push(collect());
  }
  return { keptBytes, framesPerMinute: (callers.frames - frames) / minutes, answers: callers.answers - answers };
}

async function size(engines: Engines, count: number): Promise<Size> {
  const collect = collector();
  const clock = new RealClock();
  const engine = new Engine({ clock });
  await engine.warmUp();
  const callers = new Callers(engine, 'idle', engines);
  for (let caller = 0; caller < count; caller++) await callers.add(caller / count);
  await pass(clock, 5000);
  const keptBytes = collect();
  return { rssBytes: process.memoryUsage().rss, keptBytes };
}

function pass(clock: RealClock | VirtualClock, ms: number): Promise<void> {
  return clock instanceof VirtualClock ? clock.advanceBy(ms) : new Promise((resolve) => setTimeout(resolve, ms));
}

/** How much is added from one value to the next: the median of the slopes between all pairs (Theil and Sen). */
function slope(all: readonly number[]): number {
  const slopes = all.flatMap((value, at) => all.slice(at + 1).map((later, gap) => (later - value) / (gap + 1)));
  return quantile(slopes, 0.5);
}
