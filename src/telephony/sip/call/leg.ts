import type { Cancel, Clock } from '../../../base/clock.js';
import { reasonOf } from '../../../base/errors.js';
import type { Dialog } from '../dialog/dialog.js';
import { Repeater } from '../dialog/repeater.js';
import {
  MIN_SE_S,
  SESSION_EXPIRES_S,
  sessionExpiresOf,
  sessionExpiresText,
  SessionTimer,
} from '../dialog/session-timer.js';
import type { Hop } from '../hop.js';
import { bodyText, contentTypeOf, cseqOf, type SipMessage, type SipRequest, type SipResponse } from '../message.js';
import { Outgoing } from '../outgoing.js';
import { type ResponseParts, responseTo } from '../respond.js';
import { quoted, wireOf } from '../scan.js';
import { Timers } from '../timers.js';
import type { ServerTransaction } from '../transactions/transaction.js';
import { abilities, ALLOW, type CallCore, unknownExtensions } from './core.js';
import { hasStrangeBody, type OfferAnswer, refusalStatus, SDP_TYPE, sdpOf, warningOf } from './offer-answer.js';

const KEYS = /^[0-9A-D*#]$/;
/** Event codes by number (RFC 4733, 3.2), which some send. */
const CODES = '0123456789*#ABCD';

/**
 * The keys of an INFO: `application/dtmf-relay` with `Signal=5`, or `application/dtmf` with only the key. Both are
 * common and not in an RFC.
 * @returns null for other types; empty without a key
 */
export function infoKeys(contentType: string, body: string): string | null {
  let key: string | undefined;
  if (contentType === 'application/dtmf-relay')
    key = /^Signal[ \t]*=[ \t]*([0-9A-D*#]{1,2})[ \t]*\r?$/im.exec(body)?.[1];
  else if (contentType === 'application/dtmf') key = body.trim();
  else return null;
  const upper = key?.toUpperCase() ?? '';
  if (KEYS.test(upper)) return upper;
  return /^1[0-5]$/.test(upper) ? (CODES[Number(upper)] ?? '') : '';
}

/** The outcome of a REFER (RFC 3515). */
export type ReferOutcome =
  /** The other side has reached the target. */
  | { kind: 'done' }
  /** It has not; the target's final status, null = unknown. */
  | { kind: 'failed'; status: number | null }
  /** The other side does not support it. */
  | { kind: 'refused'; status: number }
  /** No result. */
  | { kind: 'silent' };

/** Whether a NOTIFY is about a referral. */
export function isReferNotify({ headers }: SipRequest): boolean {
  return (headers.get('event') ?? '').split(';', 1)[0]?.trim().toLowerCase() === 'refer';
}

/** A sent REFER until its outcome is known. */
export class Referral {
  /** Never rejects. */
  readonly outcome: Promise<ReferOutcome>;
  #resolve!: (outcome: ReferOutcome) => void;
  readonly #cancel: Cancel;

  /** @param timeoutMs for all of it; `silent` when it expires or is aborted */
  constructor(clock: Clock, signal: AbortSignal, timeoutMs: number) {
    this.outcome = new Promise((resolve) => (this.#resolve = resolve));
    const onAbort = (): void => this.end({ kind: 'silent' });
    const stop = clock.schedule(clock.nowMs() + timeoutMs, onAbort);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#cancel = () => {
      stop();
      signal.removeEventListener('abort', onAbort);
    };
  }

  /** A NOTIFY reports progress (RFC 3515, 2.4.4; `message/sipfrag`, RFC 3420). */
  notified(notify: SipRequest): void {
    const isFragment = contentTypeOf(notify) === 'message/sipfrag';
    const line = isFragment ? /^SIP\/2\.0[ \t]+(\d{3})\b/i.exec(bodyText(notify)) : null;
    const status = line === null ? null : Number(line[1]);
    const state = notify.headers.get('subscription-state')?.trim().toLowerCase() ?? '';
    if (status !== null && status >= 200) this.end(status < 300 ? { kind: 'done' } : { kind: 'failed', status });
    else if (state.startsWith('terminated')) this.end({ kind: 'failed', status: null });
  }

  /** The first outcome counts. */
  end(outcome: ReferOutcome): void {
    this.#cancel();
    this.#resolve(outcome);
  }
}

export interface LegEnd {
  by: 'local' | 'remote' | 'network';
  /** In the network's words. */
  reason: string;
}

export interface LegEvents {
  /** The call is over. Once, and last. */
  onEnded(end: LegEnd): void;
  /** Keys from INFO. */
  onKeys(keys: string): void;
  /**
   * The other side has acknowledged the 2xx, also after each of its re-INVITEs.
   * @param fault why its answer to the offer is unusable: the call ends; null = negotiated
   */
  onAcknowledged?(fault: string | null): void;
}

export interface LegOptions {
  core: CallCore;
  dialog: Dialog;
  media: OfferAnswer;
  events: LegEvents;
  /** The status for a PRACK after the 2xx (RFC 3262, 3). Default 481. */
  latePrack?: (prack: SipRequest) => number;
}

/** A final response, or null without one. */
type Asked = (response: SipResponse | null, request: SipRequest) => void;

/** Maximum number of retries of a change that collides with the other side's. */
const MOST_GLARE = 4;
/** The `Reason` of a BYE without an error (RFC 3326, ITU-T Q.850). */
const NORMAL_CLEARING = 'Q.850;cause=16;text="Normal call clearing"';

/**
 * An established call, seen from one end: the requests within its dialog, either way. Changes of its media (RFC 3261,
 * 14; UPDATE, RFC 3311), the session timer (RFC 4028), referral (RFC 3515), the end.
 */
export class Leg {
  readonly dialog: Dialog;
  readonly #core: CallCore;
  readonly #media: OfferAnswer;
  readonly #events: LegEvents;
  readonly #latePrack: (prack: SipRequest) => number;
  readonly #timers: Timers<'glare'>;
  readonly #session: SessionTimer;
  #repeater: Repeater | null = null;
  /** CSeq of the INVITE whose 2xx waits for its ACK, and whether the ACK contains an answer. */
  #unacknowledged: { sequence: number; wantsAnswer: boolean } | null = null;
  /** An own offer waits for its answer. */
  #offering = false;
  #allowed: ReadonlySet<string> = new Set();
  #referral: Referral | null = null;
  #isOver = false;
  #stopListening: Cancel;

  constructor(options: LegOptions) {
    const { core, dialog, media, events } = options;
    this.dialog = dialog;
    this.#core = core;
    this.#media = media;
    this.#events = events;
    this.#latePrack = options.latePrack ?? (() => 481);
    this.#timers = new Timers(core.clock);
    this.#session = new SessionTimer(core.clock, {
      onRefresh: () => this.#refresh(),
      onExpired: () => this.#giveUp('no session refresh came', 408),
    });
    this.#stopListening = core.listen(dialog.callId, dialog.localTag, {
      receive: (request, server, hop) => this.receive(request, server, hop),
      acknowledged: (ack) => this.acknowledged(ack),
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the other side supports this method. */
  allows(method: string): boolean {
    return this.#allowed.has(method);
  }

  /** Notes the other side's abilities and the session interval from an INVITE or its 2xx. */
  note(message: SipMessage, isOurRequest: boolean): void {
    const allowed = message.headers.values('allow');
    if (allowed !== null && allowed.length > 0) this.#allowed = new Set(allowed.map((method) => method.toUpperCase()));
    const expires = sessionExpiresOf(message.headers);
    if (expires === null) {
      if (message.kind === 'response') this.#session.stop();
      return;
    }
    const seconds = Math.max(MIN_SE_S, expires.seconds);
    this.#session.restart(seconds, (expires.refresher ?? 'uac') === (isOurRequest ? 'uac' : 'uas'));
  }

  /** Sends a 2xx to an INVITE repeatedly until it is acknowledged. */
  accept(server: ServerTransaction, response: SipResponse, wantsAnswer: boolean): void {
    this.#unacknowledged = { sequence: cseqOf(response)?.sequence ?? 0, wantsAnswer };
    this.#repeater?.stop();
    this.#repeater = new Repeater(
      this.#core.clock,
      () => server.respond(response),
      () => this.unacknowledged(),
    );
  }

  acknowledged(ack: SipRequest): void {
    const waiting = this.#unacknowledged;
    if (waiting === null || cseqOf(ack)?.sequence !== waiting.sequence) return;
    this.#unacknowledged = null;
    this.#repeater?.stop();
    const fault = waiting.wantsAnswer ? this.#answeredBy(ack) : null;
    this.#events.onAcknowledged?.(fault);
    if (fault !== null) this.#giveUp(`488 Not Acceptable Here: ${fault}`, 488);
  }

  /** A request within the dialog. */
  receive(request: SipRequest, server: ServerTransaction, hop: Hop): void {
    if (request.method === 'CANCEL') return; // its INVITE has been answered already
    if (this.#isOver) return this.#answer(server, 481);
    if (!this.dialog.takes(request)) return this.#answer(server, 500, { reason: 'Out of order' });
    this.dialog.hop = hop;
    const unknown = unknownExtensions(request);
    if (unknown.length > 0) return this.#answer(server, 420, { headers: [['unsupported', unknown.join(', ')]] });
    switch (request.method) {
      case 'BYE':
        this.#answer(server, 200);
        // `Reason: Q.850;cause=16;text="…"` (RFC 3326), as received.
        return this.#end({ by: 'remote', reason: request.headers.get('reason') ?? 'BYE' });
      case 'INVITE':
      case 'UPDATE':
        return this.#changed(request, server);
      case 'INFO':
        return this.#informed(request, server);
      case 'NOTIFY':
        return this.#notified(request, server);
      case 'OPTIONS':
        return this.#answer(server, 200, { headers: abilities() });
      case 'PRACK':
        return this.#answer(server, this.#latePrack(request));
      case 'REFER':
        return this.#answer(server, 603);
      default:
        return this.#answer(server, 405, { headers: [['allow', ALLOW]] });
    }
  }

  /** Sends a new offer of the current media; resolves with whether the other side has accepted. */
  reoffer(attempt = 0): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false);
    if (this.#offering || this.#unacknowledged !== null) {
      return attempt < MOST_GLARE ? this.#later(attempt) : Promise.resolve(false);
    }
    this.#offering = true;
    const offer = this.#media.offer();
    return new Promise((resolve) => {
      let isDone = false;
      this.#ask(
        'INVITE',
        (request) => this.#describe(request, offer),
        (response) => {
          if (isDone) return;
          isDone = true;
          this.#offering = false;
          if (response?.status === 491 && attempt < MOST_GLARE) {
            this.#media.rollback();
            resolve(this.#later(attempt));
          } else resolve(response !== null && response.status < 300 && this.#answeredBy(response) === null);
        },
      );
    });
  }

  /**
   * Asks the other side to call a target.
   * @param timeoutMs for all of it
   */
  refer(target: string, signal: AbortSignal, timeoutMs: number): Promise<ReferOutcome> {
    if (this.#isOver || this.#referral !== null || signal.aborted) return Promise.resolve({ kind: 'silent' });
    const referral = new Referral(this.#core.clock, signal, timeoutMs);
    this.#referral = referral;
    this.#ask(
      'REFER',
      (request) => {
        request.headers.add('refer-to', `<${target}>`).add('referred-by', `<${this.dialog.localUri}>`);
      },
      (response) => {
        if (response === null) referral.end({ kind: 'silent' });
        else if (response.status >= 300) referral.end({ kind: 'refused', status: response.status });
        // After a 2xx, NOTIFYs report the outcome.
      },
    );
    void referral.outcome.then(() => (this.#referral = null));
    return referral.outcome;
  }

  /** Ends the call because its 2xx was not acknowledged. */
  unacknowledged(): void {
    this.#giveUp('the answer was not acknowledged', 408);
  }

  /** Ends the call. May be called twice. */
  bye(reason = 'we hung up'): void {
    this.#giveUp(reason, null);
  }

  /** Both sides want a change at the same time: each waits for a different time (14.1). */
  #later(attempt: number): Promise<boolean> {
    const chance = this.#core.chance();
    const waitMs = this.dialog.isCaller ? 2100 + 1900 * chance : 2000 * chance;
    return new Promise((resolve) => {
      this.#timers.set('glare', waitMs, () => resolve(this.reoffer(attempt + 1)));
    });
  }

  /** Applies the answer to the offer. Returns why it is unusable; null = usable. */
  #answeredBy(message: SipMessage): string | null {
    const answer = sdpOf(message);
    try {
      if (answer === null) throw new Error('the answer to our offer describes no media');
      this.#media.accept(answer);
      return null;
    } catch (error) {
      this.#media.rollback();
      return reasonOf(error);
    }
  }

  /** A re-INVITE or UPDATE of the other side. */
  #changed(request: SipRequest, server: ServerTransaction): void {
    const isInvite = request.method === 'INVITE';
    if (hasStrangeBody(request)) return this.#answer(server, 415, { headers: [['accept', SDP_TYPE]] });
    const offer = sdpOf(request);
    const offers = offer !== null || isInvite;
    if (offers && this.#offering) return this.#answer(server, 491);
    if (isInvite && this.#unacknowledged !== null) {
      return this.#answer(server, 500, { headers: [['retry-after', String(Math.floor(this.#core.chance() * 10))]] });
    }
    const expires = sessionExpiresOf(request.headers);
    if (expires !== null && expires.seconds < MIN_SE_S) {
      return this.#answer(server, 422, { headers: [['min-se', String(MIN_SE_S)]] });
    }
    let sdp: string | null = null;
    try {
      if (offer !== null) sdp = this.#media.answer(offer);
      else if (isInvite) sdp = this.#media.offer();
    } catch (error) {
      return this.#answer(server, refusalStatus(error), { headers: warningOf(error) });
    }
    this.dialog.refresh(request);
    const response = responseTo(request, 200, this.okParts(request, sdp));
    if (!isInvite) {
      server.respond(response);
      return;
    }
    this.#offering = offer === null;
    this.accept(server, response, offer === null);
  }

  /** Parts of a 2xx to an INVITE or UPDATE; the session timer starts with it. */
  okParts(request: SipRequest, sdp: string | null): ResponseParts {
    const headers: [string, string][] = [['contact', this.#core.contact(this.dialog.hop)], ...abilities()];
    const expires = sessionExpiresOf(request.headers);
    if (expires !== null) {
      const knows = request.headers.lists('supported', 'timer') || request.headers.lists('require', 'timer');
      const refresher = knows ? (expires.refresher ?? 'uac') : 'uas';
      headers.push(['session-expires', sessionExpiresText({ seconds: expires.seconds, refresher })]);
      if (refresher === 'uac') headers.push(['require', 'timer']);
      this.#session.restart(expires.seconds, refresher === 'uas');
    } else this.#session.stop();
    const allowed = request.headers.values('allow');
    if (allowed !== null && allowed.length > 0) this.#allowed = new Set(allowed.map((method) => method.toUpperCase()));
    if (sdp === null) return { headers, toTag: this.dialog.localTag };
    return { headers: [...headers, ['content-type', SDP_TYPE]], body: Buffer.from(sdp), toTag: this.dialog.localTag };
  }

  #informed(request: SipRequest, server: ServerTransaction): void {
    const keys = infoKeys(contentTypeOf(request), bodyText(request));
    if (keys === null && request.body.length > 0) return this.#answer(server, 415);
    this.#answer(server, 200);
    if (keys !== null && keys !== '') this.#events.onKeys(keys);
  }

  #notified(request: SipRequest, server: ServerTransaction): void {
    if (!isReferNotify(request)) return this.#answer(server, 489);
    this.#answer(server, this.#referral === null ? 481 : 200);
    this.#referral?.notified(request);
  }

  #refresh(): void {
    const seconds = this.#session.seconds ?? SESSION_EXPIRES_S;
    if (!this.allows('UPDATE')) {
      void this.reoffer();
      return;
    }
    this.#ask(
      'UPDATE',
      (request) => {
        for (const [name, value] of abilities()) request.headers.add(name, value);
        request.headers.add('session-expires', sessionExpiresText({ seconds, refresher: 'uac' }));
      },
      (response) => {
        if (response !== null && response.status >= 200 && response.status < 300) this.note(response, true);
      },
    );
  }

  #describe(request: SipRequest, offer: string): void {
    for (const [name, value] of abilities()) request.headers.add(name, value);
    const { seconds } = this.#session;
    if (seconds !== null) {
      request.headers.add('session-expires', sessionExpiresText({ seconds, refresher: 'uac' }));
    }
    request.headers.add('content-type', SDP_TYPE);
    request.body = Buffer.from(offer);
  }

  #ask(method: string, prepare: (request: SipRequest) => void, then: Asked): void {
    const { clock, transactions, digest } = this.#core;
    this.#core.route(this.dialog, (hop) => {
      let request: SipRequest | null = null;
      const outgoing = new Outgoing({
        clock,
        transactions,
        digest,
        hops: [hop],
        build: () => {
          request = this.dialog.request(method, this.#core.contact(hop));
          prepare(request);
          return request;
        },
        onFinal: (response, asked) => {
          if (method === 'INVITE' && response.status < 300) this.#acknowledge(response, hop);
          if (!this.#isOver || method === 'BYE') this.#asked(response, asked, then);
        },
        onFailure: () => {
          if (request === null) return;
          then(null, request);
          if (method !== 'BYE') this.#giveUp('the other side does not answer', 408);
        },
      });
      outgoing.start();
    });
  }

  #asked(response: SipResponse, request: SipRequest, then: Asked): void {
    const { method } = request;
    if (response.status < 300 && (method === 'INVITE' || method === 'UPDATE')) {
      this.dialog.refresh(response);
      this.note(response, true);
    }
    then(response, request);
    // The other side no longer knows the call (12.2.1.2).
    if (response.status === 481 && method !== 'BYE') this.#giveUp(`481 ${response.reason}`, 481);
  }

  #acknowledge(response: SipResponse, hop: Hop): void {
    this.#core.transactions.acknowledge(this.dialog.ack(cseqOf(response)?.sequence ?? 0), hop);
  }

  #answer(server: ServerTransaction, status: number, parts: ResponseParts = {}): void {
    server.respond(responseTo(server.request, status, { toTag: this.dialog.localTag, ...parts }));
  }

  /**
   * Ends the call, and sends BYE or CANCEL if the other side may be reachable.
   * @param status the error; null = a normal hang-up
   */
  #giveUp(reason: string, status: number | null): void {
    if (this.#isOver) return;
    // If both hang up at once, the other side's BYE gets its 200 (RFC 5407, 3.1.5).
    const stopListening = this.#core.listen(this.dialog.callId, this.dialog.localTag, {
      receive: (request, server) => this.#answer(server, request.method === 'BYE' ? 200 : 481),
      acknowledged: () => undefined,
    });
    const cause =
      status === null ? NORMAL_CLEARING : `SIP;cause=${String(status)};text=${quoted(wireOf(reason.slice(0, 200)))}`;
    this.#ask('BYE', (bye) => void bye.headers.add('reason', cause), stopListening);
    this.#end({ by: status === null ? 'local' : 'network', reason });
  }

  #end(end: LegEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#repeater?.stop();
    this.#timers.clearAll();
    this.#session.stop();
    this.#stopListening();
    // A side that has accepted a referral and hangs up has reached the target.
    this.#referral?.end(end.by === 'remote' ? { kind: 'done' } : { kind: 'silent' });
    this.#events.onEnded(end);
  }
}
