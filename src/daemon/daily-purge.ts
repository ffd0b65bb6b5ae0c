import { type Cancel, type Clock, delay } from '../base/clock.js';
import { errorOf } from '../base/errors.js';

/** How long a day is, in ms. */
export const DAY_MS = 86_400_000;
/** A pause between two deletions lets other work run. */
const PAUSE_MS = 20;

/** Deletes what is too old, at the start and daily. */
export class DailyPurge {
  readonly #clock: Clock;
  readonly #purge: () => Promise<unknown>;
  readonly #onError: (error: Error) => void;
  readonly #closed = new AbortController();
  #cancel: Cancel = () => undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock, purge: () => Promise<unknown>, onError: (error: Error) => void) {
    this.#clock = clock;
    this.#purge = purge;
    this.#onError = onError;
  }

  /** Aborts when nothing more is to be deleted. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  start(): void {
    if (this.closed.aborted) return;
    this.#cancel = this.#clock.schedule(this.#clock.nowMs() + DAY_MS, () => this.start());
    // One purge at a time.
    this.#running = this.#running.then(this.#purge).catch((error: unknown) => {
      if (!this.closed.aborted) this.#onError(errorOf(error));
    });
  }

  /** Deletes a few at a time, with pauses for other work. */
  async inBatches<T>(next: () => Promise<readonly T[]>, work: (batch: readonly T[]) => Promise<void>): Promise<void> {
    for (let batch = await next(); batch.length > 0 && !this.closed.aborted; batch = await next()) {
      await work(batch);
      await delay(this.#clock, PAUSE_MS, this.closed).catch(() => undefined);
    }
  }

  /** May be called twice. Resolves when no deletion runs. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#cancel();
    await this.#running;
  }
}
