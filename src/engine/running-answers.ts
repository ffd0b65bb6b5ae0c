import type { Clock } from '../base/clock.js';
import { waitAtMost } from '../base/deadlines.js';
import { ParleyError } from '../base/errors.js';

/** Time for readers to notice that the engine closes. */
const READERS_MS = 2_000;

/** Running answers outside sessions. `close` aborts them. */
export class RunningAnswers {
  readonly #clock: Clock;
  readonly #running = new Map<AbortController, Promise<void>>();
  #closed = false;

  /** @param clock a real-time clock */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Passes an answer on.
   * @param start gets a signal that aborts when `signal` does, and on `close`
   * @throws ParleyError SESSION_CLOSED
   */
  async *pass<T>(
    signal: AbortSignal,
    start: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    const abort = new AbortController();
    const onAbort = (): void => abort.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    let over: () => void = () => undefined;
    this.#running.set(abort, new Promise((resolve) => (over = resolve)));
    try {
      yield* start(abort.signal);
    } finally {
      this.#running.delete(abort);
      over();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = new ParleyError('SESSION_CLOSED');
    const over = [...this.#running].map(([abort, isOver]) => {
      abort.abort(closed);
      return isOver;
    });
    // An answer is aborted when its reader asks for the next piece; a reader who does not is not waited for.
    await waitAtMost(this.#clock, READERS_MS, Promise.all(over));
  }
}
