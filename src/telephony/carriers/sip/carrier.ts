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
import type { OpenMedia } from './media.js';
import type { CallMediaHost } from './call-media-host.js';
import { type Addressing, addressOfUser, addressToCall, isNumber, numberOfUser } from './numbers.js';
import { connectCalls, transferBlindly, type TransferMode, type TransferOptions } from './transfer.js';
import { Trunk, type TrunkOptions } from './trunk.js';

export interface SipCarrierOptions extends Omit<TrunkOptions, 'onCall' | 'takes'> {
  /** Of the trunk, for the operator. Default `default` */
  trunkName?: string;
  ticker: Ticker;
  openMedia: OpenMedia;
  /** Where calls have their lines. Default: this thread. */
  mediaHost?: CallMediaHost | undefined;
  /** Codecs that calls may have; the best one's rate is that of lines. */
  codecs: readonly CodecName[];
  /** The trunk's numbers, E.164: those that can be had. */
  numbers: readonly string[];
  /** Of these, the ones that are ours from the start. */
  owned?: readonly string[];
  numberFormat: Addressing['numbers'];
  /** The user part of `From`: the number that calls, or `user`. Default `number` */
  fromUser?: 'number' | 'account';
  /** Default `none` */
  identity?: Identity;
  transfer: TransferMode;
  /** Who calls the target of a transfer, in `From`: the number of ours, or the caller who is handed on. Default the former. */
  transferFrom?: 'number' | 'caller';
  /** What callees are shown beside the number. */
  displayName?: string;
  /** Whether a call may be sent on to a `sip:` address (3xx), and to the number that it is read as. Default: to any. */
  mayFollow?: (uri: string, number: string) => boolean;
  /** Reads digits as a number of the trunk's own country. Default: they are none. */
  national?: (digits: string) => string | null;
  /** The country of a number, ISO 3166 alpha-2. */
  countryOf: (number: string) => Promise<string | null>;
  onError?: (error: unknown) => void;
}

/** How a trunk is. */
export interface TrunkState {
  name: string;
  /** Null where we do not register. */
  registration: RegistrationState | null;
  servers: readonly SipServerState[];
  /** Those that are ours. */
  numbers: readonly string[];
  /** Under way. */
  calls: number;
}

/** It rang, or was on its way, for as long as it may. */
const UNANSWERED: CallEnd = { cause: 'no-answer', by: 'agent', reason: '480 Temporarily Unavailable' };
/** No server has given a sign for as long as a call may ring. */
const UNHEARD: CallEnd = {
  cause: 'failed',
  by: 'network',
  reason: '408 Request Timeout: nobody answers at the trunk',
};

/** How long the target of a transfer rings. */
const TRANSFER_RING_MS = 45_000;

/** Calls over a SIP trunk or a PBX. */
export class SipCarrier implements Carrier<SessionLine> {
  readonly name = 'sip';
  readonly calls = new Set<SipCall>();
  readonly trunk: Trunk;
  readonly #options: SipCarrierOptions;
  readonly #owned: OwnedNumbers;
  /** User parts of addresses that somebody is expected at. */
  readonly #addresses = new Set<string>();
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
    return this.#newCall(request, null);
  }

  /**
   * @param beside the call that this one is placed for
   * @param behalf as of `#placeFor`
   */
  #newCall(request: CallRequest, beside: SipCall | null, behalf: string | null = null): SipCall {
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

  /**
   * Expects calls at an address of ours beside the numbers.
   * @param user made up by us, so that nobody guesses it
   * @returns the address, and what ends it
   */
  expect(user: string): { uri: string; cancel: Cancel } {
    this.#addresses.add(user);
    const { host, port } = this.trunk.placeFor(null);
    const transport = this.trunk.protocol.toLowerCase();
    const uri = `sip:${user}@${hostText(host)}:${String(port)}${transport === 'udp' ? '' : `;transport=${transport}`}`;
    return { uri, cancel: () => this.#addresses.delete(user) };
  }

  /** Whether somebody is expected at this address. */
  isExpected(user: string): boolean {
    return this.#addresses.has(user);
  }

  /** Whether a call to this user part, however a number is written there, is for us. */
  takes(user: string): boolean {
    return this.#ourNumber(user) !== null;
  }

  /**
   * The number of ours that is called, or where somebody is expected; null = neither. Registrars and PBXs call our
   * contact (RFC 3261, 16.5): then it is the number that the request names besides, or the only one that we have.
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

  /** A call that the trunk brings. */
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
        // An answer whose ACK has not come yet cannot be taken back.
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
   * A call from the number of ours that another one has; any, where that came to a registered address.
   * @param behalf number or user of the far end that is handed on; null = the call is the agent's own
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
      hops: this.trunk.servers.hops,
      media,
      headers: [
        ...headers,
        ...identityOf(caller, identity, headers),
        // Who diverts the call, so that the trunk may accept a caller who is none of its own (RFC 5806).
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

  /** An address of ours, with the name that callees are shown. */
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

  /** Somebody takes the place of the far end of a call (RFC 3891): another leg, the same call. */
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

  /** Whether there are media for a call; one that cannot have any has failed. */
  async #openMedia(call: SipCall, hop: Hop | null): Promise<boolean> {
    const { clock, openMedia } = this.#options;
    try {
      const listener = {
        ...(call.direction === 'outbound' && {
          announced: (what: SpecialInformation): void => call.hearAnnouncement(what),
        }),
        lost: (error: Error): void => {
          const leg = call.leg;
          leg?.bye('the media broke off');
          call.finish({ cause: 'failed', by: 'network', reason: error.message });
          if (leg === null) call.withdraw('failed'); // nobody has answered yet
        },
      };
      const { host, bound } = this.trunk.placeFor(hop);
      const opening = openMedia(listener, host, bound, call.line);
      call.attach(await clock.settle(opening, clock.nowMs()));
      return true;
    } catch (error) {
      this.#options.onError?.(error);
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
    beside: SipCall | null = null,
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
      beside,
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

  /** A redirection is followed over the trunk: whom we talk with does not change by it. */
  #redirected(uri: string): { target: string; hops: readonly Hop[] } | null {
    const parsed = parseSipUri(uri);
    if (parsed?.user == null || parsed.headers !== null) return null;
    const number = this.#read(userText(parsed.user).split(';', 1)[0] ?? '');
    if (this.#options.mayFollow?.(uri, number) === false) return null;
    return { target: uri, hops: this.trunk.servers.hops };
  }

  #ourNumber(user: string): string | null {
    if (this.#addresses.has(user)) return user;
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
