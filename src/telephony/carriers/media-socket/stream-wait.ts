import type { Clock } from '../../../base/clock.js';

/** Waits for the next stream of a call. */
export class StreamWait {
  readonly #clock: Clock;
  readonly #waiting = new Set<(hasBegun: boolean) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a stream begins within a time. Never rejects. */
  within(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.schedule(this.#clock.nowMs() + ms, () => tell(false));
      const tell = (hasBegun: boolean): void => {
        cancel();
        this.#waiting.delete(tell);
        resolve(hasBegun);
      };
      this.#waiting.add(tell);
    });
  }

  /** A stream has begun, or none will. */
  tell(hasBegun: boolean): void {
    for (const tell of Array.from(this.#waiting)) tell(hasBegun);
  }
}
