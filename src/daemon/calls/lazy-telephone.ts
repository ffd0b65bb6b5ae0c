import type { Telephone, TelephoneOptions } from './telephone.js';

/** The telephone, opened when it is first needed: whoever asks whether the daemon is there does not wait for carriers. */
export class LazyTelephone {
  readonly #options: () => Promise<TelephoneOptions>;
  #telephone: Promise<Telephone> | null = null;

  /** @param options asked for once, when it is opened */
  constructor(options: () => Promise<TelephoneOptions>) {
    this.#options = options;
  }

  /** Null where nobody has needed it. */
  get opened(): Promise<Telephone> | null {
    return this.#telephone;
  }

  /** Rejects, each time, where it cannot be opened. */
  open(): Promise<Telephone> {
    this.#telephone ??= this.#open();
    return this.#telephone;
  }

  /** Ends all calls. Who waited for a telephone that cannot be opened has got the error. */
  async close(): Promise<void> {
    await (await this.#telephone?.catch(() => null))?.close();
  }

  async #open(): Promise<Telephone> {
    const { Telephone } = await import('./telephone.js');
    return Telephone.open(await this.#options());
  }
}
