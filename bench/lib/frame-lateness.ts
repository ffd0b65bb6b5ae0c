import type { Ticker } from '../../dist/clock/ticker.js';
import type { Transport } from '../../dist/transports/transport.js';
import { quantile } from './numbers.js';

/** How much later than planned the agent's frames were given to their lines. */
export interface Lateness {
  frames: number;
  /** Frames more than 5 ms later than the line's frames usually are, and ones that were never given. */
  late: number;
  /** Those of them that were never given, because the ticker had fallen behind too far. */
  skipped: number;
  /** Behind the tick, ms; the last session of a thread gets its frame when the others have theirs. */
  p50: number;
  p99: number;
  max: number;
}

const LATE_MS = 5;

/**
 * Watches when frames are given. A line has its place in each tick: what a listener notices is a frame that is later
 * than the line's other ones, so each is compared with the median of its own line.
 */
export class FrameLateness {
  readonly #nowMs: () => number;
  readonly #behind: number[][] = [];
  #dueMs: number;
  #isTick = false;
  #skipped = 0;
  #isOn = false;

  /** To be made before any session. */
  constructor(ticker: Ticker, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#dueMs = nowMs();
    ticker.subscribe((skipped) => {
      this.#dueMs += (1 + skipped) * ticker.intervalMs;
      if (this.#isOn) this.#skipped += skipped;
      this.#isTick = true;
      // All of a tick is one job.
      queueMicrotask(() => (this.#isTick = false));
    });
  }

  /** The same line; what is played on it is timed. The first frame of an answer, which comes between ticks, is not. */
  watch<T extends Transport>(line: T): T {
    const behind: number[] = [];
    this.#behind.push(behind);
    const play = line.play.bind(line);
    line.play = (frame) => {
      play(frame);
      if (this.#isOn && this.#isTick) behind.push(this.#nowMs() - this.#dueMs);
    };
    return line;
  }

  start(): void {
    for (const behind of this.#behind) behind.length = 0;
    this.#skipped = 0;
    this.#isOn = true;
  }

  /** What was seen since the start. */
  stop(): Lateness {
    this.#isOn = false;
    const skipped = this.#skipped * this.#behind.length;
    let late = skipped;
    for (const behind of this.#behind) {
      const limitMs = quantile(behind, 0.5) + LATE_MS;
      late += behind.filter((ms) => ms > limitMs).length;
    }
    const all = this.#behind.flat();
    const sorted = Float64Array.from(all).sort();
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return {
      ...{ frames: all.length + skipped, late, skipped },
      ...{ p50: at(0.5), p99: at(0.99), max: at(1) },
    };
  }
}
