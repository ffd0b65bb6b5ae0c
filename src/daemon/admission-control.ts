import { type Clock, delay } from '../base/clock.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../base/errors.js';

export interface AdmissionControlOptions {
  clock: Clock;
  engine: Pick<Engine, 'sessions'>;
  /** Sessions that may run at once, over all channels. */
  maxSessions: number;
}

/** What a part of the daemon has under way. */
export interface Load {
  /** Sessions that are still to be made. Each has a place among `maxSessions`. */
  pending?: () => number;
  /** Calls that are not over, those with a session among them. */
  calls?: () => number;
  /** Answers in writing that are under way. They are no sessions. */
  chats?: () => number;
}

/** How often `drain` looks whether all calls are over. */
const POLL_MS = 50;

/** Admission control: whether the daemon takes calls, and whether there is room for another session. */
export class AdmissionControl {
  readonly maxSessions: number;
  readonly #clock: Clock;
  readonly #sessions: Engine['sessions'];
  readonly #loads: Load[] = [];
  #isWarm = false;
  #isOpen = true;

  constructor({ clock, engine, maxSessions }: AdmissionControlOptions) {
    this.maxSessions = maxSessions;
    this.#clock = clock;
    this.#sessions = engine.sessions;
  }

  /** False from when the daemon shuts down. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether the engines are warm. */
  get isWarm(): boolean {
    return this.#isWarm;
  }

  get state(): 'warming up' | 'ready' | 'shutting down' {
    if (!this.#isOpen) return 'shutting down';
    return this.#isWarm ? 'ready' : 'warming up';
  }

  /** Whether `maxSessions` run or are being made. */
  get isFull(): boolean {
    return this.#sessions.size + this.#sum('pending') >= this.maxSessions;
  }

  /** Sessions, phone calls and answers in writing that go on. */
  get busy(): number {
    const calls = this.#loads.map((load) => load.calls?.() ?? 0);
    return Math.max(this.#sessions.size, ...calls) + this.#sum('chats');
  }

  /** Counts what a part of the daemon has under way. */
  count(load: Load): void {
    this.#loads.push(load);
  }

  /** The engines are warm. */
  warm(): void {
    this.#isWarm = true;
  }

  /** To be called before a call is begun. @throws ParleyError DAEMON_DRAINING */
  enter(): void {
    if (!this.#isOpen) throw new ParleyError('DAEMON_DRAINING');
  }

  /** Takes no new calls, for good. */
  shut(): void {
    this.#isOpen = false;
  }

  /** Shuts, and waits until nothing goes on: for `ms` at most, or until `hurry` is aborted. */
  async drain(ms: number, hurry?: AbortSignal): Promise<void> {
    this.shut();
    const clock = this.#clock;
    const untilMs = clock.nowMs() + ms;
    const isOver = (): boolean => this.busy === 0 || clock.nowMs() >= untilMs || hurry?.aborted === true;
    while (!isOver()) {
      await delay(clock, Math.min(POLL_MS, untilMs - clock.nowMs()), hurry).catch(() => undefined);
    }
  }

  #sum(what: keyof Load): number {
    return this.#loads.reduce((sum, load) => sum + (load[what]?.() ?? 0), 0);
  }
}
