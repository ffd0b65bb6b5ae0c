import { Random } from '../../base/random.js';
import { dbToGain } from './level.js';

/** Maximum level, whatever the other side requests. */
const LOUDEST_DBOV = 30;

/** Comfort noise: white noise at the level that the other side signalled (RFC 3389, 3). */
export class ComfortNoise {
  readonly #random = new Random(3389);
  #amplitude = 0;

  /** @param dbov below the loudest square wave there is: 0..127, as RFC 3389 writes it; null = none, silence */
  level(dbov: number | null): void {
    // Evenly spread samples have a mean power of a third of their peaks'.
    this.#amplitude = dbov === null ? 0 : 32_768 * dbToGain(-Math.max(dbov, LOUDEST_DBOV)) * Math.sqrt(3);
  }

  into(out: Int16Array): void {
    if (this.#amplitude < 1) {
      out.fill(0);
      return;
    }
    for (let i = 0; i < out.length; i++) out[i] = Math.round((this.#random.next() * 2 - 1) * this.#amplitude);
  }
}
