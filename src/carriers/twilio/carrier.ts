import type { Cancel, Clock } from '../../clock/clock.js';
import { ParleyError, reasonOf } from '../../errors.js';
import type { CallRequest, Carrier, CarrierCall, NumberOffer, NumberQuery } from '../carrier.js';
import { type CarrierDoor, type DoorReply, type DoorRequest, REFUSED, UNKNOWN } from '../media-socket/door.js';
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
const NUMBER = /^\+[1-9]\d{6,14}$/;
const SIP = /^sips?:[^\s@]+@[^\s@]+$/i;
const MOST_FORM_BYTES = 65_536;
/** What Twilio may still ask about a call that is over. */
const KEPT_MS = 600_000;
/** Ends of calls are waited for so long when the carrier closes. */
const CLOSE_MS = 5_000;

/** Calls over Twilio: placed by its REST API, told of by its webhooks, heard over Media Streams. */
export class TwilioCarrier implements Carrier, CarrierDoor {
  readonly name = 'twilio';
  readonly path = PATH;
  /** Requests that were refused because their signature was not right. */
  refused = 0;
  readonly #options: TwilioCarrierOptions;
  readonly #api: TwilioApi;
  readonly #owned: Set<string>;
  readonly #byToken = new Map<string, TwilioControl>();
  readonly #bySid = new Map<string, TwilioControl>();
  readonly #byCall = new WeakMap<CarrierCall, TwilioControl>();
  /** Calls that are over, in the order of their ends: Twilio may still ask about them. */
  readonly #over: { token: string; control: TwilioControl; atMs: number }[] = [];
  #listener: ((call: CarrierCall) => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: TwilioCarrierOptions) {
    const { clock, accountSid, rest, pricing, owned } = options;
    this.#options = options;
    this.#api = new TwilioApi({ clock, accountSid, rest, pricing });
    this.#owned = new Set(owned);
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

  /** Buys a number, or takes one into use that the account has. */
  async buyNumber(number: string, signal: AbortSignal): Promise<void> {
    if (this.#owned.has(number) || !NUMBER.test(number)) throw new ParleyError('NUMBER_UNAVAILABLE', { number });
    const [voiceUrl, statusUrl] = [this.#url('voice'), this.#url('status')];
    const existing = await this.#api.findNumber(number, signal);
    if (existing === null) await this.#api.buyNumber(number, voiceUrl, statusUrl, signal);
    else await this.#api.direct(existing.sid, voiceUrl, statusUrl, signal);
    this.#owned.add(number);
  }

  async releaseNumber(number: string, signal: AbortSignal): Promise<void> {
    if (!this.#owned.has(number)) throw new ParleyError('NUMBER_NOT_OWNED', { number });
    const found = await this.#api.findNumber(number, signal);
    if (found !== null) await this.#api.releaseNumber(found.sid, signal);
    this.#owned.delete(number);
  }

  ownedNumbers(): Promise<readonly string[]> {
    return Promise.resolve([...this.#owned]);
  }

  placeCall({ from, to, ringTimeoutMs, headers = {} }: CallRequest): SocketCall {
    if (this.#closing !== null) throw new ParleyError('CARRIER_CLOSED', { carrier: this.name });
    if (!NUMBER.test(from)) throw new ParleyError('NUMBER_INVALID', { number: from.slice(0, 40) });
    if (!NUMBER.test(to) && !SIP.test(to)) throw new ParleyError('NUMBER_INVALID', { number: to.slice(0, 40) });
    const control = this.#control({ direction: 'outbound', sid: null, from, to, headers });
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
    const [what, token] = this.#segments(path);
    const control = what === 'media' && token !== undefined ? this.#byToken.get(token) : undefined;
    // A call has one stream at a time: an address that is asked for twice is not Twilio's doing.
    if (control === undefined || control.call.end !== null || control.call.line.hasStream) return null;
    return (socket) => control.call.line.attach(socket);
  }

  /** Ends all calls. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
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
    const [what = '', token, more = ''] = this.#segments(path);
    if (what === 'voice') return twiml(await this.#voice(form));
    const sid = form.get('CallSid') ?? '';
    const control = token === undefined ? this.#bySid.get(sid) : this.#byToken.get(token);
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
    const known = this.#bySid.get(sid);
    if (known !== undefined) return known.call.direction === 'inbound' ? known.voice() : Promise.resolve(HANG_UP_TWIML);
    const to = form.get('To') ?? '';
    const listener = this.#listener;
    if (!/^CA[0-9a-fA-F]{32}$/.test(sid) || !this.#owned.has(to) || listener === null || this.#closing !== null) {
      return Promise.resolve(REJECT_TWIML);
    }
    const from = form.get('From') ?? '';
    const control = this.#control({
      ...{ direction: 'inbound', sid, to },
      from: NUMBER.test(from) || SIP.test(from) ? from : 'anonymous',
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

  #control(facts: Pick<SocketCall, 'direction' | 'from' | 'to' | 'headers'> & { sid: string | null }): TwilioControl {
    const { clock, token: makeToken, machineDetection } = this.#options;
    this.#forget();
    const token = makeToken();
    const { sid, direction } = facts;
    const call = new SocketCall({
      ...facts,
      ...{ id: sid ?? token, carrier: this.name, clock, dialect: TWILIO_MESSAGES },
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
      ...{ call, token, sid, clock, api: this.#api },
      url: (what, more) => {
        const url = this.#url([what, token, ...(more === undefined ? [] : [more])].join('/'));
        return what === 'media' ? url.replace(/^http/, 'ws') : url;
      },
      machineDetection: direction === 'outbound' ? machineDetection : null,
      controlOf: (other) => this.#byCall.get(other) ?? null,
      onKnown: (known) => this.#bySid.set(known, control),
      onError: (error) => this.#onError(error),
    });
    call.bind(control);
    call.onState((state) => {
      if (state === 'ended') this.#over.push({ token, control, atMs: clock.nowMs() });
    });
    this.#byToken.set(token, control);
    this.#byCall.set(call, control);
    if (sid !== null) this.#bySid.set(sid, control);
    return control;
  }

  /** Calls that have been over for long enough are forgotten. */
  #forget(): void {
    const nowMs = this.#options.clock.nowMs();
    for (let first = this.#over[0]; first !== undefined && first.atMs + KEPT_MS < nowMs; first = this.#over[0]) {
      this.#over.shift();
      this.#byToken.delete(first.token);
      if (first.control.sid !== null) this.#bySid.delete(first.control.sid);
    }
  }

  #url(what: string): string {
    return `${this.#options.publicUrl}${PATH}/${what}`;
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
    this.#bySid.clear();
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
