import type { Cancel, Clock } from './clock.js';

/** Default length of a tick in milliseconds: one frame of the media path. */
export const TICK_MS = 20;

export interface TickerOptions {
  /** Length of a tick in milliseconds. Default 20. */
  intervalMs?: number;
  /**
   * Most late ticks that run in one burst. Further ones are skipped and counted, so that a process that stalled for a
   * second does not send a second of audio at once. Default 5.
   */
  maxCatchUpTicks?: number;
  /** Instants per tick over which listeners are spread. Default 10: every 2 ms. */
  phases?: number;
  /** Listeners per instant before another instant is used; each instant in use wakes the process. Default 16. */
  listenersPerPhase?: number;
}

export interface TickerStats {
  /** Ticks run, over all phases. */
  ticks: number;
  /** Ticks run more than one interval late. */
  late: number;
  /** Ticks skipped because the lag exceeded `maxCatchUpTicks`. */
  skipped: number;
}

/** Called once per tick. `skipped` counts the ticks skipped just before this one; normally 0. */
export type TickListener = (skipped: number) => void;

/** Listeners that are called at the same instants, at an offset from the ticker's grid. */
interface Phase {
  readonly offsetMs: number;
  readonly listeners: Set<TickListener>;
  nextMs: number;
}

/**
 * Timers fire in whole milliseconds, up to one early by a finer clock. The tick runs then, because waiting for the rest
 * would wake the process twice per tick.
 */
const EARLY_MS = 1;

/**
 * One drift-free pulse for all sessions of a thread. Listeners are spread over the tick, so that few wait for each other.
 * Each listener keeps its phase, and its tick n is due at start + n * interval, however late tick n - 1 ran. Phases fill
 * up one after another, and evenly once all are full; a phase without listeners does not wake the process. An error of
 * one listener is reported and does not stop the others.
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
  /** Origin of the grid: the last time the first listener subscribed. */
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

  /** When the running tick was due; null between ticks. */
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

  /** A ticker with an interval of `ticks` ticks. The same argument returns the same ticker. */
  every(ticks: number): Ticker {
    const made =
      this.#slower.get(ticks) ??
      new Ticker(this.#clock, { intervalMs: ticks * this.intervalMs }, this.#onListenerError);
    this.#slower.set(ticks, made);
    return made;
  }

  /** The first phase with room, so that later phases stay empty when there are few listeners. */
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

  /** The phase with listeners that is due next. */
  #next(): Phase | null {
    let next: Phase | null = null;
    for (const phase of this.#phases) {
      if (phase.listeners.size > 0 && (next === null || phase.nextMs < next.nextMs)) next = phase;
    }
    return next;
  }

  #arm(): void {
    if (this.#dueMs !== null) return; // `#run` arms the timer after its ticks
    const atMs = this.#next()?.nextMs;
    if (atMs === this.#armed?.atMs) return;
    this.#armed?.cancel();
    this.#armed = atMs === undefined ? null : { atMs, cancel: this.#clock.schedule(atMs, () => this.#run()) };
  }

  /** Runs all due ticks in order. */
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

/** The offsets of `count` equal parts of 1, ordered so that the first few lie far apart. */
function spread(count: number): number[] {
  const golden = (Math.sqrt(5) - 1) / 2;
  const order = Array.from({ length: count }, (_, index) => (index * golden) % 1);
  const sorted = order.toSorted((a, b) => a - b);
  return order.map((place) => sorted.indexOf(place) / count);
}

/** Reports a listener's error as an uncaught error of the process, outside the tick. */
function reportLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
