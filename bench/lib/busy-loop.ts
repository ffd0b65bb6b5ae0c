import { RealClock } from '../../dist/base/real-clock.js';
import { Ticker } from '../../dist/base/ticker.js';
import type { Transport } from '../../dist/transports/transport.js';
import { FrameLateness } from './frame-lateness.js';
import type { Methods } from './remote.js';
import { threadTimes } from './threads.js';

/** What a loop is to do: as many listeners as sessions, which all together keep its thread so busy. */
export interface LoopCase {
  listeners: number;
  /** Of each second, ms. */
  busyMs: number;
  ms: number;
}

/** How many of its frames were late, and how busy it really was. */
export interface LoopSeen {
  lateShare: number;
  threadMs: number;
}

export type LoopMethods = { measure: (of: LoopCase) => Promise<LoopSeen> } & Methods;

/** The same arithmetic takes another time from one second to the next: until it is about as much as it should be. */
const TRIALS = 3;
const TRIAL_MS = 700;
const TICKS_A_SECOND = 50;
/** What a session touches in a tick is in this order of magnitude. */
const NUMBERS = 1_024;

/**
 * Nothing but arithmetic at the pace of frames, the same in each tick, with neither sockets nor garbage: frames that are
 * late here are late because the machine stood still, or was slow for a while. In a process of its own.
 */
export async function busyLoop({ listeners, busyMs, ms }: LoopCase): Promise<LoopSeen> {
  const clock = new RealClock();
  const ticker = new Ticker(clock);
  const lateness = new FrameLateness(ticker, () => clock.nowMs());
  let rounds = Math.round((busyMs / TICKS_A_SECOND / listeners) * roundsPerMs());
  for (let n = 0; n < listeners; n++) {
    const line = lateness.watch({ play: () => undefined } as unknown as Transport);
    const numbers = new Float64Array(NUMBERS);
    ticker.subscribe(() => {
      line.play(null);
      work(numbers, rounds);
    });
  }
  for (let trial = 0; trial < TRIALS; trial++) {
    const ran = await ranIn(TRIAL_MS);
    rounds = Math.max(1, Math.round((rounds * busyMs) / ran));
  }
  lateness.start();
  const threadMs = await ranIn(ms);
  const { late, frames } = lateness.stop();
  return { lateShare: late / Math.max(1, frames), threadMs };
}

/** Milliseconds a second that the busiest thread runs for in the next so many. */
async function ranIn(ms: number): Promise<number> {
  const [before, beganMs] = [threadTimes(), performance.now()];
  await sleep(ms);
  const ran = [...threadTimes()].map(([id, { ranMs }]) => ranMs - (before.get(id)?.ranMs ?? 0));
  return (Math.max(...ran) * 1000) / (performance.now() - beganMs);
}

/** How much of it is a millisecond of a processor's time, once it is compiled. */
function roundsPerMs(): number {
  const numbers = new Float64Array(NUMBERS);
  for (let n = 0; n < 2_000; n++) work(numbers, NUMBERS);
  const [rounds, before] = [20_000_000, process.cpuUsage()];
  for (let n = 0; n < rounds; n += NUMBERS) work(numbers, NUMBERS);
  return rounds / (process.cpuUsage(before).user / 1_000);
}

function work(numbers: Float64Array, rounds: number): void {
  for (let i = 0; i < rounds; i++) numbers[i % NUMBERS] = numbers[i % NUMBERS]! * 0.5 + i;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
