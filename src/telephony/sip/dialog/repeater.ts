import type { Clock } from '../../../base/clock.js';
import { GIVE_UP_MS, T1_MS, T2_MS, Timers } from '../timers.js';

/**
 * Repeats a message until it is acknowledged: a 2xx until its ACK (RFC 3261, 13.3.1.4), a reliable provisional response
 * until its PRACK (RFC 3262, 3).
 */
export class Repeater {
  readonly #timers: Timers<'again' | 'end'>;

  /** Sends at once. @param longestMs maximum interval; default T2 */
  constructor(clock: Clock, send: () => void, onGivenUp: () => void, longestMs = T2_MS) {
    this.#timers = new Timers(clock);
    this.#timers.set('end', GIVE_UP_MS, () => {
      this.stop();
      onGivenUp();
    });
    const again = (waitMs: number): void =>
      this.#timers.set('again', waitMs, () => {
        again(Math.min(waitMs * 2, longestMs));
        send();
      });
    again(T1_MS);
    send();
  }

  get isRunning(): boolean {
    return this.#timers.isRunning('end');
  }

  /** May be called twice. */
  stop(): void {
    this.#timers.clearAll();
  }
}
