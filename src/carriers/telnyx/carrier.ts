import { type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Cancel, Clock } from '../../clock/clock.js';
import { ParleyError, reasonOf } from '../../errors.js';
import type { CallRequest, Carrier, CarrierCall, NumberOffer, NumberQuery } from '../carrier.js';
import { AccountNumbers, assertPlaceable, callerOf } from '../media-socket/account-numbers.js';
import { CallBook } from '../media-socket/call-book.js';
import {
  type CarrierDoor,
  type DoorReply,
  type DoorRequest,
  REFUSED,
  segmentsBelow,
  UNKNOWN,
} from '../media-socket/door.js';
import { insist } from '../media-socket/insist.js';
import type { MediaSocket } from '../media-socket/media-socket.js';
import type { Rest } from '../media-socket/rest.js';
import { SocketCall } from '../media-socket/socket-call.js';
import { TelnyxApi, type TelnyxDetection } from './api.js';
import { TelnyxControl } from './call-control.js';
import { readEvent, type TelnyxEvent } from './event.js';
import { TELNYX_CODECS, type TelnyxCodec, telnyxMessages } from './media-messages.js';
import { inOrder } from './media-order.js';
import { isSigned, publicKeyOf, TOLERANCE_S } from './signature.js';

export interface TelnyxCarrierOptions {
  clock: Clock;
  /** The time of day, in milliseconds since 1970: webhooks are of now. */
  unixMs: () => number;
  /** The account's public key for webhooks, 32 bytes in base64. */
  publicKey: string;
  /** The Voice API application; taking a number into use has its webhooks come to `/carriers/telnyx/webhook` here. */
  connectionId: string;
  /** Where Telnyx reaches us, https, with a path where there is one, without a slash at the end. */
  publicUrl: string;
  /** Below https://api.telnyx.com/v2, with the account's key. */
  rest: Rest;
  /** Of the account's numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  codec: TelnyxCodec;
  /** What Telnyx tells of machines beside our own judgement. */
  machineDetection: TelnyxDetection | null;
  /** Letters, digits, `-` and `_` that nobody guesses, never the same ones. */
  token: () => string;
  onError?: (error: unknown) => void;
}

const PATH = '/carriers/telnyx';
const MOST_BODY_BYTES = 262_144;
/** Events are remembered for as long as their signature holds, so that none counts twice; more than these are not. */
const MOST_SEEN = 20_000;
const TAKEN: DoorReply = { status: 200, contentType: 'text/plain', body: '' };

/** Calls over Telnyx: placed by its Call Control API, told of by its webhooks, heard over media streams. */
export class TelnyxCarrier implements Carrier, CarrierDoor {
  readonly name = 'telnyx';
  readonly path = PATH;
  /** Requests that were refused because their signature or their token was not right. */
  refused = 0;
  readonly #options: TelnyxCarrierOptions;
  readonly #key: KeyObject;
  readonly #api: TelnyxApi;
  readonly #numbers: AccountNumbers;
  readonly #calls: CallBook<TelnyxControl>;
  /** Events that have been dealt with, oldest first, and until when they are remembered. */
  readonly #seen = new Map<string, number>();
  #listener: ((call: CarrierCall) => void) | null = null;
  #closing: Promise<void> | null = null;

  /** @throws ParleyError CONFIG_INVALID for a key that is none */
  constructor(options: TelnyxCarrierOptions) {
    const { clock, rest, connectionId, codec, owned = [], publicKey, publicUrl } = options;
    const webhookUrl = `${publicUrl}${PATH}/webhook`;
    this.#options = options;
    this.#key = publicKeyOf(publicKey);
    this.#api = new TelnyxApi({ clock, rest, connectionId, webhookUrl, codec });
    this.#numbers = new AccountNumbers(this.#api, owned);
    this.#calls = new CallBook(clock);
  }

  searchNumbers({ country, areaCode, limit = 10 }: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]> {
    return this.#api.searchNumbers(country.toUpperCase(), areaCode, limit, signal);
  }

  buyNumber(number: string, signal: AbortSignal): Promise<void> {
    return this.#numbers.buy(number, signal);
  }

  releaseNumber(number: string, signal: AbortSignal): Promise<void> {
    return this.#numbers.release(number, signal);
  }

  ownedNumbers(): Promise<readonly string[]> {
    return this.#numbers.list();
  }

  placeCall({ from, to, ringTimeoutMs, headers = {} }: CallRequest): SocketCall {
    if (this.#closing !== null) throw new ParleyError('CARRIER_CLOSED', { carrier: this.name });
    assertPlaceable(from, to);
    const control = this.#control({ direction: 'outbound', id: null, from, to, headers });
    void control.place(ringTimeoutMs);
    return control.call;
  }

  receiveCalls(listener: (call: CarrierCall) => void): Cancel {
    this.#listener = listener;
    return () => {
      if (this.#listener === listener) this.#listener = null;
    };
  }

  /** Takes a webhook. Commands go out by themselves: Telnyx does not wait for an answer with any. */
  request({ method, path, headers, body }: DoorRequest): Promise<DoorReply> {
    return Promise.resolve(this.#request(method, path, headers, body));
  }

  admit({ path, headers }: Omit<DoorRequest, 'body' | 'method'>): ((socket: MediaSocket) => void) | null {
    const [what, token] = segmentsBelow(PATH, path);
    const control = what === 'media' ? this.#calls.byToken(token) : undefined;
    // A stream that is asked for with the answer of a call has no token but the one in its address.
    const shown = headers['x-telnyx-streaming-auth-token'];
    if (control === undefined || (shown !== undefined && !isEqual(shown, control.authToken))) {
      this.refused++;
      return null;
    }
    // A call has one stream at a time.
    if (control.call.end !== null || control.call.line.hasStream) return null;
    return (socket) => control.call.line.attach(inOrder(socket));
  }

  counts(): Readonly<Record<string, number>> {
    return { refused: this.refused, ...this.#calls.counts() };
  }

  /** Ends all calls. May be called twice. */
  close(): Promise<void> {
    this.#listener = null;
    this.#closing ??= this.#calls.close();
    return this.#closing;
  }

  #request(method: string, path: string, headers: DoorRequest['headers'], body: Buffer): DoorReply {
    const [what] = segmentsBelow(PATH, path);
    if (method !== 'POST' || what !== 'webhook' || body.length > MOST_BODY_BYTES) return UNKNOWN;
    if (!isSigned(this.#key, headers, body, this.#options.unixMs())) {
      this.refused++;
      return REFUSED;
    }
    const event = readEvent(body);
    if (event === null || this.#isSeen(event.id)) return TAKEN;
    try {
      this.#tell(event);
    } catch (error) {
      this.#onError(error);
    }
    return TAKEN;
  }

  #tell(event: TelnyxEvent): void {
    const { type, callControlId, state, isIncoming } = event;
    const [token = '', attempt] = state.split('.');
    const control = this.#calls.byId(callControlId) ?? this.#calls.byToken(token);
    if (control === undefined) {
      if (type === 'call.initiated' && isIncoming) this.#incoming(event);
    } else if (attempt === undefined) control.event(event);
    else control.targetEvent(attempt, event);
  }

  /** Somebody calls one of our numbers. */
  #incoming({ callControlId: id, from, to, headers }: TelnyxEvent): void {
    const { clock, token } = this.#options;
    const listener = this.#listener;
    if (!this.#numbers.has(to) || listener === null || this.#closing !== null) {
      const reject = (): Promise<void> => this.#api.reject(id, token(), new AbortController().signal);
      void insist(
        clock,
        reject,
        () => false,
        (error) => this.#onError(error),
      );
      return;
    }
    const control = this.#control({ direction: 'inbound', id, from: callerOf(from), to, headers });
    control.offer();
    try {
      listener(control.call);
    } catch (error) {
      this.#onError(error);
      control.call.finish({ cause: 'failed', by: 'agent', reason: reasonOf(error) });
      control.refuse();
    }
  }

  #control(facts: Pick<SocketCall, 'direction' | 'from' | 'to' | 'headers'> & { id: string | null }): TelnyxControl {
    const { clock, token: makeToken, machineDetection, codec, publicUrl } = this.#options;
    const token = makeToken();
    const { id, direction } = facts;
    const call = new SocketCall({
      ...facts,
      ...{ id: id ?? token, carrier: this.name, clock, dialect: telnyxMessages(), ...TELNYX_CODECS[codec] },
      line: {
        onStart: (start) => control.started(start),
        onGone: (isStopped) => control.gone(isStopped),
        onBad: (reason) => this.#onError(new ParleyError('CARRIER_MESSAGE_BAD', { carrier: this.name, reason })),
      },
      placeBeside: ({ ours }, target, ringTimeoutMs) => this.placeCall({ from: ours, to: target, ringTimeoutMs }),
      onListenerError: (error) => this.#onError(error),
    });
    const control: TelnyxControl = new TelnyxControl({
      ...{ call, token, id, clock, api: this.#api },
      webhookUrl: `${publicUrl}${PATH}/webhook`,
      stream: { url: `${publicUrl}${PATH}/media/${token}`.replace(/^http/, 'ws'), authToken: makeToken() },
      // An answer cannot name the sampling rate.
      streamsWithAnswer: codec !== 'L16',
      detection: direction === 'outbound' ? machineDetection : null,
      controlOf: (other) => this.#calls.of(other),
      onKnown: (known) => this.#calls.known(known, control),
      onError: (error) => this.#onError(error),
    });
    call.bind(control);
    this.#calls.add(token, control);
    return control;
  }

  /** Whether an event has come before; from now on it has. */
  #isSeen(id: string): boolean {
    const nowMs = this.#options.clock.nowMs();
    for (const [old, untilMs] of this.#seen) {
      if (untilMs > nowMs && this.#seen.size < MOST_SEEN) break;
      this.#seen.delete(old);
    }
    if (id === '') return false;
    if (this.#seen.has(id)) return true;
    this.#seen.set(id, nowMs + 2 * TOLERANCE_S * 1000);
    return false;
  }

  #onError(error: unknown): void {
    this.#options.onError?.(error);
  }
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
