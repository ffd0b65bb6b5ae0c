import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RealClock } from '../../../dist/base/real-clock.js';
import { Ticker } from '../../../dist/base/ticker.js';
import type { Conduct } from '../../lib/caller-sound.js';
import { quantile } from '../../lib/numbers.js';
import { cpuTimes } from '../../lib/threads.js';
import { sleep } from './line.js';

/** Who serves the callers; `nobody`: the ticker alone. */
export type Server = 'nobody' | 'parley' | 'livekit built-in' | 'livekit plug-in';

/** What a process with sessions takes. */
export interface Cost {
  /** Processor time of all threads, ms a second of wall time. */
  cpuMs: number;
  /** How late the ticker was at the 99th percentile, ms. */
  lateP99Ms: number;
  answers: number;
  rssMb: number;
  /** Heap and buffers behind a full collection, MB: with one session, with all, and with all after `minutes`. */
  firstMb: number;
  allMb: number;
  laterMb: number;
  minutes: number;
}

interface Callers {
  add: (phase: number) => Promise<void>;
  answers: () => number;
}

/** Until its code is compiled and garbage is made at its usual pace. */
const WARM_MS = 2500;

export async function costOf(server: Server, conduct: Conduct, count: number, seconds: number): Promise<Cost> {
  const kept = collector();
  const clock = new RealClock();
  const { ticker, callers } = await open(server, clock, conduct);
  const lateness: number[] = [];
  let dueMs = clock.nowMs() + ticker.intervalMs;
  ticker.subscribe((skipped) => {
    lateness.push(clock.nowMs() - dueMs - skipped * ticker.intervalMs);
    dueMs += (1 + skipped) * ticker.intervalMs;
  });
  let firstMb = Number.NaN;
  for (let caller = 0; caller < count; caller++) {
    await callers.add(caller / count);
    if (caller > 0) continue;
    await sleep(500);
    firstMb = kept();
  }
  const startedMs = clock.nowMs();
  await sleep(500);
  const allMb = kept();
  await sleep(WARM_MS);
  lateness.length = 0;
  const [answers, fromMs, cpu] = [callers.answers(), clock.nowMs(), cpuTimes()];
  await sleep(seconds * 1000);
  const cpuMs = cpuTimes().processMs - cpu.processMs;
  const tookSeconds = (clock.nowMs() - fromMs) / 1000;
  const rssMb = process.memoryUsage().rss / 1e6;
  return {
    cpuMs: cpuMs / tookSeconds,
    lateP99Ms: quantile(lateness, 0.99),
    answers: callers.answers() - answers,
    rssMb,
    firstMb,
    allMb,
    laterMb: kept(),
    minutes: (clock.nowMs() - startedMs - 500) / 60_000,
  };
}

async function open(server: Server, clock: RealClock, conduct: Conduct): Promise<{ ticker: Ticker; callers: Callers }> {
  if (server === 'nobody') {
    return { ticker: new Ticker(clock), callers: { add: () => Promise.resolve(), answers: () => 0 } };
  }
  if (server === 'parley') {
    const { Engine } = await import('../../../dist/engine/engine.js');
    const { Callers } = await import('../../lib/callers.js');
    const engine = new Engine({ clock });
    const callers = new Callers(engine, conduct, 'doubles');
    return { ticker: engine.ticker, callers: { add: (phase) => callers.add(phase), answers: () => callers.answers } };
  }
  const { LivekitCallers } = await import('./livekit-callers.js');
  const ticker = new Ticker(clock);
  const callers = new LivekitCallers(ticker, conduct, server === 'livekit plug-in' ? 'plug-in' : 'built-in');
  return { ticker, callers: { add: (phase) => callers.add(phase), answers: () => callers.answers } };
}

/** A function that collects all garbage and tells what is left, in MB. */
function collector(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    for (let round = 0; round < 3; round++) collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return (heapUsed + arrayBuffers) / 1e6;
  };
}
