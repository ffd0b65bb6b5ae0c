import { FRAME_MS } from '../audio/frame.js';
import type { Cancel, Clock } from './clock.js';

export interface TickerOptions {
  /** Length of a tick in milliseconds. Default 20. */
  intervalMs?: number;
  /**
   * How many late ticks may be made up in one go. Beyond this they are skipped and counted, so that a process
   * that stood still for a second does not send a second of audio in one burst. Default 5.
   */
  maxCatchUpTicks?: number;
}

export interface TickerStats {
  /** Ticks given to subscribers. */
  ticks: number;
  /** Ticks that were given more than one interval late and made up. */
  late: number;
  /** Ticks that were never given because the lag was beyond `maxCatchUpTicks`. */
  skipped: number;
}

/** Called once a tick. `skipped` counts the ticks left out just before this one (0 in normal running). */
export type TickListener = (skipped: number) => void;

/**
 * One drift-free pulse for all sessions of a thread: tick n is due at start + n * interval, however late tick
 * n - 1 came. Runs only while somebody listens. A listener that throws is reported and does not stop the others.
 */
export class Ticker {
  readonly intervalMs: number;
  readonly #clock: Clock;
  readonly #maxCatchUpTicks: number;
  readonly #onListenerError: (error: unknown) => void;
  readonly #listeners = new Set<TickListener>();
  readonly #stats: TickerStats = { ticks: 0, late: 0, skipped: 0 };
  #nextMs = 0;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, options: TickerOptions = {}, onListenerError: (error: unknown) => void = reportLater) {
    this.#clock = clock;
    this.intervalMs = options.intervalMs ?? FRAME_MS;
    this.#maxCatchUpTicks = options.maxCatchUpTicks ?? 5;
    this.#onListenerError = onListenerError;
  }

  get stats(): Readonly<TickerStats> {
    return { ...this.#stats };
  }

  subscribe(listener: TickListener): Cancel {
    this.#listeners.add(listener);
    if (this.#cancel === undefined) {
      this.#nextMs = this.#clock.nowMs() + this.intervalMs;
      this.#arm();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) {
        this.#cancel?.();
        this.#cancel = undefined;
      }
    };
  }

  #arm(): void {
    this.#cancel = this.#clock.schedule(this.#nextMs, () => {
      this.#run();
    });
  }

  #run(): void {
    const behind = Math.floor((this.#clock.nowMs() - this.#nextMs) / this.intervalMs);
    const skipped = Math.max(0, behind - this.#maxCatchUpTicks);
    this.#stats.skipped += skipped;
    const due = 1 + behind - skipped;
    this.#stats.late += due - 1;
    this.#nextMs += (1 + behind) * this.intervalMs;
    for (let tick = 0; tick < due; tick++) {
      this.#stats.ticks++;
      for (const listener of this.#listeners) {
        try {
          listener(tick === 0 ? skipped : 0);
        } catch (error) {
          this.#onListenerError(error);
        }
      }
    }
    if (this.#listeners.size > 0) this.#arm();
    else this.#cancel = undefined;
  }
}

/** A listener's fault surfaces as an uncaught error of the process, outside the tick it happened in. */
function reportLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
