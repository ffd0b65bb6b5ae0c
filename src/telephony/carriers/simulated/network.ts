import type { Cancel, Clock } from '../../../base/clock.js';
import type { Ticker } from '../../../base/ticker.js';
import { ParleyError } from '../../../base/errors.js';
import { Random } from '../../../base/random.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import { OwnedNumbers } from '../owned-numbers.js';
import type { CallRequest, Carrier, CarrierCall, NumberOffer, NumberQuery } from '../carrier.js';
import { SimulatedCall } from './call.js';
import type { SimulatedNumber } from './script.js';
import type { SoundLibrary } from './sounds.js';
import type { CallEndpoint } from './endpoint.js';

export interface SimulatedNetworkOptions {
  clock: Clock;
  /** Paces every call. */
  ticker: Ticker;
  /** The numbers that can be called. */
  numbers: readonly SimulatedNumber[];
  /** People who can call in. Default none. */
  callers?: readonly SimulatedNumber[];
  sounds: SoundLibrary;
  /** Random seed for packet loss. Default 1. */
  seed?: number;
  /** Prefix of call ids, different for each network. Default `sim`. */
  idPrefix?: string;
  /** Initial own numbers. */
  owned?: readonly string[];
  /** Gets every 20 ms of every call, as each end hears them. */
  tap?: (call: SimulatedCall, frames: { agent: Int16Array | null; far: Int16Array | null }) => void;
  /** A listener has thrown, or audio could not be created. */
  onError?: (error: unknown) => void;
}

const NUMBER = /^\+[1-9]\d{6,14}$/;
/** Time until the network finds the far end. */
const SETUP_MS = 200;
/** Ring time of a transferred call. */
const TRANSFER_RING_MS = 30_000;

/**
 * A phone network in memory, parley's carrier without an account: numbers can be bought, and calls connect to numbers
 * that follow their scripts. In virtual time a call takes as long as its computation.
 */
export class SimulatedNetwork implements Carrier {
  readonly name = 'simulated';
  /** All calls in progress. */
  readonly calls = new Set<SimulatedCall>();
  /** The callers for `callIn`, by number. */
  readonly callers: ReadonlyMap<string, SimulatedNumber>;
  readonly #options: SimulatedNetworkOptions;
  readonly #numbers: ReadonlyMap<string, SimulatedNumber>;
  readonly #owned: OwnedNumbers;
  readonly #random: Random;
  #placed = 0;
  #listener: ((call: CarrierCall) => void) | null = null;
  #stopTicks: Cancel | null = null;
  #closed = false;

  constructor(options: SimulatedNetworkOptions) {
    this.#options = options;
    this.callers = new Map((options.callers ?? []).map((caller) => [caller.number, caller]));
    this.#numbers = new Map(options.numbers.map((number) => [number.number, number]));
    this.#owned = new OwnedNumbers(options.owned ?? [], (number) => NUMBER.test(number) && !this.#numbers.has(number));
    this.#random = new Random(options.seed ?? 1);
  }

  searchNumbers(query: NumberQuery): Promise<readonly NumberOffer[]> {
    const taken = (number: string): boolean => this.#owned.has(number) || this.#numbers.has(number);
    return Promise.resolve(offers(query, taken));
  }

  buyNumber(number: string): Promise<void> {
    return this.#owned.buy(number);
  }

  releaseNumber(number: string): Promise<void> {
    return this.#owned.release(number);
  }

  setOwned(numbers: readonly string[]): readonly string[] {
    return this.#owned.set(numbers);
  }

  ownedNumbers(): Promise<readonly string[]> {
    return this.#owned.list();
  }

  placeCall(request: CallRequest): SimulatedCall {
    if (this.#closed) throw new ParleyError('CARRIER_CLOSED', { carrier: this.name });
    for (const number of [request.from, request.to]) {
      if (!NUMBER.test(number)) throw new ParleyError('NUMBER_INVALID', { number });
    }
    const { from, to, ringTimeoutMs, headers = {} } = request;
    const far = this.#numbers.get(to);
    const call = this.#call('outbound', from, to, headers, far ?? { ...UNKNOWN_NUMBER, number: to });
    this.#after(SETUP_MS, call, () => void this.#ring(call, far ?? null, ringTimeoutMs));
    return call;
  }

  receiveCalls(listener: (call: CarrierCall) => void): Cancel {
    this.#listener = listener;
    return () => {
      if (this.#listener === listener) this.#listener = null;
    };
  }

  /**
   * Calls a number.
   * @param caller the calling party; `number` is its number. It hangs up after `patienceMs` (default 30 000) without an
   * answer
   */
  callIn(caller: SimulatedNumber, to: string, { patienceMs = 30_000 } = {}): SimulatedCall {
    if (this.#closed) throw new ParleyError('CARRIER_CLOSED', { carrier: this.name });
    const call = this.#call('inbound', caller.number, to, {}, caller);
    this.#after(SETUP_MS, call, () => void this.#deliver(call, caller, patienceMs));
    return call;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#listener = null;
    for (const call of this.calls) call.finish({ cause: 'failed', by: 'network', reason: 'the network has gone' });
    return Promise.resolve();
  }

  #call(
    direction: 'inbound' | 'outbound',
    from: string,
    to: string,
    headers: Readonly<Record<string, string>>,
    far: SimulatedNumber,
  ): SimulatedCall {
    const { clock, sounds, tap, onError, idPrefix = 'sim' } = this.#options;
    const id = `${idPrefix}-${String(++this.#placed)}`;
    const call: SimulatedCall = new SimulatedCall({
      id,
      carrier: this.name,
      direction,
      from,
      to,
      headers,
      far,
      soundOf: (step) => sounds.of(far, step),
      random: new Random(this.#random.int(0, 2 ** 31 - 1)),
      nowMs: () => clock.nowMs(),
      onTransfer: (target, signal) => this.#transfer(call, target, signal),
      onConnect: (other) => this.#connect(call, other),
      onPlace: (target, ringTimeoutMs) => this.#placeFor(call, target, ringTimeoutMs),
      onAnswered: () => this.#startTicks(),
      onEnded: () => this.#ended(call),
      onListenerError: (error) => onError?.(error),
      tap: tap && ((frames) => tap(call, frames)),
    });
    this.calls.add(call);
    return call;
  }

  async #ring(call: SimulatedCall, far: SimulatedNumber | null, ringTimeoutMs: number): Promise<void> {
    if (far === null) call.finish({ cause: 'failed', by: 'network', reason: '404 Not Found' });
    else if (far.picksUp === 'fails')
      call.finish({ cause: 'failed', by: 'network', reason: '503 Service Unavailable' });
    else if (far.picksUp === 'busy') call.finish({ cause: 'busy', by: 'remote', reason: '486 Busy Here' });
    else await this.#ringAt(call, far, ringTimeoutMs);
  }

  async #ringAt(call: SimulatedCall, far: SimulatedNumber, ringTimeoutMs: number): Promise<void> {
    if (!(await this.#prepared(call, far))) return;
    call.ring();
    this.#after(ringTimeoutMs, call, () => {
      if (call.state === 'ringing')
        call.finish({ cause: 'no-answer', by: 'agent', reason: '480 Temporarily Unavailable' });
    });
    if (far.picksUp === 'rings') return;
    this.#after(far.ringMs, call, () => {
      if (call.state !== 'ringing') return;
      if (far.picksUp === 'rejects') call.finish({ cause: 'rejected', by: 'remote', reason: '603 Decline' });
      else call.pickUp();
    });
  }

  async #deliver(call: SimulatedCall, caller: SimulatedNumber, patienceMs: number): Promise<void> {
    const listener = this.#owned.has(call.to) ? this.#listener : null;
    if (listener === null) {
      call.finish({ cause: 'failed', by: 'network', reason: '404 Not Found' });
      return;
    }
    if (!(await this.#prepared(call, caller))) return;
    call.ring();
    this.#after(patienceMs, call, () => {
      if (call.state === 'ringing') call.finish({ cause: 'hangup', by: 'remote', reason: '487 Request Terminated' });
    });
    try {
      listener(call);
    } catch (error) {
      this.#options.onError?.(error);
      call.finish({ cause: 'failed', by: 'network', reason: '500 Server Internal Error' });
    }
  }

  /** Creates the audio of the far end; returns whether the call still exists. */
  async #prepared(call: SimulatedCall, far: SimulatedNumber): Promise<boolean> {
    const { clock, sounds } = this.#options;
    try {
      await clock.settle(sounds.prepare(far), clock.nowMs());
    } catch (error) {
      this.#options.onError?.(error);
      call.finish({ cause: 'failed', by: 'network', reason: '500 Server Internal Error' });
    }
    return call.end === null;
  }

  /** Blind transfer: calls the target, and connects the far end to it if it answers. */
  async #transfer(call: SimulatedCall, target: string, signal: AbortSignal): Promise<TransferOutcome> {
    if (!NUMBER.test(target) || this.#closed) return { ok: false, reason: 'failed' };
    const other = this.#placeFor(call, target, TRANSFER_RING_MS);
    const outcome = await new Promise<TransferOutcome>((resolve) => {
      const giveUp = (): void => other.hangUp();
      signal.addEventListener('abort', giveUp, { once: true });
      other.onState((state) => {
        if (state === 'answered') resolve({ ok: true });
        if (state === 'ended') resolve({ ok: false, reason: failureOf(other) });
        if (state === 'answered' || state === 'ended') signal.removeEventListener('abort', giveUp);
      });
      if (signal.aborted) giveUp();
    });
    if (!outcome.ok) return outcome;
    return this.#connect(call, other);
  }

  /** A call from another call's own number. */
  #placeFor({ direction, from, to }: SimulatedCall, target: string, ringTimeoutMs: number): SimulatedCall {
    return this.placeCall({ from: direction === 'outbound' ? from : to, to: target, ringTimeoutMs });
  }

  #connect(call: SimulatedCall, other: CarrierCall): TransferOutcome {
    if (!(other instanceof SimulatedCall) || call === other) return { ok: false, reason: 'failed' };
    if (call.state !== 'answered' || other.state !== 'answered') {
      other.hangUp();
      return { ok: false, reason: 'failed' };
    }
    const over = { cause: 'hangup', by: 'remote', reason: 'the other side hung up' } as const;
    const bridge = new SimulatedBridge(
      (end, keys) => (end === 'first' ? call : other).actor.digits(keys),
      () => {
        call.finish(over);
        other.finish(over);
      },
    );
    call.handOver(bridge.first);
    other.handOver(bridge.second);
    other.hangUp(); // the agent's part of it
    return { ok: true };
  }

  #ended(call: SimulatedCall): void {
    this.calls.delete(call);
    if (this.calls.size > 0) return;
    this.#stopTicks?.();
    this.#stopTicks = null;
  }

  #startTicks(): void {
    this.#stopTicks ??= this.#options.ticker.subscribe(() => {
      for (const call of this.calls) call.tick();
    });
  }

  /** Runs later, unless the call has ended by then. */
  #after(ms: number, call: SimulatedCall, then: () => void): void {
    const { clock } = this.#options;
    if (call.end !== null) return;
    const cancel = clock.schedule(clock.nowMs() + ms, then);
    call.onState((state) => {
      if (state === 'ended') cancel();
    });
  }
}

function failureOf({ end }: SimulatedCall): 'busy' | 'no-answer' | 'rejected' | 'failed' {
  const cause = end?.cause ?? 'failed';
  if (cause === 'canceled') return 'no-answer';
  return cause === 'busy' || cause === 'no-answer' || cause === 'rejected' ? cause : 'failed';
}

const UNKNOWN_NUMBER: Omit<SimulatedNumber, 'number'> = {
  name: 'unknown number',
  does: 'is not in service',
  picksUp: 'fails',
  ringMs: 0,
  inBandDigits: false,
  voice: '',
  line: {},
  steps: [],
};

/** Maximum audio that waits between two calls, in frames. */
const MAX_WAITING = 10;

/** Connects the far ends of two calls: each call has one end of it in place of its agent. */
class SimulatedBridge {
  readonly first: CallEndpoint;
  readonly second: CallEndpoint;

  /**
   * @param onDigits keys for the far end of the call with the first or the second end
   * @param onGone one of the two calls is over
   */
  constructor(onDigits: (end: 'first' | 'second', keys: string) => void, onGone: () => void) {
    const toFirst: Int16Array[] = [];
    const toSecond: Int16Array[] = [];
    this.first = bridgeEnd(toFirst, toSecond, (keys) => onDigits('second', keys), onGone);
    this.second = bridgeEnd(toSecond, toFirst, (keys) => onDigits('first', keys), onGone);
  }
}

function bridgeEnd(
  from: Int16Array[],
  to: Int16Array[],
  digits: (keys: string) => void,
  gone: () => void,
): CallEndpoint {
  return {
    speak: () => from.shift() ?? null,
    hear: (frame) => {
      if (frame !== null && to.push(frame) > MAX_WAITING) to.shift();
    },
    digits,
    gone,
  };
}

/**
 * The numbers for sale: of each country those that its regulator reserves for fiction, so they belong to no one.
 * Sources: the North American Numbering Plan (555-0100 to 0199), Ofcom, Bundesnetzagentur, ARCEP and ACMA, each
 * "numbers for drama use".
 */
interface Range {
  /** With the country code. */
  prefix: string;
  areaCode: string;
  digits: number;
}

const MONTHLY_CENTS = 100;
const NORTH_AMERICAN = ['202', '212', '303', '312', '415', '617', '702', '206'];

const RANGES: Readonly<Record<string, readonly Range[]>> = {
  US: NORTH_AMERICAN.map(northAmerican),
  CA: ['416', '514', '604'].map(northAmerican),
  GB: [
    { prefix: '+44207946', areaCode: '20', digits: 4 },
    { prefix: '+44113496', areaCode: '113', digits: 4 },
    { prefix: '+44121496', areaCode: '121', digits: 4 },
    { prefix: '+44131496', areaCode: '131', digits: 4 },
    { prefix: '+44161496', areaCode: '161', digits: 4 },
    { prefix: '+447700900', areaCode: '7700', digits: 3 },
  ],
  DE: [
    { prefix: '+493023125', areaCode: '30', digits: 3 },
    { prefix: '+496990009', areaCode: '69', digits: 3 },
    { prefix: '+494066969', areaCode: '40', digits: 3 },
    { prefix: '+492214710', areaCode: '221', digits: 3 },
    { prefix: '+498999998', areaCode: '89', digits: 3 },
  ],
  FR: [
    { prefix: '+3319900', areaCode: '1', digits: 4 },
    { prefix: '+3326191', areaCode: '2', digits: 4 },
    { prefix: '+3335301', areaCode: '3', digits: 4 },
    { prefix: '+3346571', areaCode: '4', digits: 4 },
    { prefix: '+3353649', areaCode: '5', digits: 4 },
  ],
  AU: ['2', '3', '7', '8'].map((areaCode) => ({ prefix: `+61${areaCode}5550`, areaCode, digits: 4 })),
};

/** Matching numbers that are not `taken`, in order; without an area the areas alternate. */
function offers(query: NumberQuery, taken: (number: string) => boolean): NumberOffer[] {
  const { areaCode, limit = 10 } = query;
  const country = query.country.toUpperCase();
  const ranges = rangesOf(country, areaCode);
  const found: NumberOffer[] = [];
  const most = Math.max(0, ...ranges.map(sizeOf));
  for (let index = 0; index < most && found.length < limit; index++) {
    for (const range of ranges) {
      const number = range.prefix + String(index).padStart(range.digits, '0');
      if (index >= sizeOf(range) || found.length === limit || taken(number)) continue;
      found.push({ number, country, monthlyCents: MONTHLY_CENTS });
    }
  }
  return found;
}

function rangesOf(country: string, areaCode: string | undefined): readonly Range[] {
  const ranges = RANGES[country] ?? [];
  if (areaCode === undefined || areaCode === '') return ranges;
  const isNorthAmerican = country === 'US' || country === 'CA';
  // Each area of the plan has 555-01xx.
  if (isNorthAmerican) return /^[2-9]\d\d$/.test(areaCode) ? [northAmerican(areaCode)] : [];
  return ranges.filter((range) => range.areaCode === areaCode.replace(/^0/, ''));
}

function northAmerican(areaCode: string): Range {
  return { prefix: `+1${areaCode}55501`, areaCode, digits: 2 };
}

function sizeOf({ digits }: Range): number {
  return 10 ** digits;
}
