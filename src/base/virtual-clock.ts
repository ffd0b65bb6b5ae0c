import type { Cancel, Clock } from './clock.js';

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly fn: () => void;
  cancelled: boolean;
}

/** Longest real wait before the clock looks again whether remote work is done, in ms. */
const LOOK_AGAIN_MS = 5;

/**
 * Time that moves only when `advanceTo` and the like are called. Entries due at the same instant run in the order in
 * which they were scheduled. Before time moves to the next instant, promise jobs and immediates run to completion, and
 * due work that was passed to `settle` is awaited. With a real clock to follow, remote work takes the time that it really
 * takes, and everything else takes none.
 */
export class VirtualClock implements Clock {
  readonly virtual = true;
  #nowMs = 0;
  #order = 0;
  #entries: Entry[] = [];
  readonly #holds = new Set<{ atMs: number; settled: Promise<void> }>();
  readonly #real: Clock | null;
  /** Works in progress that take real time, and what both clocks showed when the first of them began. */
  #followed = 0;
  #followedFrom = { realMs: 0, nowMs: 0 };

  /** @param real the clock that `follow` follows. Default none: remote work is impossible */
  constructor(real: Clock | null = null) {
    this.#real = real;
  }

  /** Whether `follow` can be called. */
  get canFollow(): boolean {
    return this.#real !== null;
  }

  nowMs(): number {
    if (this.#followed === 0 || this.#real === null) return this.#nowMs;
    const { realMs, nowMs } = this.#followedFrom;
    return Math.max(this.#nowMs, nowMs + this.#real.nowMs() - realMs);
  }

  /**
   * Time passes at its real rate until the returned function is called: remote work is in progress.
   * @throws Error if there is no real clock
   */
  follow(): Cancel {
    if (this.#real === null) throw new Error('this virtual clock has no real clock to follow');
    if (this.#followed++ === 0) this.#followedFrom = { realMs: this.#real.nowMs(), nowMs: this.#nowMs };
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const nowMs = this.nowMs();
      if (--this.#followed === 0) this.#nowMs = nowMs;
    };
  }

  /** Waiting entries; 0 once everything is closed. */
  get pending(): number {
    return this.#entries.length + this.#holds.size;
  }

  schedule(atMs: number, fn: () => void): Cancel {
    const entry: Entry = { atMs: Math.max(atMs, this.nowMs()), order: this.#order++, fn, cancelled: false };
    insert(this.#entries, entry);
    return () => {
      if (entry.cancelled) return;
      entry.cancelled = true;
      const index = this.#entries.indexOf(entry);
      if (index >= 0) this.#entries.splice(index, 1);
    };
  }

  settle<T>(work: Promise<T>, atMs: number): Promise<T> {
    const dueMs = Math.max(atMs, this.nowMs());
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

  /** Runs everything due up to and including `atMs`, then stops at `atMs`. */
  async advanceTo(atMs: number): Promise<void> {
    await this.#rest();
    for (let next = this.#entries[0]; next !== undefined && next.atMs <= atMs; next = this.#entries[0]) {
      await this.#step(next);
    }
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  async advanceBy(ms: number): Promise<void> {
    await this.advanceTo(this.nowMs() + ms);
  }

  /** Runs until `done` is true, nothing is left, or `limitMs` is reached. Returns whether `done` became true. */
  async runUntil(done: () => boolean, limitMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    await this.#rest();
    while (!done()) {
      const next = this.#entries[0];
      if (this.#followed > 0 && (next === undefined || next.atMs > this.nowMs())) {
        await this.#wait(next);
        continue;
      }
      if (next === undefined || next.atMs > limitMs) return false;
      await this.#step(next);
    }
    return true;
  }

  /** Lets real time pass, until the next entry is due at most. */
  #wait(next: Entry | undefined): Promise<void> {
    const real = this.#real as Clock;
    const ms = Math.min(LOOK_AGAIN_MS, (next?.atMs ?? Number.POSITIVE_INFINITY) - this.nowMs());
    return new Promise((resolve) => void real.schedule(real.nowMs() + Math.max(0, ms), resolve));
  }

  async #step(next: Entry): Promise<void> {
    for (const hold of this.#holds) if (hold.atMs <= next.atMs) await hold.settled;
    // While this waited, the entry may have been cancelled, or an earlier one added.
    if (this.#entries[0] !== next) return;
    this.#entries.shift();
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    next.fn();
    await this.#rest();
  }

  /** Waits for one turn of the event loop, after which promise jobs of the last entry have run. */
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
