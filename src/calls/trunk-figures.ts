import type { CarrierDoor } from '../carriers/media-socket/door.js';
import { RtpTotals } from '../rtp/totals.js';

/** A trunk, as it can be looked at. */
interface Watched {
  /** Whether we are registered; null where that is not wanted. */
  isRegistered: () => boolean | null;
  /** What was dropped or refused, by name. */
  counts: () => Readonly<Record<string, number>>;
}

/** What the operator's figures say of SIP trunks and their media, and of carriers with media sockets. */
export class TrunkFigures {
  readonly media = new RtpTotals();
  readonly #trunks: Watched[] = [];
  /** Carriers with webhooks and media sockets. */
  readonly doors: Pick<CarrierDoor, 'name' | 'counts'>[] = [];

  watch(trunk: Watched): void {
    this.#trunks.push(trunk);
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
    const wanted = this.#trunks.flatMap(({ isRegistered }) => isRegistered() ?? []);
    return { wanted: wanted.length, held: wanted.filter(Boolean).length };
  }
}
