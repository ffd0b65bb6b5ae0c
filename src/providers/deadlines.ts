import type { Cancel, Clock } from '../base/clock.js';
import { ParleyError } from '../base/errors.js';

/**
 * A sequence of deadlines for one request; each phase replaces the one before. `signal` aborts with the reason when a
 * phase times out or the caller's signal aborts.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #provider: string;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  #cancel: Cancel | undefined;

  constructor(clock: Clock, provider: string, outer: AbortSignal) {
    this.#clock = clock;
    this.#provider = provider;
    this.#outer = outer;
    if (outer.aborted) this.#onOuterAbort();
    else outer.addEventListener('abort', this.#onOuterAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts a phase: `signal` aborts with PROVIDER_TIMEOUT unless the next call comes within `timeoutMs`. */
  within(timeoutMs: number): void {
    this.#cancel?.();
    if (this.signal.aborted) return;
    this.#cancel = this.#clock.schedule(this.#clock.nowMs() + timeoutMs, () => {
      this.#controller.abort(new ParleyError('PROVIDER_TIMEOUT', { provider: this.#provider, timeoutMs }));
    });
  }

  /** Suspends the timeout until the next `within`. */
  pause(): void {
    this.#cancel?.();
  }

  /** Stops the timer and aborts `signal`. Idempotent. */
  end(): void {
    this.#cancel?.();
    this.#outer.removeEventListener('abort', this.#onOuterAbort);
    if (!this.signal.aborted) this.#controller.abort(new DOMException('The request is over', 'AbortError'));
  }

  readonly #onOuterAbort = (): void => {
    this.#cancel?.();
    this.#controller.abort(this.#outer.reason);
  };
}
