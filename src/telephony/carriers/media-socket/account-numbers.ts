import { ParleyError } from '../../../base/errors.js';

const NUMBER = /^\+[1-9]\d{6,14}$/;
/** Without what separates several targets in carriers' requests. */
const SIP = /^sips?:[^\s@,<>]+@[^\s@,<>]+$/i;

const NOBODY: ReadonlySet<string> = new Set();

/** Numbers of an account with a carrier, by the carrier's own ids. */
export interface NumberDesk {
  /** Null = the account has no such number. */
  findNumber(number: string, signal: AbortSignal): Promise<string | null>;
  /** @throws ParleyError NUMBER_UNAVAILABLE */
  buyNumber(number: string, signal: AbortSignal): Promise<void>;
  /** Has the calls of a number of the account come to us. */
  direct(id: string, signal: AbortSignal): Promise<void>;
  releaseNumber(id: string, signal: AbortSignal): Promise<void>;
}

/** The numbers of an account that are ours: those that `Carrier` buys, gives back and lists. */
export class AccountNumbers {
  readonly #desk: NumberDesk;
  readonly #owned: Set<string>;

  /** @param owned ours from the start */
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

  list(): Promise<readonly string[]> {
    return Promise.resolve(this.all);
  }

  /** Buys a number, or takes one into use that the account has. @throws ParleyError NUMBER_UNAVAILABLE */
  async buy(number: string, signal: AbortSignal): Promise<void> {
    if (this.#owned.has(number) || !isNumber(number)) throw new ParleyError('NUMBER_UNAVAILABLE', { number });
    const existing = await this.#desk.findNumber(number, signal);
    if (existing === null) await this.#order(number, signal);
    else await this.#desk.direct(existing, signal);
    this.#owned.add(number);
  }

  /** What was ordered and never confirmed may have been bought all the same, and costs. */
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

  /** Has calls to a number come to us again. @throws ParleyError NUMBER_NOT_OWNED, also where the account has lost it */
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

/** @throws ParleyError NUMBER_INVALID for who cannot be called, or not from there */
export function assertPlaceable(from: string, to: string): void {
  if (!isNumber(from)) throw new ParleyError('NUMBER_INVALID', { number: from.slice(0, 40) });
  if (!isTarget(to)) throw new ParleyError('NUMBER_INVALID', { number: to.slice(0, 40) });
}

/**
 * Who calls, as the carrier tells it; `anonymous` where that is no number or address.
 * @param withheld numbers that the carrier has for those who do not say
 */
export function callerOf(from: string, withheld: ReadonlySet<string> = NOBODY): string {
  return isTarget(from) && !withheld.has(from) ? from : 'anonymous';
}

/** Whether something is one number or SIP address. */
export function isTarget(text: string): boolean {
  return isNumber(text) || SIP.test(text);
}

function isNumber(text: string): boolean {
  return NUMBER.test(text);
}
