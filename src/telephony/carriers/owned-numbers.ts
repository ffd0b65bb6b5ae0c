import { ParleyError } from '../../base/errors.js';

/** The own numbers of a carrier: for its methods that buy, release and list. */
export class OwnedNumbers {
  #owned: ReadonlySet<string>;
  readonly #isForSale: (number: string) => boolean;

  /**
   * @param owned initial numbers
   * @param isForSale whether another number can be bought
   */
  constructor(owned: readonly string[], isForSale: (number: string) => boolean) {
    this.#owned = new Set(owned);
    this.#isForSale = isForSale;
  }

  has(number: string): boolean {
    return this.#owned.has(number);
  }

  /** The oldest number. */
  get first(): string | undefined {
    const [first] = this.#owned;
    return first;
  }

  get all(): readonly string[] {
    return [...this.#owned];
  }

  /** Null if there are none, or several. */
  get only(): string | null {
    return this.#owned.size === 1 ? (this.first ?? null) : null;
  }

  /** Rejects with NUMBER_UNAVAILABLE for a number that is not for sale or already owned. */
  buy(number: string): Promise<void> {
    if (this.#owned.has(number) || !this.#isForSale(number)) {
      return Promise.reject(new ParleyError('NUMBER_UNAVAILABLE', { number }));
    }
    this.#owned = new Set([...this.#owned, number]);
    return Promise.resolve();
  }

  /** Rejects with NUMBER_NOT_OWNED. */
  release(number: string): Promise<void> {
    if (!this.#owned.has(number)) return Promise.reject(new ParleyError('NUMBER_NOT_OWNED', { number }));
    this.#owned = new Set(this.all.filter((other) => other !== number));
    return Promise.resolve();
  }

  /** As `Carrier.setOwned`. */
  set(numbers: readonly string[]): readonly string[] {
    this.#owned = new Set(numbers);
    return this.all;
  }

  list(): Promise<readonly string[]> {
    return Promise.resolve(this.all);
  }
}
