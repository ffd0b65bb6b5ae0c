import { type Clock, delay } from '../base/clock.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../base/errors.js';

export interface AdmissionControlOptions {
  clock: Clock;
  engine: Pick<Engine, 'sessions'>;
  /** Maximum of concurrent sessions over all channels. */
  maxSessions: number;
  /** Why the database cannot be used now; null = it can. Default: it always can. */
  databaseFault?: () => ParleyError | null;
}

/** Counters of a part of the daemon. */
export interface Load {
  /** Sessions that are about to start. Each counts against `maxSessions`. */
  pending?: () => number;
  /**
   * Calls that wait for a session and could have the next one: newcomers find their places taken.
   * @param number who is about to be called; null = a newcomer calls
   */
  waiting?: (number: string | null) => number;
  /** Sessions that take no place of others. */
  apart?: () => number;
  /** Calls that have not ended, with or without a session. */
  calls?: () => number;
  /** Chat answers in progress. They do not count as sessions. */
  chats?: () => number;
}

/** Whether the daemon can take calls. */
export type Readiness = 'warming up' | 'ready' | 'shutting down' | 'database unreachable';

/** How often `drain` checks whether all calls have ended. */
const POLL_MS = 50;

/** Decides whether the daemon accepts calls, and whether there is room for another session. */
export class AdmissionControl {
  readonly maxSessions: number;
  readonly #clock: Clock;
  readonly #sessions: Engine['sessions'];
  readonly #databaseFault: () => ParleyError | null;
  readonly #loads: Load[] = [];
  #isWarm = false;
  #isShut = false;

  constructor({ clock, engine, maxSessions, databaseFault = () => null }: AdmissionControlOptions) {
    this.maxSessions = maxSessions;
    this.#databaseFault = databaseFault;
    this.#clock = clock;
    this.#sessions = engine.sessions;
  }

  /** False once the daemon shuts down, and while the database cannot be used. */
  get isOpen(): boolean {
    return this.fault === null;
  }

  /** Why new calls are refused: DAEMON_DRAINING, DATABASE_UNREACHABLE; null = they are not. */
  get fault(): ParleyError | null {
    return this.#isShut ? new ParleyError('DAEMON_DRAINING') : this.#databaseFault();
  }

  /** Whether the engines are warm. */
  get isWarm(): boolean {
    return this.#isWarm;
  }

  get state(): Readiness {
    if (this.#isShut) return 'shutting down';
    if (this.#databaseFault() !== null) return 'database unreachable';
    return this.#isWarm ? 'ready' : 'warming up';
  }

  /** Whether a newcomer finds no room: sessions that run, those about to start and waiting calls take all. */
  get isFull(): boolean {
    return this.isFullFor(null);
  }

  /** The same for an outbound call to a number, which may be one that waits. */
  isFullFor(number: string | null): boolean {
    const kept = this.#loads.reduce((sum, load) => sum + (load.waiting?.(number) ?? 0), 0);
    return kept >= this.room;
  }

  /** How many sessions are free for those who wait. */
  get room(): number {
    return this.maxSessions - (this.#sessions.size - this.#sum('apart') + this.#sum('pending'));
  }

  /** The number of sessions, phone calls and chat answers in progress. */
  get busy(): number {
    const calls = this.#loads.map((load) => load.calls?.() ?? 0);
    return Math.max(this.#sessions.size, ...calls) + this.#sum('chats');
  }

  /** Adds the counters of a part of the daemon. */
  count(load: Load): void {
    this.#loads.push(load);
  }

  /** Call this when the engines are warm. */
  warm(): void {
    this.#isWarm = true;
  }

  /** Call this before a call starts. @throws ParleyError DAEMON_DRAINING, DATABASE_UNREACHABLE */
  enter(): void {
    const { fault } = this;
    if (fault !== null) throw fault;
  }

  /** Refuses all new calls. */
  shut(): void {
    this.#isShut = true;
  }

  /** Refuses new calls and waits until all have ended, at most `ms`, or until `hurry` aborts. */
  async drain(ms: number, hurry?: AbortSignal): Promise<void> {
    this.shut();
    const clock = this.#clock;
    const untilMs = clock.nowMs() + ms;
    const isOver = (): boolean => this.busy === 0 || clock.nowMs() >= untilMs || hurry?.aborted === true;
    while (!isOver()) {
      await delay(clock, Math.min(POLL_MS, untilMs - clock.nowMs()), hurry).catch(() => undefined);
    }
  }

  #sum(what: Exclude<keyof Load, 'waiting'>): number {
    return this.#loads.reduce((sum, load) => sum + (load[what]?.() ?? 0), 0);
  }
}
