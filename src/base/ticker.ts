import type { Cancel, Clock } from './clock.js';

/** The default length of a tick in milliseconds: one frame of the media path. */
export const TICK_MS = 20;

export interface TickerOptions {
  /** Length of a tick in milliseconds. Default 20. */
  intervalMs?: number;
  /**
   * How many late ticks may be made up in one go. Beyond this they are skipped and counted, so that a process
   * that stood still for a second does not send a second of audio in one burst. Default 5.
   */
  maxCatchUpTicks?: number;
  /** Over how many instants of a tick listeners may be spread. Default 10: every 2 ms. */
  phases?: number;
  /** So many listeners share an instant before another one is used, each of which wakes the process. Default 16. */
  listenersPerPhase?: number;
}

export interface TickerStats {
  /** Ticks given, of each phase. */
  ticks: number;
  /** Ticks that were given more than one interval late and made up. */
  late: number;
  /** Ticks that were never given because the lag was beyond `maxCatchUpTicks`. */
  skipped: number;
}

/** Called once a tick. `skipped` counts the ticks left out just before this one (0 in normal running). */
export type TickListener = (skipped: number) => void;

/** Listeners that are called at the same instants: this long after the ticker's grid. */
interface Phase {
  readonly offsetMs: number;
  readonly listeners: Set<TickListener>;
  nextMs: number;
}

/**
 * Timers have whole milliseconds and come up to one early by a finer clock. A tick is given then: waiting for the rest of
 * it would wake the process once more for each tick.
 */
const EARLY_MS = 1;

/**
 * One drift-free pulse for all sessions of a thread, spread over the tick so that few wait for each other: each listener
 * has its phase for as long as it listens, and its tick n is due at start + n * interval, however late tick n - 1 came.
 * Phases are filled one after another, and evenly when all are full; one that nobody listens to does not wake the process.
 * A listener that throws is reported and does not stop the others.
 */
export class Ticker {
  readonly intervalMs: number;
  readonly #clock: Clock;
  readonly #maxCatchUpTicks: number;
  readonly #listenersPerPhase: number;
  readonly #onListenerError: (error: unknown) => void;
  readonly #phases: readonly Phase[];
  readonly #stats: TickerStats = { ticks: 0, late: 0, skipped: 0 };
  readonly #slower = new Map<number, Ticker>();
  #listening = 0;
  /** Where the phases are counted from: when somebody began to listen after nobody did. */
  #originMs = 0;
  #dueMs: number | null = null;
  #armed: { readonly atMs: number; readonly cancel: Cancel } | null = null;

  constructor(clock: Clock, options: TickerOptions = {}, onListenerError: (error: unknown) => void = reportLater) {
    this.#clock = clock;
    this.intervalMs = options.intervalMs ?? TICK_MS;
    this.#maxCatchUpTicks = options.maxCatchUpTicks ?? 5;
    this.#listenersPerPhase = options.listenersPerPhase ?? 16;
    this.#onListenerError = onListenerError;
    this.#phases = spread(options.phases ?? 10).map((share) => ({
      offsetMs: share * this.intervalMs,
      listeners: new Set(),
      nextMs: 0,
    }));
  }

  get stats(): Readonly<TickerStats> {
    return { ...this.#stats };
  }

  /** When the tick was due that is being given; null between ticks. */
  get dueMs(): number | null {
    return this.#dueMs;
  }

  subscribe(listener: TickListener): Cancel {
    const phase = this.#place();
    if (phase.listeners.size === 0) this.#open(phase);
    phase.listeners.add(listener);
    this.#listening++;
    this.#arm();
    return () => {
      if (!phase.listeners.delete(listener)) return;
      this.#listening--;
      this.#arm();
    };
  }

  /** Ticks so many times as long, for what need not be looked at in each: the same one whenever it is asked for. */
  every(ticks: number): Ticker {
    const made =
      this.#slower.get(ticks) ??
      new Ticker(this.#clock, { intervalMs: ticks * this.intervalMs }, this.#onListenerError);
    this.#slower.set(ticks, made);
    return made;
  }

  /** The first phase with room for one more: those that come later run empty when there are fewer listeners. */
  #place(): Phase {
    const room = Math.max(this.#listenersPerPhase, Math.ceil((this.#listening + 1) / this.#phases.length));
    return this.#phases.find(({ listeners }) => listeners.size < room) as Phase;
  }

  #open(phase: Phase): void {
    const nowMs = this.#clock.nowMs();
    if (this.#listening === 0) this.#originMs = nowMs;
    const firstMs = this.#originMs + phase.offsetMs;
    phase.nextMs = firstMs + (Math.floor((nowMs - firstMs) / this.intervalMs) + 1) * this.intervalMs;
  }

  /** The phase that is due next of those that somebody listens to. */
  #next(): Phase | null {
    let next: Phase | null = null;
    for (const phase of this.#phases) {
      if (phase.listeners.size > 0 && (next === null || phase.nextMs < next.nextMs)) next = phase;
    }
    return next;
  }

  #arm(): void {
    if (this.#dueMs !== null) return; // done behind the ticks that are being given
    const atMs = this.#next()?.nextMs;
    if (atMs === this.#armed?.atMs) return;
    this.#armed?.cancel();
    this.#armed = atMs === undefined ? null : { atMs, cancel: this.#clock.schedule(atMs, () => this.#run()) };
  }

  /** Gives all ticks that are due, in the order in which they were. */
  #run(): void {
    this.#armed = null;
    const nowMs = this.#clock.nowMs();
    for (let phase = this.#next(); phase !== null && phase.nextMs <= nowMs + EARLY_MS; phase = this.#next()) {
      this.#tick(phase, nowMs);
    }
    this.#dueMs = null;
    this.#arm();
  }

  #tick(phase: Phase, nowMs: number): void {
    const behind = Math.max(0, Math.floor((nowMs - phase.nextMs) / this.intervalMs));
    const skipped = Math.max(0, behind - this.#maxCatchUpTicks);
    this.#dueMs = phase.nextMs + skipped * this.intervalMs;
    phase.nextMs = this.#dueMs + this.intervalMs;
    this.#stats.ticks++;
    this.#stats.skipped += skipped;
    if (behind > 0) this.#stats.late++;
    for (const listener of phase.listeners) {
      try {
        listener(skipped);
      } catch (error) {
        this.#onListenerError(error);
      }
    }
  }
}

/** The beginnings of so many parts of 1, in an order in which the first few are far from each other. */
function spread(count: number): number[] {
  const golden = (Math.sqrt(5) - 1) / 2;
  const order = Array.from({ length: count }, (_, index) => (index * golden) % 1);
  const sorted = order.toSorted((a, b) => a - b);
  return order.map((place) => sorted.indexOf(place) / count);
}

/** A listener's fault surfaces as an uncaught error of the process, outside the tick it happened in. */
function reportLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
