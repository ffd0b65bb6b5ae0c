import type { Cancel, Clock } from '../../base/clock.js';

/** Estimated round-trip time (RFC 3261, 17.1.1.1), in milliseconds. */
export const T1_MS = 500;
/** Maximum retransmission interval, except for INVITE. */
export const T2_MS = 4000;
/** Maximum time that a message stays in the network. */
export const T4_MS = 5000;
/** Timeout of a transaction. */
export const GIVE_UP_MS = 64 * T1_MS;

/** Named timers on one clock; setting a running one restarts it. */
export class Timers<Name extends string> {
  readonly #clock: Clock;
  readonly #running = new Map<Name, Cancel>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  set(name: Name, ms: number, fire: () => void): void {
    this.clear(name);
    const cancel = this.#clock.schedule(this.#clock.nowMs() + ms, () => {
      this.#running.delete(name);
      fire();
    });
    this.#running.set(name, cancel);
  }

  isRunning(name: Name): boolean {
    return this.#running.has(name);
  }

  clear(name: Name): void {
    this.#running.get(name)?.();
    this.#running.delete(name);
  }

  clearAll(): void {
    for (const cancel of this.#running.values()) cancel();
    this.#running.clear();
  }
}
