import { median } from './numbers.js';

/** Somebody who does a piece of work. */
export type Contender = readonly [name: string, once: () => void];

/** Long enough for the timer, short enough that the rounds of all rivals see the same machine. */
const ROUND_MS = 5;
/** WebAssembly is compiled once more, and better, when it has run for a while: four times faster for Opus. */
const WARM_MS = 300;

/**
 * Microseconds of processor time that each takes for its work, as medians of rounds. They are run in turns, in one
 * process, so that a busy machine slows them alike.
 */
export function race(contenders: readonly Contender[], rounds: number): number[] {
  const all = contenders.map(([, once]) => ({ once, repeats: calibrated(once), times: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    for (const { once, repeats, times } of all) times.push((timeOf(once, repeats) / repeats) * 1000);
  }
  return all.map(({ times }) => median(times));
}

/** Rows of a table: name, microseconds, times the first. */
export function raceRows(contenders: readonly Contender[], rounds: number): (string | number)[][] {
  const us = race(contenders, rounds);
  return contenders.map(([name], at) => [name, us[at] ?? Number.NaN, (us[at] ?? Number.NaN) / (us[0] ?? Number.NaN)]);
}

/** How often it is to be repeated, found when its code is compiled. */
function calibrated(once: () => void): number {
  for (let spentMs = 0; spentMs < WARM_MS;) spentMs += timeOf(once, 10);
  let repeats = 1;
  while (timeOf(once, repeats) < ROUND_MS) repeats *= 2;
  return repeats;
}

/** Milliseconds of processor time: what other programs take does not count. */
function timeOf(once: () => void, repeats: number): number {
  const start = process.cpuUsage();
  for (let n = 0; n < repeats; n++) once();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Something loud with many partials: the cost of no kernel depends on much more than that. */
export function sound(length: number): Int16Array {
  return Int16Array.from({ length }, (_, at) => Math.round(9_000 * Math.sin(at * 0.1 + (at * at) / 3_000)));
}
