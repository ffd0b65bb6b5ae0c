import type { Ticker } from '../../dist/base/ticker.js';
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
  readonly #ticker: Ticker;
  readonly #nowMs: () => number;
  /** How late the frames of each line were, ms. */
  readonly #behind: number[][] = [];
  #skipped = 0;
  #isOn = false;

  constructor(ticker: Ticker, nowMs: () => number) {
    this.#ticker = ticker;
    this.#nowMs = nowMs;
    // What one phase of the tick is late for the others are.
    ticker.subscribe((skipped) => {
      if (this.#isOn) this.#skipped += skipped;
    });
  }

  /** The same line; what is played on it is timed. The first frame of an answer, which comes between ticks, is not. */
  watch<T extends Transport>(line: T): T {
    const behind: number[] = [];
    this.#behind.push(behind);
    const play = line.play.bind(line);
    line.play = (frame, isBackground) => {
      play(frame, isBackground);
      const { dueMs } = this.#ticker;
      if (this.#isOn && dueMs !== null) behind.push(this.#nowMs() - dueMs);
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
    const sorted = Float64Array.from(this.#behind.flat()).sort();
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return {
      frames: sorted.length + skipped,
      late,
      skipped,
      p50: at(0.5),
      p99: at(0.99),
      max: at(1),
    };
  }
}
