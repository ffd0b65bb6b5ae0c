import { type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Cancel, Clock } from '../../clock/clock.js';
import { ParleyError, reasonOf } from '../../errors.js';
import type { CallRequest, Carrier, CarrierCall, NumberOffer, NumberQuery } from '../carrier.js';
import { type CarrierDoor, type DoorReply, type DoorRequest, REFUSED, UNKNOWN } from '../media-socket/door.js';
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
  /** The Voice API application, whose webhooks come to `/carriers/telnyx/webhook` here. */
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
const NUMBER = /^\+[1-9]\d{6,14}$/;
const SIP = /^sips?:[^\s@,]+@[^\s@,]+$/i;
const MOST_BODY_BYTES = 262_144;
/** What Telnyx may still tell of a call that is over. */
const KEPT_MS = 600_000;
/** Ends of calls are waited for so long when the carrier closes. */
const CLOSE_MS = 5_000;
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
  readonly #owned: Set<string>;
  readonly #byToken = new Map<string, TelnyxControl>();
  readonly #byId = new Map<string, TelnyxControl>();
  readonly #byCall = new WeakMap<CarrierCall, TelnyxControl>();
  /** Events that have been dealt with, oldest first, and until when they are remembered. */
  readonly #seen = new Map<string, number>();
  #listener: ((call: CarrierCall) => void) | null = null;
  #closing: Promise<void> | null = null;

  /** @throws ParleyError CONFIG_INVALID for a key that is none */
  constructor(options: TelnyxCarrierOptions) {
    const { clock, rest, connectionId, codec, owned, publicKey } = options;
    this.#options = options;
    this.#key = publicKeyOf(publicKey);
    this.#api = new TelnyxApi({ clock, rest, connectionId, codec });
    this.#owned = new Set(owned);
  }

  searchNumbers({ country, areaCode, limit = 10 }: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]> {
    return this.#api.searchNumbers(country.toUpperCase(), areaCode, limit, signal);
  }

  /** Buys a number, or takes one into use that the account has. */
  async buyNumber(number: string, signal: AbortSignal): Promise<void> {
    if (this.#owned.has(number) || !NUMBER.test(number)) throw new ParleyError('NUMBER_UNAVAILABLE', { number });
    const existing = await this.#api.findNumber(number, signal);
    if (existing === null) await this.#api.buyNumber(number, signal);
    else await this.#api.direct(existing, signal);
    this.#owned.add(number);
  }

  async releaseNumber(number: string, signal: AbortSignal): Promise<void> {
    if (!this.#owned.has(number)) throw new ParleyError('NUMBER_NOT_OWNED', { number });
    const found = await this.#api.findNumber(number, signal);
    if (found !== null) await this.#api.releaseNumber(found, signal);
    this.#owned.delete(number);
  }

  ownedNumbers(): Promise<readonly string[]> {
    return Promise.resolve([...this.#owned]);
  }

  placeCall({ from, to, ringTimeoutMs, headers = {} }: CallRequest): SocketCall {
    if (this.#closing !== null) throw new ParleyError('CARRIER_CLOSED', { carrier: this.name });
    if (!NUMBER.test(from)) throw new ParleyError('NUMBER_INVALID', { number: from.slice(0, 40) });
    if (!NUMBER.test(to) && !SIP.test(to)) throw new ParleyError('NUMBER_INVALID', { number: to.slice(0, 40) });
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
    const [what, token] = this.#segments(path);
    const control = what === 'media' && token !== undefined ? this.#byToken.get(token) : undefined;
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

  /** Ends all calls. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #request(method: string, path: string, headers: DoorRequest['headers'], body: Buffer): DoorReply {
    const [what] = this.#segments(path);
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
    const control = this.#byId.get(callControlId) ?? this.#byToken.get(token);
    if (control === undefined) {
      if (type === 'call.initiated' && isIncoming) this.#incoming(event);
    } else if (attempt === undefined) control.event(event);
    else control.targetEvent(attempt, event);
  }

  /** Somebody calls one of our numbers. */
  #incoming({ callControlId: id, from, to, headers }: TelnyxEvent): void {
    const { clock, token } = this.#options;
    const listener = this.#listener;
    if (!this.#owned.has(to) || listener === null || this.#closing !== null) {
      const reject = (): Promise<void> => this.#api.reject(id, token(), new AbortController().signal);
      void insist(
        clock,
        reject,
        () => false,
        (error) => this.#onError(error),
      );
      return;
    }
    const caller = NUMBER.test(from) || SIP.test(from) ? from : 'anonymous';
    const control = this.#control({ direction: 'inbound', id, from: caller, to, headers });
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
      controlOf: (other) => this.#byCall.get(other) ?? null,
      onKnown: (known) => this.#byId.set(known, control),
      onOver: () => this.#forgetLater(token, control),
      onError: (error) => this.#onError(error),
    });
    call.bind(control);
    // A call that Telnyx never told of has nobody to ask about it for ever.
    call.onState((state) => {
      if (state === 'ended') this.#forgetLater(token, control);
    });
    this.#byToken.set(token, control);
    this.#byCall.set(call, control);
    if (id !== null) this.#byId.set(id, control);
    return control;
  }

  #forgetLater(token: string, control: TelnyxControl): void {
    const { clock } = this.#options;
    clock.schedule(clock.nowMs() + KEPT_MS, () => {
      this.#byToken.delete(token);
      if (control.id !== null) this.#byId.delete(control.id);
    });
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

  /** What is asked for behind our path. */
  #segments(path: string): string[] {
    const [plain = ''] = path.split('?');
    return plain.startsWith(`${PATH}/`) ? plain.slice(PATH.length + 1).split('/') : [];
  }

  #onError(error: unknown): void {
    this.#options.onError?.(error);
  }

  async #close(): Promise<void> {
    const { clock } = this.#options;
    this.#listener = null;
    const controls = [...this.#byToken.values()];
    for (const control of controls) {
      const wasUnder = control.call.end === null;
      control.call.finish({ cause: 'failed', by: 'network', reason: 'the carrier is closed' });
      if (wasUnder) control.hangUp();
    }
    let cancel: Cancel = () => undefined;
    const late = new Promise<void>((resolve) => (cancel = clock.schedule(clock.nowMs() + CLOSE_MS, resolve)));
    await Promise.race([Promise.all(controls.map(({ ended }) => ended)), late]);
    cancel();
    for (const control of controls) control.close();
    this.#byToken.clear();
    this.#byId.clear();
  }
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
