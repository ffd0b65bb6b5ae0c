/** Latest times that tell how long something usually takes. */
const WINDOW = 200;
/** With fewer, nobody knows. */
const ENOUGH = 10;

/** What bounds a deadline, in milliseconds. */
export interface DeadlineBounds {
  /** As long as too little is known. */
  defaultMs: number;
  minMs: number;
  maxMs: number;
}

/** A deadline lies so much above the 99th percentile. */
const SLACK = 1.25;

/** How long the latest attempts took, and the deadline that follows from it. */
export class LatencyWindow {
  readonly #times: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#times[this.#next] = ms;
    this.#next = (this.#next + 1) % WINDOW;
  }

  /** The 99th percentile in milliseconds; null = too little is known. */
  get p99Ms(): number | null {
    if (this.#times.length < ENOUGH) return null;
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? null;
  }

  /** Whether it usually takes longer than the longest deadline. */
  isSlowerThan({ maxMs }: DeadlineBounds): boolean {
    const { p99Ms } = this;
    return p99Ms !== null && p99Ms * SLACK > maxMs;
  }

  deadlineMs({ defaultMs, minMs, maxMs }: DeadlineBounds): number {
    const { p99Ms } = this;
    return p99Ms === null ? defaultMs : Math.min(maxMs, Math.max(minMs, p99Ms * SLACK));
  }
}
