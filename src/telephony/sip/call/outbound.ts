import type { Cancel } from '../../../base/clock.js';
import { reasonOf } from '../../../base/errors.js';
import { parseAddress } from '../address.js';
import { Dialog } from '../dialog/dialog.js';
import { MIN_SE_S, minSeOf, SESSION_EXPIRES_S } from '../dialog/session-timer.js';
import { Headers } from '../headers.js';
import type { Hop } from '../hop.js';
import { cseqOf, type SipRequest, type SipResponse, tagOf } from '../message.js';
import { Outgoing } from '../outgoing.js';
import { responseTo } from '../respond.js';
import { routed } from '../routes.js';
import { numberOf } from '../scan.js';
import { GIVE_UP_MS, Timers } from '../timers.js';
import type { ServerTransaction } from '../transactions/transaction.js';
import { ALLOW, type CallCore, SUPPORTED } from './core.js';
import { Leg, type LegEnd } from './leg.js';
import { type OfferAnswer, refusalStatus, SDP_TYPE, sdpOf } from './offer-answer.js';

export interface OutboundEvents {
  /** It rings at the far end, or early media arrive. Once. */
  onRinging(): void;
  onAnswered(leg: Leg): void;
  /** It was not answered. Once, in place of `onAnswered`. */
  onFailed(failure: OutboundFailure): void;
  /** As `LegEvents`, after the answer. */
  onEnded(end: LegEnd): void;
  onKeys(keys: string): void;
}

export interface OutboundFailure {
  /** The far end's or the network's; null without a response. */
  status: number | null;
  reason: string;
  /** The cause of the telephone network (ITU-T Q.850, by RFC 3326); null = none. */
  q850: number | null;
  /** Whether parley cancelled it. */
  isCancelled: boolean;
}

export interface OutboundOptions {
  core: CallCore;
  /** Request-URI. */
  target: string;
  /** Values of `From` and `To`, without tags. */
  from: string;
  to: string;
  hops: readonly Hop[];
  /** The initial route set: values of `Route`. Default: none. */
  routes?: readonly string[];
  media: OfferAnswer;
  /** Additional headers, such as `P-Asserted-Identity`. */
  headers?: Iterable<readonly [name: string, value: string]>;
  events: OutboundEvents;
  /**
   * The call was redirected (3xx).
   * @returns the new destination; null = not followed
   */
  redirected?: (uri: string) => { target: string; hops: readonly Hop[] } | null;
}

const MOST_REDIRECTS = 5;
/** Maximum number of early dialogs of one forked call. */
const MOST_FORKS = 16;

interface Fork {
  dialog: Dialog;
  /** The last acknowledged reliable provisional response (RFC 3262, 4). */
  reliable: number | null;
}

/** An outbound call, from its INVITE to its answer or failure; then its `leg`. */
export class SipOutboundCall {
  readonly callId: string;
  /** Of the local `From`. */
  readonly localTag: string;
  readonly #options: OutboundOptions;
  readonly #core: CallCore;
  readonly #timers: Timers<'cancelled'>;
  readonly #forks = new Map<string, Fork>();
  readonly #stopListening: Cancel;
  readonly #tried = new Set<string>();
  #outgoing: Outgoing | null = null;
  #target: string;
  #hops: readonly Hop[];
  #sequence = 0;
  #minSe = MIN_SE_S;
  /** Untried contacts of redirections, in order of preference. */
  #contacts: string[] = [];
  #hasSign = false;
  #isRinging = false;
  #isCancelled = false;
  #isOver = false;
  #leg: Leg | null = null;

  constructor(options: OutboundOptions) {
    const { core, target, hops } = options;
    this.#options = options;
    this.#core = core;
    this.#target = target;
    this.#hops = hops;
    this.callId = core.token();
    this.localTag = core.token();
    this.#timers = new Timers(core.clock);
    this.#stopListening = core.listen(this.callId, this.localTag, {
      receive: (request, server) => this.#receive(request, server),
      acknowledged: () => undefined,
    });
  }

  get leg(): Leg | null {
    return this.#leg;
  }

  /** Whether any response has come, including 100. */
  get hasSign(): boolean {
    return this.#hasSign;
  }

  /** Call it once. */
  start(): void {
    this.#invite();
  }

  /** Cancels the call before its answer. May be called twice. */
  cancel(): void {
    if (this.#isCancelled || this.#isOver || this.#leg !== null) return;
    this.#isCancelled = true;
    this.#outgoing?.cancel();
    // A side that answers neither the INVITE nor its CANCEL is not awaited (9.1).
    this.#timers.set('cancelled', GIVE_UP_MS, () => {
      this.#outgoing?.close();
      this.#fail(null, 'the CANCEL was not answered');
    });
  }

  #invite(): void {
    const { clock, transactions, digest } = this.#core;
    this.#tried.add(this.#target);
    this.#outgoing = new Outgoing({
      clock,
      transactions,
      digest,
      hops: this.#hops,
      build: (hop) => this.#request(hop),
      onProvisional: (response, _request, hop) => this.#provisional(response, hop),
      onFinal: (response, _request, hop) => {
        if (response.status < 300) this.#answered(response, hop);
        else this.#refused(response);
      },
      onFailure: (failure) => {
        const reason = failure === 'timeout' ? '408 Request Timeout' : '503 Service Unavailable';
        if (!this.#tryNext()) this.#fail(null, `${reason}: no server of the trunk answers`);
      },
    });
    this.#outgoing.start();
  }

  #request(hop: Hop): SipRequest {
    const { from, to, headers: more = [], routes: initial = [], media } = this.#options;
    const { uri, routes } = routed(this.#target, initial);
    const headers = new Headers([
      ['max-forwards', '70'],
      ...routes.map((route) => ['route', route] as const),
      ['from', `${from};tag=${this.localTag}`],
      ['to', to],
      ['call-id', this.callId],
      ['cseq', `${String(++this.#sequence)} INVITE`],
      ['contact', this.#core.contact(hop)],
      ['allow', ALLOW],
      ['supported', SUPPORTED],
      ['session-expires', String(Math.max(SESSION_EXPIRES_S, this.#minSe))],
      ['min-se', String(this.#minSe)],
      ...more,
      ['content-type', SDP_TYPE],
    ]);
    // Early dialogs of the previous attempt are over.
    this.#forks.clear();
    const body = Buffer.from(media.offer());
    return { kind: 'request', method: 'INVITE', uri, headers, body };
  }

  #provisional(response: SipResponse, hop: Hop): void {
    this.#hasSign = true;
    if (response.status === 100 || this.#leg !== null || this.#isOver) return;
    const tag = tagOf(response, 'to');
    if (!this.#isRinging) {
      this.#isRinging = true;
      this.#options.events.onRinging();
    }
    if (tag === null) return;
    const fork = this.#fork(tag, response, hop);
    if (fork === null) return;
    const isReliable = response.headers.lists('require', '100rel');
    const sequence = numberOf(response.headers.get('rseq') ?? '', 2 ** 32 - 1);
    if (isReliable) {
      if (sequence === null) return;
      // A repeated or early one: it will come again.
      if (fork.reliable !== null && sequence !== fork.reliable + 1) return;
      fork.reliable = sequence;
    }
    const sdp = sdpOf(response);
    if (sdp !== null) this.#early(sdp);
    if (isReliable) this.#acknowledge(fork, response, sequence ?? 0);
  }

  /** Media description before the answer: it may be wrong, the answer counts. */
  #early(sdp: string): void {
    try {
      this.#options.media.accept(sdp);
    } catch {
      // The answer's own description decides.
    }
  }

  #fork(tag: string, response: SipResponse, hop: Hop): Fork | null {
    const known = this.#forks.get(tag);
    if (known !== undefined) return known;
    if (this.#forks.size >= MOST_FORKS) return null;
    const fork = { dialog: Dialog.ofResponse(response, hop), reliable: null };
    this.#forks.set(tag, fork);
    return fork;
  }

  #acknowledge({ dialog }: Fork, response: SipResponse, sequence: number): void {
    const { clock, transactions, digest } = this.#core;
    const invite = String(cseqOf(response)?.sequence ?? 0);
    this.#core.route(dialog, (hop) => {
      const prack = new Outgoing({
        clock,
        transactions,
        digest,
        hops: [hop],
        build: () => {
          const request = dialog.request('PRACK', this.#core.contact(hop));
          request.headers.add('rack', `${String(sequence)} ${invite} INVITE`);
          return request;
        },
        onFinal: () => undefined,
        onFailure: () => undefined,
      });
      prack.start();
    });
  }

  #answered(response: SipResponse, hop: Hop): void {
    const tag = tagOf(response, 'to') ?? '';
    const sequence = cseqOf(response)?.sequence ?? 0;
    const fork = this.#forks.get(tag);
    const dialog =
      this.#leg?.dialog.remoteTag === tag ? this.#leg.dialog : (fork?.dialog ?? Dialog.ofResponse(response, hop));
    // A repeated answer has nothing new: the far end may have moved since.
    if (this.#leg?.dialog !== dialog) dialog.settle(response);
    this.#core.route(dialog, (next) => {
      this.#core.transactions.acknowledge(dialog.ack(sequence), next);
      if (this.#leg?.dialog === dialog) return; // a repeated answer
      if (this.#leg === null && !this.#isOver && !this.#isCancelled) this.#confirm(dialog, response, next);
      else this.#drop(dialog, next);
    });
  }

  #confirm(dialog: Dialog, response: SipResponse, hop: Hop): void {
    const { events, media } = this.#options;
    const sdp = sdpOf(response);
    try {
      // If a reliable provisional response was the answer, this one may have none (RFC 3262, 5).
      if (sdp !== null) media.accept(sdp);
      else if (this.#forks.get(dialog.remoteTag)?.reliable == null) throw new Error('the answer describes no media');
    } catch (error) {
      this.#drop(dialog, hop, [['reason', 'SIP;cause=488;text="Not Acceptable Here"']]);
      return this.#fail(488, `488 Not Acceptable Here: answered without usable media (${reasonOf(error)})`);
    }
    this.#stopListening();
    this.#timers.clearAll();
    const leg = new Leg({
      core: this.#core,
      dialog,
      media,
      events: {
        onEnded: (end) => {
          this.#isOver = true;
          events.onEnded(end);
        },
        onKeys: (keys) => events.onKeys(keys),
      },
    });
    this.#leg = leg;
    leg.note(response, true);
    events.onAnswered(leg);
  }

  /** A late answer, or one of a second far end, or without media: sends BYE. */
  #drop(dialog: Dialog, hop: Hop, headers: readonly [string, string][] = []): void {
    const { clock, transactions, digest } = this.#core;
    const bye = new Outgoing({
      clock,
      transactions,
      digest,
      hops: [hop],
      build: () => {
        const request = dialog.request('BYE', this.#core.contact(hop));
        for (const [name, value] of headers) request.headers.add(name, value);
        return request;
      },
      onFinal: () => undefined,
      onFailure: () => undefined,
    });
    bye.start();
    if (this.#isCancelled && this.#leg === null) this.#fail(null, 'it was answered as we gave it up');
  }

  #refused(response: SipResponse): void {
    const { status, reason } = response;
    if (this.#isOver || this.#leg !== null) return;
    if (status === 422 && !this.#isCancelled) {
      const least = minSeOf(response.headers);
      if (least !== null && least > this.#minSe) {
        this.#minSe = least;
        return this.#again();
      }
    }
    if (status >= 300 && status < 400) this.#noteContacts(response);
    // 6xx is final for all locations of the user (21.6).
    if (status < 600 && this.#tryNext()) return;
    const cause = response.headers.get('reason');
    const q850 = numberOf(/\bQ\.850\s*;[^,]*\bcause\s*=\s*(\d{1,3})/i.exec(cause ?? '')?.[1] ?? '', 127);
    this.#fail(status, `${String(status)} ${reason}${cause === undefined ? '' : ` (${cause.slice(0, 200)})`}`, q850);
  }

  /** The addresses of a redirection come before the rest of an earlier one (8.1.3.4). */
  #noteContacts(response: SipResponse): void {
    const contacts = (response.headers.values('contact') ?? [])
      .map(parseAddress)
      .filter((contact) => contact !== null)
      .sort((one, other) => preference(other.parameters.get('q')) - preference(one.parameters.get('q')));
    this.#contacts = [...contacts.map(({ uri }) => uri), ...this.#contacts];
  }

  /** Tries the first untried and allowed address of a redirection. */
  #tryNext(): boolean {
    while (!this.#isCancelled && this.#tried.size <= MOST_REDIRECTS) {
      const uri = this.#contacts.shift();
      if (uri === undefined) return false;
      const next = this.#options.redirected?.(uri) ?? null;
      if (next === null || this.#tried.has(next.target)) continue;
      this.#target = next.target;
      this.#hops = next.hops;
      this.#again();
      return true;
    }
    return false;
  }

  #again(): void {
    this.#options.media.rollback();
    this.#invite();
  }

  /** Requests before the answer, of forks. */
  #receive(request: SipRequest, server: ServerTransaction): void {
    const fork = this.#forks.get(tagOf(request, 'from') ?? '');
    const respond = (status: number, headers: [string, string][] = []): void =>
      server.respond(responseTo(server.request, status, { toTag: this.localTag, headers }));
    if (fork === undefined || this.#isOver) return respond(481);
    if (!fork.dialog.takes(request)) return respond(500);
    switch (request.method) {
      case 'UPDATE':
        return this.#updated(request, fork, respond, server);
      case 'BYE':
        this.#forks.delete(fork.dialog.remoteTag);
        return respond(200);
      case 'OPTIONS':
        return respond(200, [['allow', ALLOW]]);
      default:
        return respond(405, [['allow', ALLOW]]);
    }
  }

  /** A change of the media before the answer; the own offer must have been answered (RFC 3311, 5.2). */
  #updated(
    request: SipRequest,
    { dialog, reliable }: Fork,
    respond: (status: number, headers?: [string, string][]) => void,
    server: ServerTransaction,
  ): void {
    const offer = sdpOf(request);
    if (offer !== null && reliable === null) return respond(491);
    const contact: [string, string] = ['contact', this.#core.contact(dialog.hop)];
    try {
      const sdp = offer === null ? null : this.#options.media.answer(offer);
      dialog.refresh(request);
      if (sdp === null) return respond(200, [contact]);
      const headers: [string, string][] = [contact, ['content-type', SDP_TYPE]];
      server.respond(responseTo(request, 200, { toTag: this.localTag, headers, body: Buffer.from(sdp) }));
    } catch (error) {
      respond(refusalStatus(error));
    }
  }

  #fail(status: number | null, reason: string, q850: number | null = null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timers.clearAll();
    this.#stopListening();
    this.#options.events.onFailed({ status, reason, q850, isCancelled: this.#isCancelled });
  }
}

/** `q` of a contact; default 1. */
function preference(q: string | null | undefined): number {
  const value = Number(q ?? 1);
  return Number.isFinite(value) ? value : 0;
}
