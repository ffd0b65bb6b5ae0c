import type { Cancel, Clock } from '../../base/clock.js';

/** Round trips are estimated at this (RFC 3261, 17.1.1.1), in milliseconds. */
export const T1_MS = 500;
/** Longest wait between two retransmissions but of INVITE. */
export const T2_MS = 4000;
/** What was sent is gone from the network after this. */
export const T4_MS = 5000;
/** A transaction is given up after this. */
export const GIVE_UP_MS = 64 * T1_MS;

/** Timers by name on one clock: setting one that runs sets it anew. */
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
