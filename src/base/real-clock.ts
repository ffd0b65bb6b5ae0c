import type { Cancel, Clock } from './clock.js';

/** Wall time, monotonic (`performance.now`). */
export class RealClock implements Clock {
  readonly virtual = false;
  readonly #startMs = performance.now();

  nowMs(): number {
    return performance.now() - this.#startMs;
  }

  schedule(atMs: number, fn: () => void): Cancel {
    const timer = setTimeout(fn, Math.max(0, atMs - this.nowMs()));
    return () => {
      clearTimeout(timer);
    };
  }

  settle<T>(work: Promise<T>): Promise<T> {
    return work;
  }
}

/** Milliseconds since 1970, for dates. It may jump, so durations must not depend on it. */
export function nowUnixMs(): number {
  return Date.now();
}

/** Whole seconds since 1970, the form of timestamps in REST, webhooks and the database. */
export function unixSeconds(unixMs: number): number {
  return Math.floor(unixMs / 1000);
}
