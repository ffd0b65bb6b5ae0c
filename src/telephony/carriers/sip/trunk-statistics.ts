import type { TrunkState } from './carrier.js';
import type { WebhookEndpoint } from '../media-socket/webhook-endpoint.js';
import type { SocketRefusal } from '../media-socket/socket-carrier.js';
import { RtpTotals } from '../../../transports/rtp/totals.js';

/** A trunk, as it can be looked at. */
interface Watched {
  /** Null: it is no trunk, but who calls with a password. */
  state: () => TrunkState | null;
  /** What was dropped or refused, by name. */
  counts: () => Readonly<Record<string, number>>;
}

/** So many calls of a trunk were refused with a status. */
export interface RefusedCalls {
  trunk: string;
  status: number;
  count: number;
}

/** So many requests, media sockets and calls of a carrier's were refused for a reason. */
export interface RefusedOfCarrier {
  carrier: string;
  reason: SocketRefusal;
  count: number;
}

/** Writes a line in the log. */
export type TellOperator = (
  level: 'info' | 'warn',
  message: string,
  fields: Readonly<Record<string, string | number>>,
) => void;

/** What the operator's figures and log say of SIP trunks and their media, and of carriers with media sockets. */
export class TrunkStatistics {
  readonly tell: TellOperator;
  readonly media = new RtpTotals();
  readonly #trunks: Watched[] = [];
  /** Carriers with webhooks and media sockets. */
  readonly doors: Pick<WebhookEndpoint, 'name' | 'counts' | 'state'>[] = [];
  readonly #refused = new Map<string, RefusedCalls>();
  readonly #refusedOf = new Map<string, RefusedOfCarrier>();

  constructor(tell: TellOperator = () => undefined) {
    this.tell = tell;
  }

  watch(trunk: Watched): void {
    this.#trunks.push(trunk);
  }

  /** A call that came in was refused. */
  refused(trunk: string, status: number): void {
    const key = `${trunk} ${String(status)}`;
    const known = this.#refused.get(key) ?? { trunk, status, count: 0 };
    this.#refused.set(key, { ...known, count: known.count + 1 });
  }

  /** Calls that came in and were refused, by trunk and by SIP status. */
  get refusedCalls(): readonly RefusedCalls[] {
    return [...this.#refused.values()];
  }

  /** Something of a carrier with media sockets was refused. */
  refusedOf(carrier: string, reason: SocketRefusal): void {
    const key = `${carrier} ${reason}`;
    const known = this.#refusedOf.get(key) ?? { carrier, reason, count: 0 };
    this.#refusedOf.set(key, { ...known, count: known.count + 1 });
  }

  /** What carriers with media sockets have brought and was refused, by carrier and reason. */
  get refusedOfCarriers(): readonly RefusedOfCarrier[] {
    return [...this.#refusedOf.values()];
  }

  /** How each trunk is. */
  get states(): readonly TrunkState[] {
    return this.#trunks.flatMap(({ state }) => state() ?? []);
  }

  /** Of all trunks together: messages that were dropped or refused, by name. */
  get messages(): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const { counts } of this.#trunks) {
      for (const [name, count] of Object.entries(counts())) sums[name] = (sums[name] ?? 0) + count;
    }
    return sums;
  }

  /** Trunks that are to be registered, and how many of them are. */
  get registrations(): { wanted: number; held: number } {
    const wanted = this.states.flatMap(({ registration }) => registration ?? []);
    return { wanted: wanted.length, held: wanted.filter(({ state }) => state === 'registered').length };
  }
}
