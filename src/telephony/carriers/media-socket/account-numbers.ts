import { ParleyError } from '../../../base/errors.js';

const NUMBER = /^\+[1-9]\d{6,14}$/;
/** Excludes the separators of several targets in carriers' requests. */
const SIP = /^sips?:[^\s@,<>]+@[^\s@,<>]+$/i;

const NONE: ReadonlySet<string> = new Set();

/** Number management of a carrier's account, by the carrier's ids. */
export interface NumberDesk {
  /** Null = the account has no such number. */
  findNumber(number: string, signal: AbortSignal): Promise<string | null>;
  /** @throws ParleyError NUMBER_UNAVAILABLE */
  buyNumber(number: string, signal: AbortSignal): Promise<void>;
  /** Routes the calls of a number of the account to parley. */
  direct(id: string, signal: AbortSignal): Promise<void>;
  releaseNumber(id: string, signal: AbortSignal): Promise<void>;
}

/** The own numbers of an account: for the `Carrier` methods that buy, release and list. */
export class AccountNumbers {
  readonly #desk: NumberDesk;
  #owned: Set<string>;

  /** @param owned initial numbers */
  constructor(desk: NumberDesk, owned: readonly string[]) {
    this.#desk = desk;
    this.#owned = new Set(owned);
  }

  has(number: string): boolean {
    return this.#owned.has(number);
  }

  get all(): readonly string[] {
    return [...this.#owned];
  }

  /** As `Carrier.setOwned`. */
  set(numbers: readonly string[]): readonly string[] {
    this.#owned = new Set(numbers);
    return this.all;
  }

  list(): Promise<readonly string[]> {
    return Promise.resolve(this.all);
  }

  /** Buys a number, or starts to use one that the account has. @throws ParleyError NUMBER_UNAVAILABLE */
  async buy(number: string, signal: AbortSignal): Promise<void> {
    if (this.#owned.has(number) || !isNumber(number)) throw new ParleyError('NUMBER_UNAVAILABLE', { number });
    const existing = await this.#desk.findNumber(number, signal);
    if (existing === null) await this.#order(number, signal);
    else await this.#desk.direct(existing, signal);
    this.#owned.add(number);
  }

  /** An order without a confirmation may have succeeded, and then costs money. */
  async #order(number: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#desk.buyNumber(number, signal);
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'CARRIER_SILENT') throw error;
      const bought = await this.#desk.findNumber(number, signal).catch(() => null);
      if (bought === null) throw error;
      await this.#desk.direct(bought, signal);
    }
  }

  /** Routes calls to a number to parley again. @throws ParleyError NUMBER_NOT_OWNED, also if the account has lost it */
  async direct(number: string, signal: AbortSignal): Promise<void> {
    const found = this.#owned.has(number) ? await this.#desk.findNumber(number, signal) : null;
    if (found === null) throw new ParleyError('NUMBER_NOT_OWNED', { number });
    await this.#desk.direct(found, signal);
  }

  /** @throws ParleyError NUMBER_NOT_OWNED */
  async release(number: string, signal: AbortSignal): Promise<void> {
    if (!this.#owned.has(number)) throw new ParleyError('NUMBER_NOT_OWNED', { number });
    const found = await this.#desk.findNumber(number, signal);
    if (found !== null) await this.#desk.releaseNumber(found, signal);
    this.#owned.delete(number);
  }
}

/** @throws ParleyError NUMBER_INVALID for a target that cannot be called, or a wrong own number */
export function assertPlaceable(from: string, to: string): void {
  if (!isNumber(from)) throw new ParleyError('NUMBER_INVALID', { number: from.slice(0, 40) });
  if (!isTarget(to)) throw new ParleyError('NUMBER_INVALID', { number: to.slice(0, 40) });
}

/**
 * The caller as reported by the carrier; `anonymous` if that is not a number or address.
 * @param withheld numbers with which the carrier marks withheld ones
 */
export function callerOf(from: string, withheld: ReadonlySet<string> = NONE): string {
  return isTarget(from) && !withheld.has(from) ? from : 'anonymous';
}

/** Whether a text is one number or SIP address. */
export function isTarget(text: string): boolean {
  return isNumber(text) || SIP.test(text);
}

function isNumber(text: string): boolean {
  return NUMBER.test(text);
}
