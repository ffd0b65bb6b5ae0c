import type { Clock } from '../../../base/clock.js';
import type { Headers } from '../headers.js';
import { numberOf, parametersOf } from '../scan.js';
import { Timers } from '../timers.js';

/** Interval of session refreshes, in seconds (RFC 4028). */
export const SESSION_EXPIRES_S = 1800;
/** Minimum accepted interval, as in the RFC. */
export const MIN_SE_S = 90;
const MOST_SE_S = 2 ** 31 - 1;

export interface SessionExpires {
  seconds: number;
  refresher: 'uac' | 'uas' | null;
}

/** Reads `Session-Expires`; null if missing or invalid. */
export function sessionExpiresOf(headers: Headers): SessionExpires | null {
  const line = headers.get('session-expires');
  if (line === undefined) return null;
  const semicolon = line.indexOf(';');
  const seconds = numberOf((semicolon < 0 ? line : line.slice(0, semicolon)).trim(), MOST_SE_S);
  const refresher = semicolon < 0 ? null : parametersOf(line.slice(semicolon))?.get('refresher')?.toLowerCase();
  if (seconds === null) return null;
  return { seconds, refresher: refresher === 'uac' || refresher === 'uas' ? refresher : null };
}

export function minSeOf(headers: Headers): number | null {
  return numberOf(headers.get('min-se')?.split(';', 1)[0]?.trim() ?? '', MOST_SE_S);
}

export function sessionExpiresText({ seconds, refresher }: SessionExpires): string {
  return `${String(seconds)}${refresher === null ? '' : `;refresher=${refresher}`}`;
}

export interface SessionTimerEvents {
  /** parley must send a refresh. */
  onRefresh(): void;
  /** No refresh came: the far end is gone. */
  onExpired(): void;
}

/** Detects dead calls (RFC 4028, 7.2 and 10). */
export class SessionTimer {
  readonly #timers: Timers<'refresh' | 'expiry'>;
  readonly #events: SessionTimerEvents;
  #seconds: number | null = null;

  constructor(clock: Clock, events: SessionTimerEvents) {
    this.#timers = new Timers(clock);
    this.#events = events;
  }

  /** The current interval, null = no refreshes. */
  get seconds(): number | null {
    return this.#seconds;
  }

  /** Restarts the interval. */
  restart(seconds: number, isOurs: boolean): void {
    this.#seconds = seconds;
    this.#timers.clearAll();
    if (isOurs) this.#timers.set('refresh', seconds * 500, () => this.#events.onRefresh());
    const before = Math.min(32, seconds / 3);
    this.#timers.set('expiry', (seconds - before) * 1000, () => this.#events.onExpired());
  }

  /** May be called twice. */
  stop(): void {
    this.#seconds = null;
    this.#timers.clearAll();
  }
}
