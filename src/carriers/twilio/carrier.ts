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
import type { MediaSocket } from '../media-socket/media-socket.js';
import type { Rest } from '../media-socket/rest.js';
import { SocketCall } from '../media-socket/socket-call.js';
import { TwilioApi } from './api.js';
import { TwilioControl } from './call-control.js';
import { TWILIO_MESSAGES } from './media-messages.js';
import { isSigned } from './signature.js';
import { EMPTY_TWIML, HANG_UP_TWIML, REJECT_TWIML } from './twiml.js';

export interface TwilioCarrierOptions {
  clock: Clock;
  accountSid: string;
  authToken: string;
  /** Where Twilio reaches us, https, with a path where there is one, without a slash at the end. */
  publicUrl: string;
  rest: Rest;
  /** The API that tells prices. */
  pricing: Rest;
  /** Of the account's numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  /** What Twilio tells of machines beside our own judgement: nothing, who answered, or that once a greeting is over. */
  machineDetection: 'Enable' | 'DetectMessageEnd' | null;
  /** Letters and digits that nobody guesses, never the same ones. */
  token: () => string;
  onError?: (error: unknown) => void;
}

const PATH = '/carriers/twilio';
const MOST_FORM_BYTES = 65_536;

/** Calls over Twilio: placed by its REST API, told of by its webhooks, heard over Media Streams. */
export class TwilioCarrier implements Carrier, CarrierDoor {
  readonly name = 'twilio';
  readonly path = PATH;
  /** Requests that were refused because their signature was not right. */
  refused = 0;
  readonly #options: TwilioCarrierOptions;
  readonly #api: TwilioApi;
  readonly #numbers: AccountNumbers;
  readonly #calls: CallBook<TwilioControl>;
  #listener: ((call: CarrierCall) => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: TwilioCarrierOptions) {
    const { clock, accountSid, rest, pricing, owned = [] } = options;
    this.#options = options;
    const [voiceUrl, statusUrl] = [this.#url('voice'), this.#url('status')];
    this.#api = new TwilioApi({ clock, accountSid, rest, pricing, voiceUrl, statusUrl });
    this.#numbers = new AccountNumbers(this.#api, owned);
    this.#calls = new CallBook(clock);
  }

  async searchNumbers(
    { country, areaCode, limit = 10 }: NumberQuery,
    signal: AbortSignal,
  ): Promise<readonly NumberOffer[]> {
    const code = country.toUpperCase();
    const numbers = await this.#api.searchNumbers(code, areaCode, limit, signal);
    if (numbers.length === 0) return [];
    const monthlyCents = await this.#api.monthlyCents(code, signal);
    return numbers.map((number) => ({ number, country: code, monthlyCents }));
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

  async request(request: DoorRequest): Promise<DoorReply> {
    try {
      return await this.#request(request);
    } catch (error) {
      this.#onError(error);
      return { status: 500, contentType: 'text/plain', body: 'something went wrong inside parley' };
    }
  }

  admit({ path, headers }: Omit<DoorRequest, 'body' | 'method'>): ((socket: MediaSocket) => void) | null {
    const { publicUrl, authToken } = this.#options;
    const url = `${publicUrl}${path}`.replace(/^http/, 'ws');
    if (!isSigned(authToken, headers['x-twilio-signature'] ?? '', url, new URLSearchParams())) {
      this.refused++;
      return null;
    }
    const [what, token] = segmentsBelow(PATH, path);
    const control = what === 'media' ? this.#calls.byToken(token) : undefined;
    // A call has one stream at a time: an address that is asked for twice is not Twilio's doing.
    if (control === undefined || control.call.end !== null || control.call.line.hasStream) return null;
    return (socket) => control.call.line.attach(socket);
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

  async #request({ method, path, headers, body }: DoorRequest): Promise<DoorReply> {
    const { publicUrl, authToken, accountSid } = this.#options;
    if (method !== 'POST' || body.length > MOST_FORM_BYTES) return UNKNOWN;
    const form = new URLSearchParams(body.toString('utf8'));
    const isOurs = form.get('AccountSid') === accountSid;
    if (!isOurs || !isSigned(authToken, headers['x-twilio-signature'] ?? '', `${publicUrl}${path}`, form)) {
      this.refused++;
      return REFUSED;
    }
    const [what = '', token, more = ''] = segmentsBelow(PATH, path);
    if (what === 'voice') return twiml(await this.#voice(form));
    const sid = form.get('CallSid') ?? '';
    const control = token === undefined ? this.#calls.byId(sid) : this.#calls.byToken(token);
    switch (what) {
      case 'status':
        control?.status(form);
        return twiml(EMPTY_TWIML);
      case 'answered':
        control?.targetAnswered(more, form.get('CallStatus') ?? '');
        return twiml(EMPTY_TWIML);
      case 'machine':
        control?.machine(form);
        return twiml(EMPTY_TWIML);
      case 'next':
        return twiml(control?.next() ?? HANG_UP_TWIML);
      case 'dialled':
        return twiml(control?.dialled(more, form) ?? HANG_UP_TWIML);
      default:
        return UNKNOWN;
    }
  }

  /** Somebody calls one of our numbers, or Twilio asks once more about such a call. */
  #voice(form: URLSearchParams): Promise<string> {
    const sid = form.get('CallSid') ?? '';
    const known = this.#calls.byId(sid);
    if (known !== undefined) return known.call.direction === 'inbound' ? known.voice() : Promise.resolve(HANG_UP_TWIML);
    const to = form.get('To') ?? '';
    const listener = this.#listener;
    if (!/^CA[0-9a-fA-F]{32}$/.test(sid) || !this.#numbers.has(to) || listener === null || this.#closing !== null) {
      return Promise.resolve(REJECT_TWIML);
    }
    const control = this.#control({
      ...{ direction: 'inbound', id: sid, to },
      from: callerOf(form.get('From') ?? ''),
      headers: passedOn(form),
    });
    const reply = control.voice();
    control.call.ring();
    try {
      listener(control.call);
    } catch (error) {
      this.#onError(error);
      control.call.finish({ cause: 'failed', by: 'agent', reason: reasonOf(error) });
      control.refuse();
    }
    return reply;
  }

  #control(facts: Pick<SocketCall, 'direction' | 'from' | 'to' | 'headers'> & { id: string | null }): TwilioControl {
    const { clock, token: makeToken, machineDetection } = this.#options;
    const token = makeToken();
    const { id, direction } = facts;
    const call = new SocketCall({
      ...facts,
      ...{ id: id ?? token, carrier: this.name, clock, dialect: TWILIO_MESSAGES },
      ...{ encoding: 'mulaw', sampleRateHz: 8_000 },
      line: {
        onStart: (start) => control.started(start),
        onGone: (isStopped) => control.gone(isStopped),
        onBad: (reason) => this.#onError(new ParleyError('CARRIER_MESSAGE_BAD', { carrier: this.name, reason })),
      },
      placeBeside: ({ ours }, target, ringTimeoutMs) => this.placeCall({ from: ours, to: target, ringTimeoutMs }),
      onListenerError: (error) => this.#onError(error),
    });
    const control: TwilioControl = new TwilioControl({
      ...{ call, token, id, clock, api: this.#api },
      url: (what, more) => {
        const url = this.#url([what, token, ...(more === undefined ? [] : [more])].join('/'));
        return what === 'media' ? url.replace(/^http/, 'ws') : url;
      },
      machineDetection: direction === 'outbound' ? machineDetection : null,
      controlOf: (other) => this.#calls.of(other),
      onKnown: (known) => this.#calls.known(known, control),
      onError: (error) => this.#onError(error),
    });
    call.bind(control);
    this.#calls.add(token, control);
    return control;
  }

  #url(what: string): string {
    return `${this.#options.publicUrl}${PATH}/${what}`;
  }

  #onError(error: unknown): void {
    this.#options.onError?.(error);
  }
}

function twiml(body: string): DoorReply {
  return { status: 200, contentType: 'text/xml', body };
}

/** What agents may be told of a call: SIP headers that came with it, and who it was forwarded by. */
function passedOn(form: URLSearchParams): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of form) {
    const header = /^SipHeader_(X-[A-Za-z0-9-]{1,60}|User-to-User|Diversion)$/i.exec(name)?.[1];
    if (header !== undefined) passed[header.toLowerCase()] = value.slice(0, 1_000);
  }
  const forwardedFrom = form.get('ForwardedFrom');
  if (forwardedFrom !== null) passed['diversion'] ??= forwardedFrom.slice(0, 100);
  return passed;
}
