import type { Cancel } from '../../../base/clock.js';
import { reasonOf } from '../../../base/errors.js';
import { Dialog } from '../dialog/dialog.js';
import { Repeater } from '../dialog/repeater.js';
import { MIN_SE_S, sessionExpiresOf } from '../dialog/session-timer.js';
import type { Unconfirmed } from '../call-intake.js';
import type { Hop } from '../hop.js';
import { addressOf, callIdOf, cseqOf, type SipRequest } from '../message.js';
import { reasonPhrase, type ResponseParts, responseTo } from '../respond.js';
import { Timers } from '../timers.js';
import type { ServerTransaction } from '../transactions/transaction.js';
import { parseSipUri, userOf } from '../uri.js';
import { ALLOW, type CallCore, unknownExtensions } from './core.js';
import { Leg, type LegEnd } from './leg.js';
import { hasStrangeBody, type OfferAnswer, refusalStatus, SDP_TYPE, sdpOf, warningOf } from './offer-answer.js';

export interface InboundEvents {
  /** The media of the answered call are negotiated: audio flows both ways. Once. */
  onAnswered?(): void;
  /** It has ended, before or after the answer. Once. */
  onEnded(end: LegEnd): void;
  onKeys(keys: string): void;
}

export interface InboundOptions {
  core: CallCore;
  request: SipRequest;
  server: ServerTransaction;
  hop: Hop;
  /** The call that it replaces (RFC 3891); null = none. */
  replaces: Leg | null;
  /** It was answered, or is over. */
  onSettled: () => void;
  /** Counts the call until it is acknowledged or over; null = not counted. */
  unconfirmed: Unconfirmed | null;
  /** It was refused, before the response is sent; or ended, because no media were negotiated after the 2xx. */
  onRefused: (status: number, why: string) => void;
  /** The call is over; called last, before `InboundEvents.onEnded`. */
  onOver: () => void;
}

/** Proxies cancel a call without a response for three minutes (RFC 3261, 13.3.1.1 and 16.7). */
const STILL_RINGING_MS = 60_000;
/** No maximum between two provisional responses without PRACK (RFC 3262, 3). */
const LONGEST_MS = Number.MAX_SAFE_INTEGER;

/** An inbound call, from its INVITE to its answer or refusal; then its `leg`. */
export class InboundCall {
  readonly hop: Hop;
  readonly request: SipRequest;
  readonly replaces: Leg | null;
  readonly #options: InboundOptions;
  readonly #core: CallCore;
  readonly #server: ServerTransaction;
  readonly #dialog: Dialog;
  readonly #timers: Timers<'still'>;
  readonly #stopListening: Cancel;
  readonly #wantsReliable: boolean;
  #events: InboundEvents | null = null;
  #media: OfferAnswer | null = null;
  #answerSdp: string | null = null;
  /** The offer in a provisional response was sent; its answer comes with the PRACK. */
  #earlyOffer: 'none' | 'sent' | 'answered' = 'none';
  #reliable: { repeater: Repeater; sequence: number } | null = null;
  #reliableSequence: number;
  #answerWaits: (() => void) | null = null;
  #leg: Leg | null = null;
  #isOver = false;

  constructor(options: InboundOptions) {
    const { core, request, server, hop, replaces } = options;
    this.#options = options;
    this.#core = core;
    this.request = request;
    this.#server = server;
    this.hop = hop;
    this.replaces = replaces;
    this.#dialog = Dialog.ofRequest(request, core.token(), hop);
    this.#timers = new Timers(core.clock);
    this.#wantsReliable = request.headers.lists('require', '100rel');
    this.#reliableSequence = 1 + Math.floor(core.chance() * 1000);
    this.#stopListening = core.listen(this.#dialog.callId, this.#dialog.localTag, {
      receive: (asked, transaction) => this.#receive(asked, transaction),
      acknowledged: () => undefined,
    });
    server.respond(responseTo(request, 100));
  }

  get callId(): string {
    return callIdOf(this.request);
  }

  /** Of the local `To`. */
  get localTag(): string {
    return this.#dialog.localTag;
  }

  /** Null until it is answered. */
  get leg(): Leg | null {
    return this.#leg;
  }

  /** The called party: the user part of the Request-URI, or the number of a `tel:` URI. */
  get to(): string {
    return userOf(this.request.uri);
  }

  /** The caller as claimed in `From`. */
  get from(): string {
    return userOf(addressOf(this.request, 'from')?.uri ?? '');
  }

  /** The host of the Request-URI; empty = none. */
  get toHost(): string {
    return parseSipUri(this.request.uri)?.host ?? '';
  }

  /** Call it once, before anything else. */
  listen(events: InboundEvents): void {
    this.#events = events;
  }

  /**
   * Negotiates the media with the caller. If that fails, the call is refused.
   * @returns whether it succeeded
   */
  prepare(media: OfferAnswer): boolean {
    if (this.#isOver) return false;
    this.#media = media;
    const offer = sdpOf(this.request);
    if (offer === null) return true;
    try {
      this.#answerSdp = media.answer(offer);
      return true;
    } catch (error) {
      this.reject(refusalStatus(error), { headers: warningOf(error) }, reasonOf(error));
      return false;
    }
  }

  /** Lets the caller hear ringing. */
  ring(): void {
    if (this.#isOver || this.#leg !== null) return;
    if (this.#wantsReliable) this.#ringReliably();
    else this.#provisional();
    this.#stillRinging();
  }

  /** Answers the call, after a successful `prepare`. No effect after the end. */
  answer(): void {
    if (this.#isOver || this.#leg !== null || this.#media === null) return;
    // The own offer must be settled first (RFC 3262, 5).
    if (this.#earlyOffer === 'sent') this.#answerWaits = () => this.#accept();
    else this.#accept();
  }

  /**
   * Refuses the call. No effect once it is answered or over.
   * @param why for the operator. Default: from the status
   */
  reject(status: number, parts: ResponseParts = {}, why = reasonPhrase(status)): void {
    if (this.#isOver || this.#leg !== null) return;
    this.#options.onRefused(status, why);
    this.#respond(status, parts);
    this.#end({ by: 'local', reason: String(status) });
  }

  /** The caller has cancelled. */
  cancelled(): void {
    if (this.#isOver || this.#leg !== null) return;
    this.#respond(487, {});
    this.#end({ by: 'remote', reason: '487 Request Terminated' });
  }

  #accept(): void {
    const media = this.#media;
    if (media === null || this.#isOver || this.#leg !== null) return;
    this.#stopRinging();
    this.#stopListening();
    const events = this.#events;
    const isEarly = this.#earlyOffer === 'answered';
    /** The ACK must contain the answer. */
    let offersNow = this.#answerSdp === null && !isEarly;
    const leg = new Leg({
      core: this.#core,
      dialog: this.#dialog,
      media,
      latePrack: (prack) => (this.#isOfReliable(prack) ? (sdpOf(prack) === null ? 200 : 488) : 481),
      events: {
        onAcknowledged: (fault) => {
          this.#options.unconfirmed?.confirmed();
          if (!offersNow) return;
          offersNow = false;
          if (fault === null) events?.onAnswered?.();
          else this.#options.onRefused(488, fault);
        },
        onEnded: (end) => {
          this.#isOver = true;
          this.#options.unconfirmed?.ended();
          this.#options.onOver();
          events?.onEnded(end);
        },
        onKeys: (keys) => events?.onKeys(keys),
      },
    });
    this.#leg = leg;
    this.#options.onSettled();
    const sdp = isEarly ? null : (this.#answerSdp ?? media.offer());
    this.#options.unconfirmed?.answered(() => leg.unacknowledged());
    leg.accept(this.#server, responseTo(this.request, 200, leg.okParts(this.request, sdp)), offersNow);
    if (!offersNow) events?.onAnswered?.();
  }

  #ringReliably(): void {
    if (this.#reliable !== null) return;
    let sdp: string | null = null;
    // Without an offer in the INVITE, the first reliable response must contain one (RFC 3262, 5).
    if (sdpOf(this.request) === null && this.#media !== null) {
      sdp = this.#media.offer();
      this.#earlyOffer = 'sent';
    }
    const sequence = this.#reliableSequence++;
    const headers: [string, string][] = [
      ['require', '100rel'],
      ['rseq', String(sequence)],
      ['contact', this.#core.contact(this.hop)],
    ];
    if (sdp !== null) headers.push(['content-type', SDP_TYPE]);
    const parts = { headers, body: sdp === null ? undefined : Buffer.from(sdp) };
    const repeater = new Repeater(
      this.#core.clock,
      () => this.#respond(180, parts),
      () => this.reject(504, { reason: 'No PRACK' }),
      LONGEST_MS,
    );
    this.#reliable = { repeater, sequence };
  }

  #provisional(): void {
    this.#respond(180, { headers: [['contact', this.#core.contact(this.hop)]] });
  }

  #stillRinging(): void {
    this.#timers.set('still', STILL_RINGING_MS, () => {
      if (this.#wantsReliable) {
        if (this.#reliable?.repeater.isRunning === false) this.#reliable = null;
        if (this.#earlyOffer === 'none') this.#ringReliably();
      } else this.#provisional();
      this.#stillRinging();
    });
  }

  #receive(request: SipRequest, server: ServerTransaction): void {
    const respond = (status: number, parts: ResponseParts = {}): void =>
      server.respond(responseTo(server.request, status, { toTag: this.#dialog.localTag, ...parts }));
    if (this.#isOver) return respond(481);
    if (!this.#dialog.takes(request)) return respond(500, { reason: 'Out of order' });
    switch (request.method) {
      case 'PRACK':
        return this.#acknowledged(request, respond);
      case 'BYE':
        respond(200);
        return this.cancelled();
      case 'UPDATE':
        // The caller's offer has no answer yet: another one must wait (RFC 3311, 5.2).
        if (sdpOf(request) !== null) return respond(500, { headers: [['retry-after', '5']] });
        this.#dialog.refresh(request);
        return respond(200, { headers: [['contact', this.#core.contact(this.hop)]] });
      case 'OPTIONS':
        return respond(200, { headers: [['allow', ALLOW]] });
      default:
        return respond(405, { headers: [['allow', ALLOW]] });
    }
  }

  /** Whether it acknowledges the last reliable provisional response. */
  #isOfReliable(prack: SipRequest): boolean {
    const [sequence, inviteSequence, method] = (prack.headers.get('rack') ?? '').trim().split(/[ \t]+/);
    return (
      Number(sequence) === this.#reliable?.sequence &&
      Number(inviteSequence) === cseqOf(this.request)?.sequence &&
      method === 'INVITE'
    );
  }

  #acknowledged(prack: SipRequest, respond: (status: number, parts?: ResponseParts) => void): void {
    if (!this.#isOfReliable(prack)) return respond(481);
    this.#reliable?.repeater.stop();
    const sdp = sdpOf(prack);
    if (this.#earlyOffer === 'sent') {
      try {
        if (sdp === null) throw new Error('the PRACK has no answer');
        this.#media?.accept(sdp);
      } catch {
        respond(488);
        return this.reject(488);
      }
      this.#earlyOffer = 'answered';
    } else if (sdp !== null) {
      // A new offer, which would have to wait in an UPDATE.
      return respond(488);
    }
    respond(200);
    this.#answerWaits?.();
    this.#answerWaits = null;
  }

  #respond(status: number, parts: ResponseParts): void {
    this.#server.respond(responseTo(this.request, status, { toTag: this.#dialog.localTag, ...parts }));
  }

  #stopRinging(): void {
    this.#timers.clearAll();
    this.#reliable?.repeater.stop();
    this.#answerWaits = null;
  }

  #end(end: LegEnd): void {
    this.#isOver = true;
    this.#stopRinging();
    this.#stopListening();
    this.#options.unconfirmed?.ended();
    this.#options.onSettled();
    this.#options.onOver();
    this.#events?.onEnded(end);
  }
}

/** Why an INVITE outside a dialog is invalid, whoever it is for; null = valid. */
export function inviteRefusal(request: SipRequest): { status: number; headers: [string, string][] } | null {
  const { headers } = request;
  const unknown = unknownExtensions(request);
  if (unknown.length > 0) return { status: 420, headers: [['unsupported', unknown.join(', ')]] };
  const encoding = headers.get('content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' || hasStrangeBody(request)) {
    return {
      status: 415,
      headers: [
        ['accept', SDP_TYPE],
        ['accept-encoding', 'identity'],
      ],
    };
  }
  const accepted = headers.values('accept');
  const takesSdp = (accepted ?? []).some((value) =>
    [SDP_TYPE, 'application/*', '*/*'].includes(value.split(';', 1)[0]?.trim().toLowerCase() ?? ''),
  );
  if (accepted !== null && accepted.length > 0 && !takesSdp) return { status: 406, headers: [['accept', SDP_TYPE]] };
  const expires = sessionExpiresOf(headers);
  if (expires !== null && expires.seconds < MIN_SE_S) return { status: 422, headers: [['min-se', String(MIN_SE_S)]] };
  // Without it a BYE cannot be sent (8.1.1.8).
  return headers.has('contact') ? null : { status: 400, headers: [] };
}

/** The user part of an address: `+12025550123` of `sip:+12025550123;phone-context=…@example.com`. */
