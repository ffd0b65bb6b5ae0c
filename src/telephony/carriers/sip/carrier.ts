import type { SpecialInformation } from '../../../audio/tones/special-information-tones.js';
import type { Cancel } from '../../../base/clock.js';
import type { Ticker } from '../../../base/ticker.js';
import type { SessionLine } from '../../../engine/remote-line.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { type CodecName, CODECS } from '../../../transports/rtp/media-codec.js';
import type { InboundCall } from '../../sip/call/inbound.js';
import type { SipOutboundCall } from '../../sip/call/outbound.js';
import type { Hop } from '../../sip/hop.js';
import type { SipRequest } from '../../sip/message.js';
import type { RegistrationState } from '../../sip/trunk/registration.js';
import type { SipServerState } from '../../sip/trunk/servers.js';
import { quoted, wireOf } from '../../sip/scan.js';
import { hostText, parseSipUri, userOf, userText } from '../../sip/uri.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import { OwnedNumbers } from '../owned-numbers.js';
import {
  type CallEnd,
  type CallRequest,
  type Carrier,
  type CarrierCall,
  type NumberOffer,
  type NumberQuery,
} from '../carrier.js';
import { SipCall } from './call.js';
import { asAnnounced, endOfFailure } from './end-cause.js';
import {
  ANONYMOUS,
  callerOf,
  type Identity,
  identityOf,
  MOST_ID_CHARS,
  otherwiseCalled,
  passedOn,
  refuse,
  settable,
} from './headers.js';
import { LocalCallMedia } from './local-call-media.js';
import type { CallMediaHost, OpenMedia } from './call-media-host.js';
import { type Addressing, addressOfUser, addressToCall, isNumber, numberOfUser } from './numbers.js';
import { connectCalls, transferBlindly, type TransferMode, type TransferOptions } from './transfer.js';
import { Trunk, type TrunkOptions } from './trunk.js';

export interface SipCarrierOptions extends Omit<TrunkOptions, 'onCall' | 'takes'> {
  /** The trunk's name for the operator. Default `default` */
  trunkName?: string | undefined;
  ticker: Ticker;
  openMedia: OpenMedia;
  /** Opens the lines of calls. Default: in this thread. */
  mediaHost?: CallMediaHost | undefined;
  /** The calls' codecs; the first one's rate is the lines' rate. */
  codecs: readonly CodecName[];
  /** The trunk's numbers, E.164, which can be imported. */
  numbers: readonly string[];
  /** The initial own numbers among them. */
  owned?: readonly string[];
  /**
   * Whether a user part may be an address of ours that is no number. Whoever receives the call knows. Default: none.
   */
  isAddress?: ((user: string) => boolean) | undefined;
  numberFormat: Addressing['numbers'];
  /** The user part of `From`: the calling number, or `user`. Default `number` */
  fromUser?: 'number' | 'account';
  /** Default `none` */
  identity?: Identity;
  transfer: TransferMode;
  /** `From` of the call to a transfer's target: the own number, or the transferred caller. Default: the own number. */
  transferFrom?: 'number' | 'caller';
  /** Display name for called parties. */
  displayName?: string | undefined;
  /** Whether to follow a redirection (3xx) to a `sip:` address, and the number it stands for. Default: always. */
  mayFollow?: (uri: string, number: string) => boolean;
  /** Reads digits as a national number of the trunk. Default: not a number. */
  national?: ((digits: string) => string | null) | undefined;
  /** The country of a number, ISO 3166 alpha-2. */
  countryOf: (number: string) => Promise<string | null>;
  onError?: ((error: unknown) => void) | undefined;
}

/** The state of a trunk. */
export interface TrunkState {
  name: string;
  /** Null if the trunk does not register. */
  registration: RegistrationState | null;
  servers: readonly SipServerState[];
  /** The own numbers. */
  numbers: readonly string[];
  /** Calls in progress. */
  calls: number;
}

/** It rang, or was on its way, for the maximum time. */
const UNANSWERED: CallEnd = { cause: 'no-answer', by: 'agent', reason: '480 Temporarily Unavailable' };
/** No server has reacted within the ring time. */
const UNHEARD: CallEnd = {
  cause: 'failed',
  by: 'network',
  reason: '408 Request Timeout: no server of the trunk answers',
};

/** Ring time of a transfer's target. */
const TRANSFER_RING_MS = 45_000;

/** Calls over a SIP trunk or a PBX. */
export class SipCarrier implements Carrier<SessionLine> {
  readonly name = 'sip';
  readonly calls = new Set<SipCall>();
  readonly trunk: Trunk;
  readonly #options: SipCarrierOptions;
  readonly #owned: OwnedNumbers;
  readonly #rateHz: number;
  readonly #mediaHost: CallMediaHost;
  #listener: ((call: SipCall) => void) | null = null;
  #isClosed = false;
  #closing: Promise<void> | null = null;

  private constructor(options: SipCarrierOptions, trunk: Trunk) {
    this.#options = options;
    this.trunk = trunk;
    this.#mediaHost = options.mediaHost ?? new LocalCallMedia(options);
    this.#owned = new OwnedNumbers(options.owned ?? [], (number) => options.numbers.includes(number));
    this.#rateHz = Math.max(...options.codecs.map((codec) => CODECS[codec].sampleRateHz));
  }

  /** @throws ParleyError SIP_CANNOT_LISTEN */
  static async open(options: SipCarrierOptions): Promise<SipCarrier> {
    let carrier: SipCarrier | null = null;
    const trunk = await Trunk.open({
      ...options,
      onCall: (call) => carrier?.received(call),
      takes: (request) => carrier?.whoIsCalled(request) != null,
    });
    carrier = new SipCarrier(options, trunk);
    return carrier;
  }

  async searchNumbers({ country, areaCode, limit = 10 }: NumberQuery): Promise<readonly NumberOffer[]> {
    const found: NumberOffer[] = [];
    for (const number of this.#options.numbers) {
      if (found.length >= limit) break;
      if (this.#owned.has(number)) continue;
      const theirs = await this.#options.countryOf(number);
      const national = areaCode === undefined || number.replace(/^\+\d{1,3}?(?=\d{6,})/, '').includes(areaCode);
      if (theirs !== country.toUpperCase() || !national) continue;
      found.push({ number, country: theirs, monthlyCents: 0 });
    }
    return found;
  }

  buyNumber(number: string): Promise<void> {
    return this.#owned.buy(number);
  }

  releaseNumber(number: string): Promise<void> {
    return this.#owned.release(number);
  }

  setOwned(numbers: readonly string[]): readonly string[] {
    return this.#owned.set(numbers.filter((number) => this.#options.numbers.includes(number)));
  }

  ownedNumbers(): Promise<readonly string[]> {
    return this.#owned.list();
  }

  get state(): TrunkState {
    const { trunk, calls } = this;
    return {
      name: this.#options.trunkName ?? 'default',
      registration: trunk.registration,
      servers: trunk.servers.states,
      numbers: this.#owned.all,
      calls: calls.size,
    };
  }

  placeCall(request: CallRequest): SipCall {
    return this.#newCall(request, request.isHere === true ? 'here' : null);
  }

  /**
   * @param beside the call for whose transfer this one is placed; `here` = its line must be on this thread
   * @param behalf as in `#placeFor`
   */
  #newCall(request: CallRequest, beside: SipCall | 'here' | null, behalf: string | null = null): SipCall {
    if (this.#isClosed) throw new ParleyError('CARRIER_CLOSED', { carrier: this.name });
    const { from, to, ringTimeoutMs, headers = {} } = request;
    const target = addressToCall(to, this.#addressing);
    if (target === null) throw new ParleyError('NUMBER_INVALID', { number: to.slice(0, 40) });
    if (!isNumber(from)) throw new ParleyError('NUMBER_INVALID', { number: from.slice(0, 40) });
    const call = this.#call(this.#options.token(), 'outbound', from, to, headers, beside);
    void this.#place(call, target, ringTimeoutMs, behalf);
    return call;
  }

  receiveCalls(listener: (call: SipCall) => void): Cancel {
    this.#listener = listener;
    return () => {
      if (this.#listener === listener) this.#listener = null;
    };
  }

  /** The address of a user part of ours, for callers. */
  addressOf(user: string): string {
    const { host, port } = this.trunk.placeFor(null);
    const transport = this.trunk.protocol.toLowerCase();
    return `sip:${user}@${hostText(host)}:${String(port)}${transport === 'udp' ? '' : `;transport=${transport}`}`;
  }

  /** Whether a call to this user part, in any notation of a number, is for this trunk. */
  takes(user: string): boolean {
    return this.#ourNumber(user) !== null;
  }

  /**
   * The called number or expected address; null = neither. Registrars and PBXs call the registered contact (RFC 3261,
   * 16.5): then it is the number in the request's other headers, or the only one.
   */
  whoIsCalled(request: SipRequest): string | null {
    const user = userOf(request.uri);
    const called = this.#ourNumber(user);
    if (called !== null || (user !== '' && user !== this.trunk.user)) return called;
    const others = otherwiseCalled(request);
    for (const other of others) {
      const number = this.#ourNumber(other);
      if (number !== null) return number;
    }
    return others.some((other) => isNumber(this.#read(other))) ? null : this.#owned.only;
  }

  /** Ends all calls. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** An inbound call of the trunk. */
  received(inbound: InboundCall): void {
    const replaced = inbound.replaces === null ? null : this.#callOf(inbound);
    if (replaced !== null) {
      this.#replace(replaced, inbound);
      return;
    }
    const to = this.whoIsCalled(inbound.request);
    const listener = this.#listener;
    if (this.#isClosed || to === null || listener === null) {
      inbound.listen({ onEnded: () => undefined, onKeys: () => undefined });
      if (this.#isClosed) inbound.reject(503);
      else inbound.reject(404, {}, `${inbound.to === '' ? 'the address' : inbound.to} is no number of ours`);
      return;
    }
    const call = this.#call(
      inbound.callId.slice(0, MOST_ID_CHARS),
      'inbound',
      callerOf(inbound, (user) => this.#read(user)),
      to,
      passedOn(inbound.request),
    );
    call.bind({
      leg: () => inbound.leg,
      giveUp: (refusal) => {
        // An answer that waits for its ACK cannot be taken back.
        if (inbound.leg === null) refuse(inbound, refusal);
        else inbound.leg.bye();
      },
      accept: () => inbound.answer(),
    });
    inbound.listen({
      onAnswered: () => call.pickUp(),
      onEnded: (end) => {
        if (inbound.leg !== null) call.legEnded(end, inbound.leg);
        else if (end.by === 'remote') call.finish({ cause: 'hangup', by: 'remote', reason: end.reason });
        else call.finish({ cause: 'failed', by: 'network', reason: end.reason });
      },
      onKeys: (keys) => call.line.keys(keys),
    });
    void this.#receive(call, inbound, listener);
  }

  get #addressing(): Addressing {
    const { domain, numberFormat } = this.#options;
    return { domain: hostText(domain), numbers: numberFormat };
  }

  get #transferOptions(): TransferOptions {
    const { transfer: mode, clock } = this.#options;
    const place = (call: SipCall, target: string): SipCall =>
      this.#placeFor(call, target, TRANSFER_RING_MS, call.direction === 'inbound' ? call.from : call.to);
    return { mode, clock, mediaHost: this.#mediaHost, addressing: this.#addressing, place };
  }

  /**
   * A call from another call's own number; from any, if that call came to a registered address.
   * @param behalf number or user of the transferred far end; null = the agent's own call
   */
  #placeFor(call: SipCall, target: string, ringTimeoutMs: number, behalf: string | null = null): SipCall {
    const { direction, from, to } = call;
    const ours = direction === 'outbound' ? from : to;
    const request = { from: isNumber(ours) ? ours : (this.#owned.first ?? ours), to: target, ringTimeoutMs };
    return this.#newCall(request, call, behalf === ANONYMOUS ? null : behalf);
  }

  async #place(call: SipCall, target: string, ringTimeoutMs: number, behalf: string | null): Promise<void> {
    const { clock } = this.#options;
    if (!(await this.#openMedia(call, null))) return;
    const media = call.media;
    if (media === null || call.isOver) return;
    const { user, fromUser = 'number', identity = 'none', transferFrom = 'number' } = this.#options;
    const own = this.#named(call.from);
    const caller = behalf === null ? own : `<${addressOfUser(behalf, this.#addressing)}>`;
    const showsCaller = behalf !== null && transferFrom === 'caller';
    const headers = settable(call.headers);
    let cancelRing = clock.schedule(clock.nowMs() + ringTimeoutMs, () => giveUp());
    const giveUp = (): void => call.giveUp(asAnnounced(outbound.hasSign ? UNANSWERED : UNHEARD, call.announced));
    const outbound: SipOutboundCall = this.trunk.agent.call({
      target,
      from: fromUser === 'account' && user !== undefined ? this.#named(user) : showsCaller ? caller : own,
      to: `<${target}>`,
      ...this.trunk.route,
      media,
      headers: [
        ...headers,
        ...identityOf(caller, identity, headers),
        // The diverting party, so that the trunk accepts a caller who is not its own (RFC 5806).
        ...(showsCaller ? [['diversion', `${own};reason=unconditional`] as const] : []),
      ],
      redirected: (uri) => this.#redirected(uri),
      events: {
        onRinging: () => {
          cancelRing();
          cancelRing = clock.schedule(clock.nowMs() + ringTimeoutMs, giveUp);
          call.ring();
        },
        onAnswered: () => {
          cancelRing();
          call.pickUp();
        },
        onFailed: (failure) => call.finish(endOfFailure(failure, call.announced)),
        onEnded: (end) => call.legEnded(end, outbound.leg),
        onKeys: (keys) => call.line.keys(keys),
      },
    });
    call.bind({ leg: () => outbound.leg, giveUp: () => outbound.cancel(), accept: () => undefined });
    call.onState((state) => {
      if (state === 'ended') cancelRing();
    });
    outbound.start();
  }

  /** An own address with the display name. */
  #named(user: string): string {
    const { displayName } = this.#options;
    const name = displayName === undefined ? '' : `${quoted(wireOf(displayName))} `;
    return `${name}<${addressOfUser(user, this.#addressing)}>`;
  }

  async #receive(call: SipCall, inbound: InboundCall, listener: (call: SipCall) => void): Promise<void> {
    if (!(await this.#openMedia(call, inbound.hop))) {
      inbound.reject(503);
      return;
    }
    if (call.media === null || call.isOver) return;
    if (!inbound.prepare(call.media)) return;
    inbound.ring();
    call.ring();
    try {
      listener(call);
    } catch (error) {
      this.#options.onError?.(error);
      inbound.reject(500);
      call.finish({ cause: 'failed', by: 'network', reason: '500 Server Internal Error' });
    }
  }

  /** Another party replaces the far end of a call (RFC 3891): another leg of the same call. */
  #replace(call: SipCall, inbound: InboundCall): void {
    const old = call.leg;
    inbound.listen({
      onEnded: (end) => {
        if (inbound.leg !== null) call.legEnded(end, inbound.leg);
      },
      onKeys: (keys) => call.line.keys(keys),
    });
    if (call.media === null || !inbound.prepare(call.media)) return;
    call.bind({ leg: () => inbound.leg, giveUp: () => undefined, accept: () => undefined });
    inbound.answer();
    call.replacing(old);
  }

  /** Whether media could be opened for a call; otherwise the call has failed. */
  async #openMedia(call: SipCall, hop: Hop | null): Promise<boolean> {
    const { clock, openMedia } = this.#options;
    try {
      const listener = {
        announced:
          call.direction === 'outbound' ? (what: SpecialInformation): void => call.hearAnnouncement(what) : undefined,
        lost: (error: Error): void => {
          const leg = call.leg;
          leg?.bye('the media broke off');
          call.finish({ cause: 'failed', by: 'network', reason: error.message });
          if (leg === null) call.withdraw('failed'); // not answered yet
        },
      };
      const { host, bound } = this.trunk.placeFor(hop);
      const opening = openMedia(listener, host, bound, call.line);
      call.attach(await clock.settle(opening, clock.nowMs()));
      return true;
    } catch (error) {
      // The sockets of a call that has ended meanwhile are gone: that is no fault.
      if (!call.isOver) this.#options.onError?.(error);
      call.finish({ cause: 'failed', by: 'network', reason: reasonOf(error) });
      return false;
    }
  }

  #call(
    id: string,
    direction: 'inbound' | 'outbound',
    from: string,
    to: string,
    headers: Readonly<Record<string, string>>,
    beside: SipCall | 'here' | null = null,
  ): SipCall {
    const { clock, onError } = this.#options;
    const call: SipCall = new SipCall({
      id,
      carrier: this.name,
      direction,
      from,
      to,
      headers,
      clock,
      rateHz: this.#rateHz,
      mediaHost: this.#mediaHost,
      near: beside === 'here' ? beside : (beside?.line ?? null),
      onTransfer: (one, target, signal) => transferBlindly(one, target, signal, this.#transferOptions),
      onConnect: (one, other, signal) => this.#connect(one, other, signal),
      onPlace: (one, target, ringTimeoutMs) => this.#placeFor(one, target, ringTimeoutMs),
      onOver: () => this.calls.delete(call),
      onListenerError: (error) => onError?.(error),
    });
    this.calls.add(call);
    return call;
  }

  #connect(call: SipCall, other: CarrierCall<SessionLine>, signal: AbortSignal): Promise<TransferOutcome> {
    if (!(other instanceof SipCall)) return Promise.resolve({ ok: false, reason: 'failed' });
    return connectCalls(call, other, signal, this.#transferOptions);
  }

  /** A redirection is followed over the trunk: the peer does not change. */
  #redirected(uri: string): { target: string; hops: readonly Hop[] } | null {
    const parsed = parseSipUri(uri);
    if (parsed?.user == null || parsed.headers !== null) return null;
    const number = this.#read(userText(parsed.user).split(';', 1)[0] ?? '');
    if (this.#options.mayFollow?.(uri, number) === false) return null;
    return { target: uri, hops: this.trunk.route.hops };
  }

  #ourNumber(user: string): string | null {
    if (this.#options.isAddress?.(user) === true) return user;
    const number = this.#read(user);
    return this.#owned.has(number) ? number : null;
  }

  #read(user: string): string {
    return numberOfUser(user, this.#options.national);
  }

  #callOf({ replaces }: InboundCall): SipCall | null {
    for (const call of this.calls) if (call.leg === replaces) return call;
    return null;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    this.#listener = null;
    for (const call of Array.from(this.calls)) {
      const leg = call.leg;
      call.finish({ cause: 'failed', by: 'network', reason: 'the carrier is closed' });
      if (leg === null) call.withdraw();
      else leg.bye('the carrier is closed');
    }
    await this.trunk.close();
  }
}
