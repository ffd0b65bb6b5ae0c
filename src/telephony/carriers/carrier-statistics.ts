import type { TrunkState } from './sip/carrier.js';
import type { WebhookEndpoint } from './media-socket/webhook-endpoint.js';
import type { SocketRefusal } from './media-socket/socket-carrier.js';
import { RtpTotals } from '../../transports/rtp/totals.js';

/** A trunk, as it can be looked at. */
interface WatchedTrunk {
  /** Null: it is no trunk, but who calls with a password. */
  state: () => TrunkState | null;
  /** What was dropped or refused, by name. */
  counts: () => Readonly<Record<string, number>>;
}

/** So many calls of a trunk were refused with a status. */
export interface TrunkRefusals {
  trunk: string;
  status: number;
  count: number;
}

/** So many requests, media sockets and calls of a carrier's account were refused for a reason. */
export interface AccountRefusals {
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
export class CarrierStatistics {
  readonly tell: TellOperator;
  readonly media = new RtpTotals();
  /** Carriers with webhooks and media sockets. */
  readonly accounts: Pick<WebhookEndpoint, 'name' | 'counts' | 'state'>[] = [];
  readonly #trunks: WatchedTrunk[] = [];
  readonly #trunkRefusals = new Tally<Omit<TrunkRefusals, 'count'>>();
  readonly #accountRefusals = new Tally<Omit<AccountRefusals, 'count'>>();

  constructor(tell: TellOperator = () => undefined) {
    this.tell = tell;
  }

  watch(trunk: WatchedTrunk): void {
    this.#trunks.push(trunk);
  }

  /** A call that came in over SIP was refused. */
  refusedByTrunk(trunk: string, status: number): void {
    this.#trunkRefusals.add({ trunk, status });
  }

  /** Calls that came in and were refused, by trunk and by SIP status. */
  get trunkRefusals(): readonly TrunkRefusals[] {
    return this.#trunkRefusals.entries;
  }

  /** A request, a media socket or a call of an account was refused. */
  refusedByAccount(carrier: string, reason: SocketRefusal): void {
    this.#accountRefusals.add({ carrier, reason });
  }

  get accountRefusals(): readonly AccountRefusals[] {
    return this.#accountRefusals.entries;
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

/** Counts of things that have these facts in common. */
class Tally<Facts extends Readonly<Record<string, string | number>>> {
  readonly #counts = new Map<string, Facts & { count: number }>();

  get entries(): readonly (Facts & { count: number })[] {
    return [...this.#counts.values()];
  }

  add(facts: Facts): void {
    const key = Object.values(facts).join(' ');
    const count = (this.#counts.get(key)?.count ?? 0) + 1;
    this.#counts.set(key, { ...facts, count });
  }
}
