import { ParleyError } from '../errors.js';

/** How many sockets one address may have open: nobody takes all the places. */
export class SocketPlaces {
  readonly #perAddress: number;
  readonly #taken = new Map<string, number>();

  constructor(perAddress: number) {
    this.#perAddress = perAddress;
  }

  /** Takes a place. Returns what gives it back; may be called twice. @throws ParleyError SOCKETS_FULL */
  enter(address: string): () => void {
    const taken = this.#taken.get(address) ?? 0;
    if (taken >= this.#perAddress) throw new ParleyError('SOCKETS_FULL', { limit: this.#perAddress });
    this.#taken.set(address, taken + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const left = (this.#taken.get(address) ?? 1) - 1;
      if (left > 0) this.#taken.set(address, left);
      else this.#taken.delete(address);
    };
  }
}
