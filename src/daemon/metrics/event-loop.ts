import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../../clock/clock.js';
import type { Sample } from './registry.js';

/** How often the event loop is looked at, in milliseconds; a delay counts from there on. */
const LOOK_MS = 20;
/** The shortest window of quantiles, in milliseconds. */
const WINDOW_MS = 15_000;
const QUANTILES = [0.5, 0.99, 1] as const;

/**
 * How late the event loop is, as a summary: quantiles of the last whole window, sum and count of all windows. A window
 * ends with the first reading that finds it long enough, so that several readers see the same one.
 */
export class EventLoopDelay {
  readonly #delay = monitorEventLoopDelay({ resolution: LOOK_MS });
  readonly #clock: Clock;
  #quantiles: readonly number[] | null = null;
  #sumS = 0;
  #count = 0;
  #windowFromMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#windowFromMs = clock.nowMs();
    this.#delay.enable();
  }

  /** Lines of a Prometheus summary by the ending of their names. */
  get summary(): { quantiles: readonly Sample[]; sum: number; count: number } {
    this.#endWindow();
    const quantiles = this.#quantiles ?? this.#look();
    return {
      quantiles: QUANTILES.map((quantile, at) => ({
        labels: { quantile: String(quantile) },
        value: quantiles[at] ?? 0,
      })),
      sum: this.#sumS,
      count: this.#count,
    };
  }

  /** May be called twice. */
  close(): void {
    this.#delay.disable();
  }

  #endWindow(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#windowFromMs < WINDOW_MS) return;
    this.#windowFromMs = nowMs;
    this.#quantiles = this.#look();
    const { count, mean } = this.#delay;
    this.#count += count;
    if (count > 0) this.#sumS += count * late(mean);
    this.#delay.reset();
  }

  #look(): readonly number[] {
    return QUANTILES.map((quantile) => late(quantile === 1 ? this.#delay.max : this.#delay.percentile(quantile * 100)));
  }
}

/** Nanoseconds between two looks as the seconds that the second one was late. */
function late(ns: number): number {
  return Math.max(0, ns / 1e9 - LOOK_MS / 1000) || 0;
}
