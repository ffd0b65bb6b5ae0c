import type { Cancel, Clock } from '../base/clock.js';

/**
 * The earliest time on the clock at which `dueMs` have passed since `startMs`. Floating-point sums can be slightly too
 * small: subtracting the start again gives less than `dueMs`, so the alarm would ring too early, again and again, and
 * in virtual time forever.
 */
export function momentAfter(startMs: number, dueMs: number): number {
  const atMs = startMs + dueMs;
  return atMs - startMs < dueMs ? atMs * (1 + Number.EPSILON) : atMs;
}

/** One timer that can be moved. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #atMs: number | undefined;
  #cancel: Cancel = () => undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** @param atMs on the clock; undefined = off */
  set(atMs: number | undefined): void {
    if (atMs === this.#atMs) return;
    this.#cancel();
    this.#atMs = atMs;
    if (atMs === undefined) return;
    this.#cancel = this.#clock.schedule(atMs, () => {
      this.#atMs = undefined;
      this.#ring();
    });
  }
}
