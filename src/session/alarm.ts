import type { Cancel, Clock } from '../clock/clock.js';

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
