import type { Cancel, Clock } from '../../base/clock.js';
import type { SocketRefusal } from './carrier.js';
import { hopText } from '../sip/hop.js';
import type { SipRefusal } from '../sip/user-agent.js';
import type { CarrierStatistics } from './carrier-statistics.js';

/** Lines per minute after the first; further refusals are only counted. */
const MOST_LINES = 10;
const WINDOW_MS = 60_000;

export interface RefusingNetwork {
  /** In the log. */
  name: string;
  refuses: 'calls' | 'requests';
}

const SIP: RefusingNetwork = { name: 'SIP', refuses: 'calls' };

/** Counts refusals and writes them to the operator's log, rate-limited because of scanners and loops. */
export class RefusalLog {
  readonly #network: RefusingNetwork;
  readonly #clock: Clock;
  readonly #figures: CarrierStatistics;
  #lines = 0;
  /** Number of refusals without a line, by their properties. */
  readonly #unwritten = new Map<string, number>();
  #cancel: Cancel | null = null;

  constructor(clock: Clock, figures: CarrierStatistics, network: RefusingNetwork = SIP) {
    this.#network = network;
    this.#clock = clock;
    this.#figures = figures;
  }

  /** A call over SIP. */
  add(trunk: string, { status, why, from }: SipRefusal): void {
    this.#figures.refusedByTrunk(trunk, status);
    const source = hopText(from);
    this.#tell(`${trunk} ${String(status)}`, `a call from ${source} is refused with ${String(status)}: ${why}`, {
      trunk,
      status,
      source,
    });
  }

  /** A request, media socket or call of a carrier. */
  addOf(carrier: string, reason: SocketRefusal, why: string): void {
    this.#figures.refusedByAccount(carrier, reason);
    this.#tell(reason, `${why} is refused`, { carrier, reason });
  }

  #tell(key: string, text: string, fields: Readonly<Record<string, string | number>>): void {
    this.#cancel ??= this.#clock.schedule(this.#clock.nowMs() + WINDOW_MS, () => this.#sumUp());
    if (this.#lines < MOST_LINES) {
      this.#lines++;
      this.#figures.tell('warn', `${this.#network.name}: ${text}`, fields);
      return;
    }
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
    const { name, refuses } = this.#network;
    this.#figures.tell('warn', `${name}: ${String(count)} more ${refuses} were refused within a minute (${each})`, {
      count,
    });
  }
}
