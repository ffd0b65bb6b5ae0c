import type { Clock } from '../../../base/clock.js';
import { type Hop, hopText } from '../hop.js';
import { Timers } from '../timers.js';
import { type NameServer, resolveServer, type ServerAddress } from './resolver.js';

export interface ServersOptions {
  clock: Clock;
  /** The most wanted first. */
  addresses: readonly ServerAddress[];
  names: NameServer;
  chance: () => number;
  /**
   * A server does not answer any more, or answers again.
   * @param hop null = no address is known of any
   */
  onChange?: (hop: Hop | null, answers: boolean) => void;
}

/** What is known of a server. */
export interface SipServerState {
  hop: Hop;
  /** Whether it answered when it was asked last; null = it has not been asked, or not yet answered. */
  answers: boolean | null;
  /** What it answered last; null = nothing yet. */
  last: { status: number; atMs: number } | null;
}

/** Names are looked up anew this often: servers move. */
const REFRESH_MS = 5 * 60_000;
/** A name that nobody knows just now. */
const RETRY_MS = 20_000;

/** A trunk's servers: where they are, and which of them answer. */
export class Servers {
  readonly #options: ServersOptions;
  readonly #timers: Timers<'refresh'>;
  readonly #asked = new Map<string, Pick<SipServerState, 'answers' | 'last'>>();
  #isKnown = true;
  #hops: Hop[] = [];
  /** Names by hop: a certificate must prove them. */
  #names = new Map<string, string>();
  #isClosed = false;

  constructor(options: ServersOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
  }

  /** Looks the servers up, now and from time to time. Resolves when that has been done once. Never rejects. */
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
    // What was known before is better than nothing.
    if (found.length > 0) this.#hops = found;
    if (this.#isClosed) return;
    this.#foundAny(found.length > 0 || addresses.length === 0);
    this.#timers.set('refresh', found.length > 0 ? REFRESH_MS : RETRY_MS, () => void this.open());
  }

  /** All, those that have not answered lately last. */
  get hops(): readonly Hop[] {
    const isSilent = (hop: Hop): number => (this.#asked.get(hopText(hop))?.answers === false ? 1 : 0);
    return this.#hops.toSorted((one, other) => isSilent(one) - isSilent(other));
  }

  /** Whether a message from there is from one of them. */
  has(address: string): boolean {
    return this.#hops.some((hop) => hop.address === address);
  }

  nameOf(hop: Hop): string | undefined {
    return this.#names.get(hopText(hop));
  }

  /** @param status what a server answered when it was asked; null = nothing */
  note(hop: Hop, status: number | null): void {
    const key = hopText(hop);
    const before = this.#asked.get(key) ?? { answers: null, last: null };
    const answers = status !== null;
    const last = answers ? { status, atMs: this.#options.clock.nowMs() } : before.last;
    this.#asked.set(key, { answers, last });
    // A server that answers the first time is as it should be.
    if (before.answers !== answers && (before.answers !== null || !answers)) this.#options.onChange?.(hop, answers);
  }

  /** All, in the order in which the operator has named them. */
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
