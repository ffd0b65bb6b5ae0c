/**
 * What a session costs while it runs: processor time per second, of the main thread and of the engines' worker
 * threads, and how late the ticker is.
 *
 *   npm run build && node bench/run.mjs sessions [--sessions=1,10,50] [--seconds=20] [--case=idle,talking,embedded]
 *
 * Each case has a process of its own. In real time, callers send 20 ms frames at 16 kHz: a faint hiss, or (talking) 5 s
 * of speech and 4 s of answer in every 10 s. Counted is everything that the process does, from the caller's frame to
 * the frame of the answer, divided by the sessions; what Node takes for an empty ticker ("nobody", measured first) is
 * shown apart. Silero listens in all cases; `idle` and `talking` have doubles for recogniser, model and voice,
 * `embedded idle` and `embedded` the real ones, which work on threads of their own.
 */
import { parseArgs } from 'node:util';
import { Engine } from '../dist/engine/engine.js';
import { RealClock } from '../dist/clock/real.js';
import { nativeStatus } from '../dist/native.js';
import type { Conduct } from './lib/caller-sound.js';
import { Callers, type Engines } from './lib/callers.js';
import { measureInChild } from './lib/child.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';
import { cpuTimes, threadTimes } from './lib/threads.js';

const CASES: Readonly<Record<string, readonly [Conduct, Engines]>> = {
  idle: ['idle', 'doubles'],
  talking: ['talking', 'doubles'],
  'embedded idle': ['idle', 'embedded'],
  embedded: ['talking', 'embedded'],
};

interface Cost {
  processMs: number;
  mainMs: number;
  workersMs: number;
  stolenMs: number;
  lateP50: number;
  lateP99: number;
  lateMax: number;
  skipped: number;
  answers: number;
  rssMb: number;
}

const HEADER = [
  'case',
  'sessions',
  'CPU ms/s a session',
  'beyond nobody',
  'main thread',
  'worker threads',
  'main thread waited for a processor',
  'ticker late p50 ms',
  'p99',
  'max',
  'skipped ticks',
  'answers',
  'RSS MB',
];

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '1,10,50' },
    seconds: { type: 'string', default: '20' },
    case: { type: 'string', default: 'idle,talking' },
    one: { type: 'string' },
  },
});

if (values.one === undefined) {
  console.log(`${machine()}\nnative addon: ${nativeStatus().reason}\n`);
  const measured = async (name: string, count: number): Promise<Cost> =>
    measureInChild<Cost>([`--one=${name}:${String(count)}`, `--seconds=${values.seconds}`]);
  const nobody = await measured('nobody', 0);
  const rows = [row('nobody', 0, nobody, nobody)];
  for (const name of values.case.split(',')) {
    for (const count of values.sessions.split(',').map(Number)) {
      rows.push(row(name, count, await measured(name, count), nobody));
    }
  }
  console.log(`${markdownTable([HEADER, ...rows])}\n\n${machine()}`);
} else {
  const [name = '', count = '0'] = values.one.split(':');
  console.log(JSON.stringify(await measure(name, Number(count), Number(values.seconds))));
  process.exit(0);
}

function row(name: string, count: number, cost: Cost, nobody: Cost): (string | number)[] {
  const each = (ms: number): number => ms / Math.max(1, count);
  const { processMs, mainMs, workersMs, stolenMs, lateP50, lateP99, lateMax, skipped, answers, rssMb } = cost;
  return [
    name,
    String(count),
    each(processMs),
    count === 0 ? '–' : each(processMs - nobody.processMs),
    each(mainMs),
    each(workersMs),
    each(stolenMs),
    lateP50,
    lateP99,
    lateMax,
    String(skipped),
    String(answers),
    rssMb,
  ];
}

async function measure(name: string, count: number, seconds: number): Promise<Cost> {
  const [conduct, engines] = CASES[name] ?? ['idle', 'doubles'];
  const clock = new RealClock();
  const engine = new Engine({ clock });
  const helpers = new Set(threadTimes().keys());
  if (engines === 'embedded') await engine.warmUp();
  const lateness: number[] = [];
  let dueMs = clock.nowMs() + engine.ticker.intervalMs;
  engine.ticker.subscribe((skipped) => {
    lateness.push(clock.nowMs() - dueMs - skipped * engine.ticker.intervalMs);
    dueMs += (1 + skipped) * engine.ticker.intervalMs;
  });
  const callers = new Callers(engine, conduct, engines);
  for (let caller = 0; caller < count; caller++) await callers.add(caller / count);
  await sleep(12_000); // compiled, greeted, and once round
  lateness.length = 0;
  const { skipped } = engine.ticker.stats;
  const { answers } = callers;
  const [startMs, cpu, threads] = [clock.nowMs(), cpuTimes(), threadTimes()];
  await sleep(seconds * 1000);
  const [after, threadsAfter] = [cpuTimes(), threadTimes()];
  const tookSeconds = (clock.nowMs() - startMs) / 1000;
  let workersMs = 0;
  for (const [id, { ranMs }] of threadsAfter) if (!helpers.has(id)) workersMs += ranMs - (threads.get(id)?.ranMs ?? 0);
  const cost: Cost = {
    processMs: (after.processMs - cpu.processMs) / tookSeconds,
    mainMs: ((after.mainMs ?? Number.NaN) - (cpu.mainMs ?? Number.NaN)) / tookSeconds,
    workersMs: workersMs / tookSeconds,
    stolenMs: ((after.mainStolenMs ?? Number.NaN) - (cpu.mainStolenMs ?? Number.NaN)) / tookSeconds,
    lateP50: quantile(lateness, 0.5),
    lateP99: quantile(lateness, 0.99),
    lateMax: quantile(lateness, 1),
    skipped: engine.ticker.stats.skipped - skipped,
    answers: callers.answers - answers,
    rssMb: process.memoryUsage().rss / 1e6,
  };
  await callers.leave();
  await engine.close();
  return cost;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
