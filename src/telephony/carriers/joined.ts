import type { Cancel } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { CallRequest, Carrier, CarrierCall, NumberOffer, NumberQuery } from './carrier.js';

/** One of several networks, and its own numbers. */
export interface JoinedCarrier {
  carrier: Carrier<SessionLine>;
  owned: readonly string[];
}

/** Several networks as one: each call uses the network that has its number. */
export class JoinedCarriers implements Carrier<SessionLine> {
  readonly name = 'joined';
  readonly #carriers: readonly Carrier<SessionLine>[];
  readonly #ofNumber = new Map<string, Carrier<SessionLine>>();

  /** @param carriers the first ones' numbers are offered first */
  constructor(carriers: readonly JoinedCarrier[]) {
    this.#carriers = carriers.map(({ carrier }) => carrier);
    this.assign(carriers);
  }

  /** Replaces the own numbers of the networks. */
  assign(carriers: readonly JoinedCarrier[]): void {
    this.#ofNumber.clear();
    for (const { carrier, owned } of carriers) for (const number of owned) this.#ofNumber.set(number, carrier);
  }

  /** The network that has an own number; null = none. */
  carrierOf(number: string): Carrier<SessionLine> | null {
    return this.#ofNumber.get(number) ?? null;
  }

  async searchNumbers(query: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]> {
    const { limit = 10 } = query;
    const found: NumberOffer[] = [];
    for (const carrier of this.#carriers) {
      if (found.length >= limit) break;
      found.push(...(await carrier.searchNumbers({ ...query, limit: limit - found.length }, signal)));
    }
    return found;
  }

  async buyNumber(number: string, signal: AbortSignal): Promise<void> {
    let refusal: ParleyError | null = null;
    for (const carrier of this.#carriers) {
      try {
        await carrier.buyNumber(number, signal);
        this.#ofNumber.set(number, carrier);
        return;
      } catch (error) {
        if (!(error instanceof ParleyError)) throw error;
        // A refusal of a network without the number may be more specific, if no network has it.
        if (error.code === 'CARRIER_REFUSED') refusal ??= error;
        else if (error.code !== 'NUMBER_UNAVAILABLE') throw error;
      }
    }
    throw refusal ?? new ParleyError('NUMBER_UNAVAILABLE', { number });
  }

  async directNumber(number: string, signal: AbortSignal): Promise<void> {
    await this.#owner(number).directNumber?.(number, signal);
  }

  async releaseNumber(number: string, signal: AbortSignal): Promise<void> {
    await this.#owner(number).releaseNumber(number, signal);
    this.#ofNumber.delete(number);
  }

  async ownedNumbers(signal: AbortSignal): Promise<readonly string[]> {
    return (await Promise.all(this.#carriers.map((carrier) => carrier.ownedNumbers(signal)))).flat();
  }

  /** @throws ParleyError NUMBER_NOT_OWNED in addition to those of `Carrier` */
  placeCall(request: CallRequest): CarrierCall<SessionLine> {
    return this.#owner(request.from).placeCall(request);
  }

  receiveCalls(listener: (call: CarrierCall<SessionLine>) => void): Cancel {
    const cancels = this.#carriers.map((carrier) => carrier.receiveCalls(listener));
    return () => {
      for (const cancel of cancels) cancel();
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#carriers.map((carrier) => carrier.close()));
  }

  #owner(number: string): Carrier<SessionLine> {
    const carrier = this.#ofNumber.get(number);
    if (carrier === undefined) throw new ParleyError('NUMBER_NOT_OWNED', { number });
    return carrier;
  }
}
