import type { TrunkState } from './sip/carrier.js';
import type { WebhookEndpoint } from './media-socket/webhook-endpoint.js';
import type { SocketRefusal } from './carrier.js';
import { RtpTotals } from '../../transports/rtp/totals.js';

/** A trunk with its state and counters. */
interface WatchedTrunk {
  /** Null: not a trunk, but a caller with a password. */
  state: () => TrunkState | null;
  /** Dropped and refused messages, by name. */
  counts: () => Readonly<Record<string, number>>;
}

/** Number of refused calls of a trunk, by status. */
export interface TrunkRefusals {
  trunk: string;
  status: number;
  count: number;
}

/** Number of refused requests, media sockets and calls of a carrier's account, by reason. */
export interface AccountRefusals {
  carrier: string;
  reason: SocketRefusal;
  count: number;
}

/** Writes a line to the operator's log. */
export type TellOperator = (
  level: 'info' | 'warn',
  message: string,
  fields: Readonly<Record<string, string | number>>,
) => void;

/** Statistics and log lines about SIP trunks and their media, and carriers with media sockets. */
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

  /** An inbound call over SIP was refused. */
  refusedByTrunk(trunk: string, status: number): void {
    this.#trunkRefusals.add({ trunk, status });
  }

  /** Refused inbound calls, by trunk and SIP status. */
  get trunkRefusals(): readonly TrunkRefusals[] {
    return this.#trunkRefusals.entries;
  }

  /** A request, media socket or call of an account was refused. */
  refusedByAccount(carrier: string, reason: SocketRefusal): void {
    this.#accountRefusals.add({ carrier, reason });
  }

  get accountRefusals(): readonly AccountRefusals[] {
    return this.#accountRefusals.entries;
  }

  /** The state of each trunk. */
  get states(): readonly TrunkState[] {
    return this.#trunks.flatMap(({ state }) => state() ?? []);
  }

  /** Sum over all trunks: dropped and refused messages, by name. */
  get messages(): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const { counts } of this.#trunks) {
      for (const [name, count] of Object.entries(counts())) sums[name] = (sums[name] ?? 0) + count;
    }
    return sums;
  }

  /** Number of trunks that this process must register, and of those registered. */
  get registrations(): { wanted: number; held: number } {
    const wanted = this.states
      .flatMap(({ registration }) => registration ?? [])
      .filter(({ state }) => state !== 'standby');
    return { wanted: wanted.length, held: wanted.filter(({ state }) => state === 'registered').length };
  }
}

/** Counts by a set of properties. */
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
