import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import type {
  CallRefusal,
  CallRequest,
  Carrier,
  CarrierCall,
  NumberOffer,
  NumberQuery,
  SocketRefusal,
} from '../carrier.js';
import { AccountNumbers, assertPlaceable, type NumberDesk } from './account-numbers.js';
import {
  type WebhookEndpoint,
  type CarrierState,
  type WebhookReply,
  type WebhookRequest,
  type WebhookSubject,
  segmentsBelow,
  UNKNOWN,
} from './webhook-endpoint.js';
import type { MediaMessage } from './dialect.js';
import type { LegParts } from './leg-control.js';
import type { MediaSocket } from './media-socket.js';
import { type SocketCallControl, SocketCall, type SocketCallOptions } from './socket-call.js';
import { waitAtMost } from '../../../base/deadlines.js';
import type { MediaCounts } from './socket-line.js';

export interface SocketCarrierOptions {
  clock: Clock;
  /** Letters, digits, `-` and `_`, unpredictable and unique. */
  token: () => string;
  /** Initial own numbers among the account's numbers. */
  owned?: readonly string[];
  onError?: ((error: unknown) => void) | undefined;
  /** A request, media socket or inbound call was refused. */
  onRefused?: ((refusal: SocketRefusal, why: string) => void) | undefined;
}

/** For the operator. */
const WHY: Readonly<Record<CallRefusal, string>> = {
  declined: 'it is declined',
  unknown: 'its number is not known',
  unavailable: 'its number has no agent, or is not active',
  full: 'there is no room for another call',
  failed: 'the agent cannot take it',
};

/** A carrier's part of a call. */
export interface SocketControl extends SocketCallControl, BookedCall {
  /** Places the call at the carrier. */
  place(ringTimeoutMs: number): Promise<void>;
  /** Whether the carrier may open a media socket for the call now. */
  readonly takesStream: boolean;
  started(start: MediaMessage & { type: 'start' }): void;
  gone(isStopped: boolean): void;
}

export interface SocketCallFacts extends Pick<SocketCall, 'direction' | 'from' | 'to' | 'headers'> {
  /** The carrier's id; null = not known yet. */
  id: string | null;
}

/** Format and encoding of a call's media socket. */
export type CallWire = Pick<SocketCallOptions, 'dialect' | 'encoding' | 'sampleRateHz'>;

/** Maximum size of a webhook. */
const MOST_BODY_BYTES = 262_144;
const BROKEN: WebhookReply = { status: 500, contentType: 'text/plain', body: 'something went wrong inside parley' };

/** The common part of carriers with webhooks and media sockets: calls, numbers and listener. */
export abstract class SocketCarrier<C extends SocketControl> implements Carrier, WebhookEndpoint {
  abstract readonly name: string;
  abstract readonly path: string;
  /** Number of requests with a wrong signature or token. */
  refused = 0;
  protected readonly calls: CallBook<C>;
  protected readonly numbers: AccountNumbers;
  readonly #options: SocketCarrierOptions;
  #listener: ((call: CarrierCall) => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: SocketCarrierOptions, desk: NumberDesk) {
    this.#options = options;
    this.numbers = new AccountNumbers(desk, options.owned ?? []);
    this.calls = new CallBook(options.clock);
  }

  abstract searchNumbers(query: NumberQuery, signal: AbortSignal): Promise<readonly NumberOffer[]>;
  abstract admit(request: Omit<WebhookRequest, 'body' | 'method'>): ((socket: MediaSocket) => void) | null;
  abstract subjectOf(request: Omit<WebhookRequest, 'method'>): WebhookSubject;

  buyNumber(number: string, signal: AbortSignal): Promise<void> {
    return this.numbers.buy(number, signal);
  }

  directNumber(number: string, signal: AbortSignal): Promise<void> {
    return this.numbers.direct(number, signal);
  }

  releaseNumber(number: string, signal: AbortSignal): Promise<void> {
    return this.numbers.release(number, signal);
  }

  setOwned(numbers: readonly string[]): readonly string[] {
    return this.numbers.set(numbers);
  }

  ownedNumbers(): Promise<readonly string[]> {
    return this.numbers.list();
  }

  placeCall({ from, to, ringTimeoutMs, headers = {} }: CallRequest): SocketCall {
    if (this.#closing !== null) throw new ParleyError('CARRIER_CLOSED', { carrier: this.name });
    assertPlaceable(from, to);
    const control = this.open({ direction: 'outbound', id: null, from, to, headers });
    void control.place(ringTimeoutMs);
    return control.call;
  }

  receiveCalls(listener: (call: CarrierCall) => void): Cancel {
    this.#listener = listener;
    return () => {
      if (this.#listener === listener) this.#listener = null;
    };
  }

  counts(): Readonly<Record<string, number>> {
    return { refused: this.refused, ...this.calls.counts() };
  }

  get state(): CarrierState {
    return { name: this.name, numbers: this.numbers.all, calls: this.calls.underWay };
  }

  /** Ends all calls. May be called twice. */
  close(): Promise<void> {
    this.#listener = null;
    this.#closing ??= this.calls.close();
    return this.#closing;
  }

  async request(request: WebhookRequest): Promise<WebhookReply> {
    if (request.body.length > MOST_BODY_BYTES) return UNKNOWN;
    try {
      return await this.reply(request);
    } catch (error) {
      this.onError(error);
      return BROKEN;
    }
  }

  /** Answers an authenticated webhook. */
  protected abstract reply(request: WebhookRequest): WebhookReply | Promise<WebhookReply>;

  /** Creates the carrier's part of a call. */
  protected abstract control(parts: LegParts<C>): C;

  protected abstract wire(): CallWire;

  /** Whether a listener takes calls to a number. Counts a refusal otherwise. */
  protected takes(number: string): boolean {
    const isOurs = this.numbers.has(number);
    if (isOurs && this.#listener !== null && this.#closing === null) return true;
    if (isOurs) this.#options.onRefused?.('full', `a call to ${number}: this daemon takes no calls now`);
    else this.#options.onRefused?.('number', `a call to ${number.slice(0, 40)}, which is no number of ours`);
    return false;
  }

  /** The request is not proven to be the carrier's. @param what the request, and possible wrong settings */
  protected notProved(what: string): void {
    this.refused++;
    this.#options.onRefused?.('signature', what);
  }

  /** The call of a media socket's path. */
  protected callOfMedia(path: string): C | undefined {
    const [what, token] = segmentsBelow(this.path, path);
    return what === 'media' ? this.calls.byToken(token) : undefined;
  }

  /** A call has one stream at a time: a request for another, or for an ended call, does not come from the carrier. */
  protected streaming({ call, takesStream }: C): ((socket: MediaSocket) => void) | null {
    return takesStream ? (socket) => call.line.attach(socket) : null;
  }

  /** Offers a ringing call to the listener; one that throws refuses it. */
  protected offer(control: C): void {
    try {
      this.#listener?.(control.call);
    } catch (error) {
      this.onError(error);
      control.call.finish({ cause: 'failed', by: 'agent', reason: reasonOf(error) });
      this.#options.onRefused?.('failed', `a call to ${control.call.to}: ${WHY.failed}`);
      control.refuse('failed');
    }
  }

  /** Creates a call and adds it to the book. */
  protected open({ id, ...facts }: SocketCallFacts): C {
    const { clock, token: makeToken } = this.#options;
    const token = makeToken();
    const call = new SocketCall({
      ...facts,
      ...this.wire(),
      id: id ?? token,
      carrier: this.name,
      clock,
      line: {
        onStart: (start) => control.started(start),
        onGone: (isStopped) => control.gone(isStopped),
        onBad: (reason) => this.onError(new ParleyError('CARRIER_MESSAGE_BAD', { carrier: this.name, reason })),
      },
      placeBeside: ({ ours }, target, ringTimeoutMs) => this.placeCall({ from: ours, to: target, ringTimeoutMs }),
      onRefused: (refusal) => {
        const reason = refusal === 'unknown' ? 'number' : refusal;
        this.#options.onRefused?.(reason, `a call to ${facts.to}: ${WHY[refusal]}`);
      },
      onListenerError: (error) => this.onError(error),
    });
    const control: C = this.control({
      call,
      token,
      id,
      clock,
      controlOf: (other) => this.calls.of(other),
      onKnown: (known) => this.calls.known(known, control),
      onError: (error) => this.onError(error),
    });
    call.bind(control);
    this.calls.add(token, control);
    return control;
  }

  protected onError(error: unknown): void {
    this.#options.onError?.(error);
  }
}

/** A carrier's call, and its control. */
export interface BookedCall {
  readonly call: SocketCall;
  /** The carrier's id, once it is known. */
  readonly id: string | null;
  /** Resolves when the carrier knows of the end, or does not answer. */
  readonly ended: Promise<void>;
  hangUp(): void;
  /** Cancels everything in progress. */
  close(): void;
}

/** The carrier may still ask about an ended call for this long. */
const KEPT_MS = 600_000;
/** Deadline for the ends of calls when the carrier closes. */
const CLOSE_MS = 5_000;

/** A carrier's calls, by parley's token and by the carrier's id. */
export class CallBook<C extends BookedCall> {
  readonly #clock: Clock;
  readonly #byToken = new Map<string, C>();
  readonly #byId = new Map<string, C>();
  readonly #byCall = new WeakMap<CarrierCall, C>();
  /** Counts of forgotten calls. */
  readonly #counts: MediaCounts = { badMessages: 0, droppedMs: 0, missingMs: 0, unsentFrames: 0, streams: 0 };
  /** Ended calls, in the order of their ends. */
  readonly #over: { token: string; booked: C; atMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(token: string, booked: C): void {
    this.#forget();
    this.#byToken.set(token, booked);
    this.#byCall.set(booked.call, booked);
    if (booked.id !== null) this.#byId.set(booked.id, booked);
    booked.call.onState((state) => {
      if (state === 'ended') this.#over.push({ token, booked, atMs: this.#clock.nowMs() });
    });
  }

  /** The carrier's id of a call has become known. */
  known(id: string, booked: C): void {
    this.#byId.set(id, booked);
  }

  byToken(token: string | undefined): C | undefined {
    return token === undefined ? undefined : this.#byToken.get(token);
  }

  byId(id: string): C | undefined {
    return this.#byId.get(id);
  }

  of(call: CarrierCall): C | null {
    return this.#byCall.get(call) ?? null;
  }

  /** Number of calls in progress. */
  get underWay(): number {
    let count = 0;
    for (const { call } of this.#byToken.values()) if (call.end === null) count++;
    return count;
  }

  /** Audio statistics of all calls so far. */
  counts(): MediaCounts {
    const sums = { ...this.#counts };
    for (const { call } of this.#byToken.values()) add(sums, call.line.counts);
    return sums;
  }

  /** Ends all calls, and waits at most 5 s until the carrier knows. */
  async close(): Promise<void> {
    const all = [...this.#byToken.values()];
    for (const booked of all) {
      if (booked.call.end !== null) continue;
      booked.call.finish({ cause: 'failed', by: 'network', reason: 'the carrier is closed' });
      booked.hangUp();
    }
    await waitAtMost(this.#clock, CLOSE_MS, Promise.all(all.map(({ ended }) => ended)));
    for (const booked of all) booked.close();
    this.#byToken.clear();
    this.#byId.clear();
  }

  /** Forgets calls that ended long enough ago. */
  #forget(): void {
    const nowMs = this.#clock.nowMs();
    for (let first = this.#over[0]; first !== undefined && first.atMs + KEPT_MS < nowMs; first = this.#over[0]) {
      this.#over.shift();
      this.#byToken.delete(first.token);
      add(this.#counts, first.booked.call.line.counts);
      if (first.booked.id !== null) this.#byId.delete(first.booked.id);
    }
  }
}

function add(sums: MediaCounts, counts: Readonly<MediaCounts>): void {
  for (const name of Object.keys(sums) as (keyof MediaCounts)[]) sums[name] += counts[name];
}
