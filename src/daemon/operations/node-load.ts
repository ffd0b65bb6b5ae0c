import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import type { Clock } from '../../base/clock.js';

export interface NodeLoadOptions {
  clock: Clock;
  sessions: () => number;
  /** The limit of sessions. */
  maxSessions: number;
  /** The delay of the event loop that one of a hundred readings exceeds, in seconds. */
  lateS: () => number;
  /** The event loops of media threads. */
  threads: () => readonly EventLoop[];
}

/** An event loop of this process. */
export interface EventLoop {
  eventLoopUtilization: (from?: EventLoopUtilization) => EventLoopUtilization;
}

/** A delay at which users hear gaps: the load is 1. */
const GAPS_S = 0.1;
/** The shortest window of shares of time, in ms: several readers see the same one. */
const WINDOW_MS = 5_000;

/** How busy this node is, from 0 to 1, for autoscaling: the scarcest of what calls need. */
export class NodeLoad {
  readonly #options: NodeLoadOptions;
  readonly #windows = new WeakMap<EventLoop, { fromMs: number; from: EventLoopUtilization; share: number | null }>();

  constructor(options: NodeLoadOptions) {
    this.#options = options;
  }

  get value(): number {
    const { sessions, maxSessions, lateS, threads } = this.#options;
    const busy = [performance, ...threads()].map((loop) => this.#busy(loop));
    return Math.min(1, Math.max(sessions() / maxSessions, lateS() / GAPS_S, ...busy));
  }

  /** The share of the last complete window in which an event loop was busy. */
  #busy(loop: EventLoop): number {
    const nowMs = this.#options.clock.nowMs();
    const now = loop.eventLoopUtilization();
    const known = this.#windows.get(loop);
    const since = (): number => {
      const { utilization } = loop.eventLoopUtilization(known?.from);
      return Number.isNaN(utilization) ? 0 : utilization; // no time has passed
    };
    if (known !== undefined && nowMs - known.fromMs < WINDOW_MS) return known.share ?? since();
    const share = known === undefined ? null : since();
    this.#windows.set(loop, { fromMs: nowMs, from: now, share });
    return share ?? now.utilization;
  }
}
