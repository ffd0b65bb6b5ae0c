import type { Telephone, TelephoneOptions } from './telephone.js';

/** Opens the telephone on demand, so that health checks do not wait for carriers. */
export class LazyTelephone {
  readonly #options: () => Promise<TelephoneOptions>;
  #telephone: Promise<Telephone> | null = null;

  /** @param options called once, when the telephone opens */
  constructor(options: () => Promise<TelephoneOptions>) {
    this.#options = options;
  }

  /** Null = it has not been opened. */
  get opened(): Promise<Telephone> | null {
    return this.#telephone;
  }

  /** Rejects each time if it cannot be opened. */
  open(): Promise<Telephone> {
    this.#telephone ??= this.#open();
    return this.#telephone;
  }

  /** Ends all calls. Ignores an error of opening, which the callers of `open` have received. */
  async close(): Promise<void> {
    await (await this.#telephone?.catch(() => null))?.close();
  }

  async #open(): Promise<Telephone> {
    const { Telephone } = await import('./telephone.js');
    return Telephone.open(await this.#options());
  }
}
