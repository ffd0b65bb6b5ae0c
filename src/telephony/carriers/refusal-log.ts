import type { Cancel, Clock } from '../../base/clock.js';
import { hopText } from '../sip/hop.js';
import type { SipRefusal } from '../sip/user-agent.js';
import type { TrunkStatistics } from './sip/trunk-statistics.js';

/** After the first line of a minute so many more follow; the rest is counted. */
const MOST_LINES = 10;
const WINDOW_MS = 60_000;

/** Writes refused calls to the operator's log, and counts them. Scanners and loops do not fill the log. */
export class RefusalLog {
  readonly #clock: Clock;
  readonly #figures: TrunkStatistics;
  #lines = 0;
  /** Calls without a line, by trunk and status. */
  readonly #unwritten = new Map<string, number>();
  #cancel: Cancel | null = null;

  constructor(clock: Clock, figures: TrunkStatistics) {
    this.#clock = clock;
    this.#figures = figures;
  }

  add(trunk: string, { status, why, from }: SipRefusal): void {
    this.#figures.refused(trunk, status);
    this.#cancel ??= this.#clock.schedule(this.#clock.nowMs() + WINDOW_MS, () => this.#sumUp());
    if (this.#lines < MOST_LINES) {
      this.#lines++;
      const source = hopText(from);
      this.#figures.tell('warn', `SIP: a call from ${source} is refused with ${String(status)}: ${why}`, {
        trunk,
        status,
        source,
      });
      return;
    }
    const key = `${trunk} ${String(status)}`;
    this.#unwritten.set(key, (this.#unwritten.get(key) ?? 0) + 1);
  }

  /** May be called twice. */
  close(): void {
    this.#cancel?.();
    this.#sumUp();
  }

  #sumUp(): void {
    this.#cancel = null;
    this.#lines = 0;
    if (this.#unwritten.size === 0) return;
    let count = 0;
    for (const some of this.#unwritten.values()) count += some;
    const each = [...this.#unwritten].map(([key, some]) => `${key}: ${String(some)}`).join(', ');
    this.#unwritten.clear();
    this.#figures.tell('warn', `SIP: ${String(count)} more calls were refused within a minute (${each})`, { count });
  }
}
