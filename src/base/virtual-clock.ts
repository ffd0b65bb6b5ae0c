import type { Cancel, Clock } from './clock.js';

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly fn: () => void;
  cancelled: boolean;
}

/**
 * Time that moves only when it is told to. Entries due at the same instant run in the order they were scheduled.
 * Between two instants everything that the first one set going inside the process comes to rest: promise jobs
 * and immediates run out, and work handed to `settle` that is due is awaited.
 */
export class VirtualClock implements Clock {
  readonly virtual = true;
  #nowMs = 0;
  #order = 0;
  #entries: Entry[] = [];
  readonly #holds = new Set<{ atMs: number; settled: Promise<void> }>();

  nowMs(): number {
    return this.#nowMs;
  }

  /** Entries that are waiting: none once everything that was started has been closed. */
  get pending(): number {
    return this.#entries.length + this.#holds.size;
  }

  schedule(atMs: number, fn: () => void): Cancel {
    const entry: Entry = { atMs: Math.max(atMs, this.#nowMs), order: this.#order++, fn, cancelled: false };
    insert(this.#entries, entry);
    return () => {
      if (entry.cancelled) return;
      entry.cancelled = true;
      const index = this.#entries.indexOf(entry);
      if (index >= 0) this.#entries.splice(index, 1);
    };
  }

  settle<T>(work: Promise<T>, atMs: number): Promise<T> {
    const dueMs = Math.max(atMs, this.#nowMs);
    const hold = {
      atMs: dueMs,
      settled: work.then(
        () => undefined,
        () => undefined,
      ),
    };
    this.#holds.add(hold);
    return new Promise<T>((resolve, reject) => {
      this.schedule(dueMs, () => {
        this.#holds.delete(hold);
        work.then(resolve, reject);
      });
    });
  }

  /** Runs everything due up to and including `atMs`, then stands at `atMs`. */
  async advanceTo(atMs: number): Promise<void> {
    await this.#rest();
    for (let next = this.#entries[0]; next !== undefined && next.atMs <= atMs; next = this.#entries[0]) {
      await this.#step(next);
    }
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  async advanceBy(ms: number): Promise<void> {
    await this.advanceTo(this.#nowMs + ms);
  }

  /** Runs until `done` is true, nothing is left, or `limitMs` is reached. Returns whether `done` became true. */
  async runUntil(done: () => boolean, limitMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    await this.#rest();
    while (!done()) {
      const next = this.#entries[0];
      if (next === undefined || next.atMs > limitMs) return false;
      await this.#step(next);
    }
    return true;
  }

  async #step(next: Entry): Promise<void> {
    for (const hold of this.#holds) if (hold.atMs <= next.atMs) await hold.settled;
    // Awaiting may have let a cancel through, or an earlier entry in.
    if (this.#entries[0] !== next) return;
    this.#entries.shift();
    this.#nowMs = next.atMs;
    next.fn();
    await this.#rest();
  }

  /** One turn of the event loop: promise jobs that the last entry started have then run out. */
  #rest(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

function insert(entries: Entry[], entry: Entry): void {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = entries[middle] as Entry;
    if (other.atMs < entry.atMs || (other.atMs === entry.atMs && other.order < entry.order)) low = middle + 1;
    else high = middle;
  }
  entries.splice(low, 0, entry);
}
