import type { Clock } from '../../../src/base/clock.js';

/** A call at a carrier, or a leg of one, whose sound moves 20 ms a tick. */
export interface Sounding {
  readonly isOver: boolean;
  tick(): void;
}

/** Sound moves at a carrier while there are calls. */
export class SoundTicks {
  readonly #clock: Clock;
  readonly #all: () => Iterable<Sounding>;
  #isTicking = false;

  constructor(clock: Clock, all: () => Iterable<Sounding>) {
    this.#clock = clock;
    this.#all = all;
  }

  /** There is a call more. */
  start(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#next(this.#clock.nowMs() + 20);
  }

  #next(atMs: number): void {
    this.#clock.schedule(atMs, () => {
      const under = [...this.#all()].filter(({ isOver }) => !isOver);
      for (const one of under) one.tick();
      this.#isTicking = under.length > 0;
      if (this.#isTicking) this.#next(atMs + 20);
    });
  }
}
