import type { Clock } from '../../clock/clock.js';
import { type Hop, hopText } from '../hop.js';
import { Timers } from '../timers.js';
import { type NameServer, resolveServer, type ServerAddress } from './resolver.js';

export interface ServersOptions {
  clock: Clock;
  /** The most wanted first. */
  addresses: readonly ServerAddress[];
  names: NameServer;
  chance: () => number;
}

/** Names are looked up anew this often: servers move. */
const REFRESH_MS = 5 * 60_000;
/** A name that nobody knows just now. */
const RETRY_MS = 20_000;

/** A trunk's servers: where they are, and which of them answer. */
export class Servers {
  readonly #options: ServersOptions;
  readonly #timers: Timers<'refresh'>;
  readonly #silent = new Set<string>();
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
    this.#timers.set('refresh', found.length > 0 ? REFRESH_MS : RETRY_MS, () => void this.open());
  }

  /** All, those that have not answered lately last. */
  get hops(): readonly Hop[] {
    const isSilent = (hop: Hop): number => (this.#silent.has(hopText(hop)) ? 1 : 0);
    return this.#hops.toSorted((one, other) => isSilent(one) - isSilent(other));
  }

  /** Whether a message from there is from one of them. */
  has(address: string): boolean {
    return this.#hops.some((hop) => hop.address === address);
  }

  nameOf(hop: Hop): string | undefined {
    return this.#names.get(hopText(hop));
  }

  /** Whether a server has answered when it was asked last. */
  note(hop: Hop, answers: boolean): void {
    if (answers) this.#silent.delete(hopText(hop));
    else this.#silent.add(hopText(hop));
  }

  /** Servers that have not answered when they were asked last. */
  get silent(): number {
    return this.#hops.filter((hop) => this.#silent.has(hopText(hop))).length;
  }

  /** May be called twice. */
  close(): void {
    this.#isClosed = true;
    this.#timers.clearAll();
  }
}
