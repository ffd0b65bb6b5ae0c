/**
 * A fixed number of slots, first come, first served. A speaker takes one slot per clause, so that many sessions share
 * few slots in turn.
 */
export class Slots {
  readonly #free: number[];
  readonly #waiting: { take: (slot: number) => void; refuse: (reason: Error) => void }[] = [];
  #closedBy: Error | undefined;

  constructor(size: number) {
    this.#free = Array.from({ length: size }, (_, i) => i);
  }

  /** How many wait for a place. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * @returns the number of the place, 0 to size - 1, which must be given back
   * Rejects with the signal's reason when it is aborted first, with `close`'s when the places are closed.
   */
  take(signal: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#closedBy !== undefined) {
        reject(this.#closedBy ?? (signal.reason as Error));
        return;
      }
      const slot = this.#free.shift();
      if (slot !== undefined) {
        resolve(slot);
        return;
      }
      const leave = (): void => {
        signal.removeEventListener('abort', onAbort);
      };
      const entry = {
        take: (given: number): void => {
          leave();
          resolve(given);
        },
        refuse: (reason: Error): void => {
          leave();
          reject(reason);
        },
      };
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(entry);
    });
  }

  give(slot: number): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(slot);
    else next.take(slot);
  }

  /** Refuses all who wait and all who come. May be called twice. */
  close(reason: Error): void {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = reason;
    for (const entry of this.#waiting.splice(0)) entry.refuse(reason);
  }
}
