import type { Cancel, Clock } from '../base/clock.js';

/**
 * When so much time has passed since `startMs`, on the clock that told it. Of a sum of times with fractions less may be left
 * when the start is taken off again: whoever rings then is told that it is not yet time, and rings again, for ever where
 * time stands still meanwhile.
 */
export function momentAfter(startMs: number, dueMs: number): number {
  const atMs = startMs + dueMs;
  return atMs - startMs < dueMs ? atMs * (1 + Number.EPSILON) : atMs;
}

/** One call back at a time that moves. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #atMs: number | undefined;
  #cancel: Cancel = () => undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** @param atMs on the clock; undefined = not at all */
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
