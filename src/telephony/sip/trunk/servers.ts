import type { Clock } from '../../../base/clock.js';
import { type Hop, hopText } from '../hop.js';
import { Timers } from '../timers.js';
import { type NameServer, resolveServer, type ServerAddress } from './resolver.js';

export interface ServersOptions {
  clock: Clock;
  /** In order of preference. */
  addresses: readonly ServerAddress[];
  names: NameServer;
  chance: () => number;
  /**
   * A server has stopped or resumed answering.
   * @param hop null = no address is known of any
   */
  onChange?: ((hop: Hop | null, answers: boolean) => void) | undefined;
}

/** The state of a server. */
export interface SipServerState {
  hop: Hop;
  /** Whether it answered the last check; null = not checked, or not yet answered. */
  answers: boolean | null;
  /** Its last response; null = none yet. */
  last: { status: number; atMs: number } | null;
}

/** Interval of DNS lookups: servers move. */
const REFRESH_MS = 5 * 60_000;
/** Retry interval for an unknown name. */
const RETRY_MS = 20_000;

/** A trunk's servers: their addresses and states. */
export class Servers {
  readonly #options: ServersOptions;
  readonly #timers: Timers<'refresh'>;
  readonly #asked = new Map<string, Pick<SipServerState, 'answers' | 'last'>>();
  #isKnown = true;
  #hops: Hop[] = [];
  /** Expected TLS names by hop. */
  #names = new Map<string, string>();
  #isClosed = false;

  constructor(options: ServersOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
  }

  /** Looks up the servers, now and at intervals. Resolves after the first lookup. Never rejects. */
  async open(): Promise<void> {
    const { addresses, names, chance } = this.#options;
    const found: Hop[] = [];
    for (const address of addresses) {
      const hops = await resolveServer(address, names, chance).catch(() => []);
      for (const hop of hops) {
        found.push(hop);
        this.#names.set(hopText(hop), address.host);
      }
    }
    // Keeps the previous result if there is no new one.
    if (found.length > 0) this.#hops = found;
    if (this.#isClosed) return;
    this.#foundAny(found.length > 0 || addresses.length === 0);
    this.#timers.set('refresh', found.length > 0 ? REFRESH_MS : RETRY_MS, () => void this.open());
  }

  /** All, with unresponsive ones last. */
  get hops(): readonly Hop[] {
    const isSilent = (hop: Hop): number => (this.#asked.get(hopText(hop))?.answers === false ? 1 : 0);
    return this.#hops.toSorted((one, other) => isSilent(one) - isSilent(other));
  }

  /** Whether an address belongs to one of them. */
  has(address: string): boolean {
    return this.#hops.some((hop) => hop.address === address);
  }

  nameOf(hop: Hop): string | undefined {
    return this.#names.get(hopText(hop));
  }

  /** @param status of the response to a check; null = none */
  note(hop: Hop, status: number | null): void {
    const key = hopText(hop);
    const before = this.#asked.get(key) ?? { answers: null, last: null };
    const answers = status !== null;
    const last = answers ? { status, atMs: this.#options.clock.nowMs() } : before.last;
    this.#asked.set(key, { answers, last });
    // A first positive check is not a change.
    if (before.answers !== answers && (before.answers !== null || !answers)) this.#options.onChange?.(hop, answers);
  }

  /** All, in configured order. */
  get states(): readonly SipServerState[] {
    return this.#hops.map((hop) => ({ hop, ...(this.#asked.get(hopText(hop)) ?? { answers: null, last: null }) }));
  }

  #foundAny(isKnown: boolean): void {
    if (isKnown === this.#isKnown) return;
    this.#isKnown = isKnown;
    this.#options.onChange?.(null, isKnown);
  }

  /** May be called twice. */
  close(): void {
    this.#isClosed = true;
    this.#timers.clearAll();
  }
}
