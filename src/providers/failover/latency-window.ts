/** Number of recent latencies that are kept. */
const WINDOW = 200;
/** With fewer samples, the default applies. */
const ENOUGH = 10;

/** Bounds of an adaptive deadline, in milliseconds. */
export interface DeadlineBounds {
  /** Applies until there are enough samples. */
  defaultMs: number;
  minMs: number;
  maxMs: number;
}

/** Deadline as a multiple of the 99th percentile. */
const SLACK = 1.25;

/** A sliding window of recent latencies, and the adaptive deadline derived from it. */
export class LatencyWindow {
  readonly #times: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#times[this.#next] = ms;
    this.#next = (this.#next + 1) % WINDOW;
  }

  /** The 99th percentile in milliseconds; null = too few samples. */
  get p99Ms(): number | null {
    if (this.#times.length < ENOUGH) return null;
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? null;
  }

  /** Whether the usual latency exceeds the longest deadline. */
  isSlowerThan({ maxMs }: DeadlineBounds): boolean {
    const { p99Ms } = this;
    return p99Ms !== null && p99Ms * SLACK > maxMs;
  }

  deadlineMs({ defaultMs, minMs, maxMs }: DeadlineBounds): number {
    const { p99Ms } = this;
    return p99Ms === null ? defaultMs : Math.min(maxMs, Math.max(minMs, p99Ms * SLACK));
  }
}
