import type { Cancel, Clock } from '../../base/clock.js';
import type { CallIntake } from './call-intake.js';
import { ALLOW, type CallCore, type DialogReceiver, SUPPORTED } from './call/core.js';
import { InboundCall, inviteRefusal } from './call/inbound.js';
import type { Leg } from './call/leg.js';
import { SipOutboundCall, type OutboundOptions } from './call/outbound.js';
import { SDP_TYPE } from './call/offer-answer.js';
import { isUsableResponse, refusalOf } from './check.js';
import { dialogKey } from './dialog/dialog.js';
import type { DigestClient } from './digest.js';
import type { Authenticator } from './authenticator.js';
import { Headers } from './headers.js';
import { type Hop, sameHop } from './hop.js';
import { callIdOf, NO_BODY, type SipMessage, type SipRequest, type SipResponse, tagOf, topVia } from './message.js';
import { Outgoing } from './outgoing.js';
import { parseMessage } from './parse.js';
import { reasonPhrase, responseTo } from './respond.js';
import { hopNamedBy } from './routes.js';
import { parametersOf } from './scan.js';
import type { ServerTransaction } from './transactions/transaction.js';
import { Transactions } from './transactions/transactions.js';
import type { SipTransport } from './transport/transport.js';
import { hostText, type SipUri } from './uri.js';

export interface UserAgentOptions {
  clock: Clock;
  transport: SipTransport;
  digest: DigestClient | null;
  /** A unique, unpredictable short string of letters and digits. */
  token: () => string;
  /** 0 ≤ number < 1 */
  chance: () => number;
  /** The allowed peers: requests of others get no answer, and no request goes to others. */
  isTrusted: (hop: Hop) => boolean;
  /** Inbound calls. */
  onCall: (call: InboundCall) => void;
  /**
   * False while no new calls are accepted: responses to OPTIONS say so, and dispatchers choose another server. Default:
   * always true.
   */
  takesCalls?: (() => boolean) | undefined;
  /** Limits inbound calls. Default: unlimited. */
  intake?: CallIntake | undefined;
  /** An INVITE is refused without becoming a call. */
  onRefused?: ((refusal: SipRefusal) => void) | undefined;
  /** User part of the `Contact`. */
  user: string;
  /** Authenticates unknown callers. Default: only trusted peers are accepted. */
  authenticator?: Authenticator;
}

/** A request outside of calls. */
export interface PlainRequest {
  method: string;
  uri: string;
  from: string;
  to: string;
  headers?: Iterable<readonly [name: string, value: string]>;
  hops: readonly Hop[];
  callId?: string;
  /** The first CSeq number. Default 1. */
  sequence?: number;
  /** @param response null = none */
  onFinal: (response: SipResponse | null, hop: Hop | null) => void;
}

/** A refused call. */
export interface SipRefusal {
  status: number;
  /** For the operator. */
  why: string;
  /** The caller's hop. */
  from: Hop;
}

/** Counters by name: dropped and refused messages, by reason. */
export type SipCounts = Readonly<Record<string, number>>;

/** A full server may have capacity soon, and others have it now (RFC 3261, 20.33). */
export const RETRY_AFTER_S = '10';

/** A SIP user agent: calls both ways over a transport, independent of sockets and media. */
export class UserAgent {
  readonly #options: UserAgentOptions;
  readonly #core: CallCore;
  readonly #transactions: Transactions;
  readonly #receivers = new Map<string, DialogReceiver>();
  /** By dialog: several may share a Call-ID, with different tags. */
  readonly #legs = new Map<string, () => Leg | null>();
  readonly #ringing = new Map<ServerTransaction, InboundCall>();
  readonly #counts: Record<string, number> = {};
  #isClosed = false;

  constructor(options: UserAgentOptions) {
    this.#options = options;
    const { clock, transport, digest, token, chance } = options;
    this.#transactions = new Transactions({
      clock,
      token,
      send: (bytes, to) => transport.send(bytes, to),
      sentBy: (to) => transport.localPlace(to),
      onRequest: (request, from, server) => this.#requested(request, from, server),
      onAck: (ack) => this.#receiverOf(ack)?.acknowledged(ack),
      onDropped: (why) => this.#count(`dropped.${why}`),
    });
    this.#core = {
      clock,
      digest,
      token,
      chance,
      transactions: this.#transactions,
      contact: (hop) => this.contact(hop),
      route: (dialog, use) => use(this.hopOf(dialog.next, dialog.hop)),
      listen: (callId, localTag, receiver) => this.#listen(dialogKey({ callId, localTag }), receiver),
    };
  }

  get counts(): SipCounts {
    return { ...this.#counts };
  }

  /** Number of dialogs, including calls before their dialog. */
  get dialogs(): number {
    return this.#receivers.size;
  }

  get transactions(): number {
    return this.#transactions.size;
  }

  /** Number of sent requests without a response. */
  get unanswered(): number {
    return this.#transactions.unanswered;
  }

  /** The own address for this peer, as a header value. */
  contact(hop: Hop): string {
    const { host, port } = this.#options.transport.localPlace(hop);
    const transport = hop.protocol === 'UDP' ? '' : `;transport=${hop.protocol.toLowerCase()}`;
    return `<sip:${this.#options.user}@${hostText(host)}:${String(port)}${transport}>`;
  }

  /**
   * Destination of a request to the next router or the far end: only to allowed peers. An address in `Contact`,
   * `Record-Route` or `Service-Route` of others, or behind NAT, is replaced by the real source of its messages.
   * @param hop the source
   */
  hopOf(next: SipUri | null, hop: Hop): Hop {
    const { transport, isTrusted } = this.#options;
    const named = next === null ? null : hopNamedBy(next, hop);
    if (named === null || sameHop(named, hop) || !isTrusted(named)) return hop;
    // The existing connection is as good as a new one.
    if (hop.protocol !== 'UDP' && hop.address === named.address && transport.isOpen(hop)) return hop;
    return named;
  }

  /** Handles a received message. Never throws. */
  receive(bytes: Uint8Array, from: Hop): void {
    if (this.#isClosed) return;
    const parsed = parseMessage(bytes, from.protocol === 'UDP');
    if (!parsed.ok) {
      if (parsed.fault === 'empty') return; // a keep-alive
      this.#count(`bad.${parsed.fault}`);
      if (parsed.request !== null && this.#options.authenticator === undefined && this.#mayRefuse()) {
        this.#transactions.refuse(parsed.request, from, parsed.status, 'Bad Request');
      }
      return;
    }
    const { message } = parsed;
    if (message.kind === 'response') {
      if (isUsableResponse(message)) this.#transactions.receiveResponse(message);
      else this.#count('bad.response');
      return;
    }
    if (topVia(message) === null) return this.#count('bad.via');
    const refusal = refusalOf(message);
    if (
      this.#options.authenticator !== undefined &&
      (refusal !== null || !this.#isAdmitted(this.#options.authenticator, message, from))
    ) {
      return this.#count('refused.stranger');
    }
    if (refusal === null) {
      if (this.#isAdmittedCall(message, from)) this.#transactions.receiveRequest(message, from);
      return;
    }
    this.#count('bad.request');
    if (this.#mayRefuse()) this.#transactions.refuse(message, from, refusal.status, refusal.why);
  }

  /** Whether a message belongs to an existing call or transaction. */
  knows(message: SipMessage): boolean {
    return this.#transactions.knows(message) || (message.kind === 'request' && this.#receiverOf(message) !== undefined);
  }

  /** A message to there was not delivered. */
  transportFailed(hop: Hop): void {
    this.#count('transport.failed');
    this.#transactions.transportFailed(hop);
  }

  /** Creates a call; start it with its method. */
  call(options: Omit<OutboundOptions, 'core'>): SipOutboundCall {
    const { events } = options;
    const call: SipOutboundCall = new SipOutboundCall({
      ...options,
      core: this.#core,
      events: {
        onRinging: () => events.onRinging(),
        onAnswered: (leg) => events.onAnswered(leg),
        onKeys: (keys) => events.onKeys(keys),
        onFailed: (failure) => {
          this.#legs.delete(dialogKey(call));
          events.onFailed(failure);
        },
        onEnded: (end) => {
          this.#legs.delete(dialogKey(call));
          events.onEnded(end);
        },
      },
    });
    this.#legs.set(dialogKey(call), () => call.leg);
    return call;
  }

  /** Sends a request outside of calls, such as REGISTER. */
  request(options: PlainRequest): Outgoing {
    const { method, uri, from, to, headers = [], hops, onFinal } = options;
    const { clock, digest, token } = this.#options;
    const { callId = token(), sequence = 1 } = options;
    const tag = token();
    let next = sequence;
    const outgoing = new Outgoing({
      clock,
      digest,
      hops,
      transactions: this.#transactions,
      build: (hop) => ({
        kind: 'request',
        method,
        uri,
        body: NO_BODY,
        headers: new Headers([
          ['max-forwards', '70'],
          ['from', `${from};tag=${tag}`],
          ['to', to],
          ['call-id', callId],
          ['cseq', `${String(next++)} ${method}`],
          ['contact', this.contact(hop)],
          ...headers,
        ]),
      }),
      onFinal: (response, _request, hop) => onFinal(response, hop),
      onFailure: () => onFinal(null, null),
    });
    outgoing.start();
    return outgoing;
  }

  /** Drops all state, silently. May be called twice. */
  close(): void {
    this.#isClosed = true;
    this.#transactions.close();
    this.#receivers.clear();
    this.#legs.clear();
    this.#ringing.clear();
  }

  #mayRefuse(): boolean {
    return this.#options.intake?.mayRefuse() !== false;
  }

  /** Before any work for a call: a refusal here leaves no state. */
  #isAdmittedCall(request: SipRequest, from: Hop): boolean {
    const { intake } = this.#options;
    const isNew = request.method === 'INVITE' && tagOf(request, 'to') === null;
    if (intake === undefined || !isNew || this.#transactions.knows(request)) return true;
    const admission = intake.admit(from);
    if (admission === 'admitted') return true;
    this.#count('refused.flood');
    const headers = [['retry-after', RETRY_AFTER_S]] as const;
    if (admission === 'refused') this.#transactions.refuse(request, from, 503, 'Service Unavailable', headers);
    return false;
  }

  #isAdmitted(authenticator: Authenticator, request: SipRequest, from: Hop): boolean {
    const admission = authenticator.admit(request, from, this.knows(request));
    if (typeof admission === 'string') return admission === 'in';
    const headers = admission.map((value) => ['www-authenticate', value] as const);
    this.#transactions.refuse(request, from, 401, 'Unauthorized', headers);
    return false;
  }

  #requested(request: SipRequest, from: Hop, server: ServerTransaction): void {
    if (request.method === 'CANCEL') {
      this.#ringing.get(server)?.cancelled();
      return;
    }
    if (tagOf(request, 'to') !== null) {
      const receiver = this.#receiverOf(request);
      if (receiver === undefined) server.respond(responseTo(request, 481));
      else receiver.receive(request, server, from);
      return;
    }
    const respond = (status: number, headers: [string, string][] = []): void =>
      server.respond(responseTo(request, status, { toTag: this.#options.token(), headers }));
    switch (request.method) {
      case 'INVITE':
        return this.#invited(request, from, server, respond);
      case 'OPTIONS': {
        const refusal = request.headers.has('require') ? inviteRefusal(request) : null;
        if (refusal?.status === 420) return respond(420, refusal.headers);
        // The response that an INVITE would get (RFC 3261, 11.2).
        if (this.#options.takesCalls?.() === false) return respond(503, [['retry-after', RETRY_AFTER_S]]);
        return respond(200, [
          ['allow', ALLOW],
          ['accept', SDP_TYPE],
          ['supported', SUPPORTED],
        ]);
      }
      case 'BYE':
      case 'UPDATE':
      case 'INFO':
      case 'PRACK':
      case 'NOTIFY':
        return respond(481);
      default:
        this.#count('refused.method');
        return respond(405, [['allow', ALLOW]]);
    }
  }

  #invited(
    request: SipRequest,
    from: Hop,
    server: ServerTransaction,
    respond: (status: number, headers?: [string, string][]) => void,
  ): void {
    const refused = (status: number, why: string): void => this.#options.onRefused?.({ status, why, from });
    const refuse = (status: number, headers: [string, string][] = []): void => {
      refused(status, [reasonPhrase(status), ...headers.map(([name, value]) => `${name}: ${value}`)].join(', '));
      respond(status, headers);
    };
    const refusal = inviteRefusal(request);
    if (refusal !== null) return refuse(refusal.status, refusal.headers);
    const replaced = request.headers.get('replaces');
    const replaces = replaced === undefined ? null : this.#replaced(replaced);
    if (replaces !== null && typeof replaces === 'number') return refuse(replaces);
    const call: InboundCall = new InboundCall({
      core: this.#core,
      request,
      server,
      replaces,
      hop: from,
      unconfirmed: this.#options.intake?.begin(from) ?? null,
      onRefused: refused,
      onSettled: () => this.#ringing.delete(server),
      onOver: () => this.#legs.delete(dialogKey(call)),
    });
    this.#ringing.set(server, call);
    this.#legs.set(dialogKey(call), () => call.leg);
    this.#options.onCall(call);
  }

  /** The call of a `Replaces` header, or the status of a refusal (RFC 3891, 3). */
  #replaced(value: string): Leg | 400 | 481 | 486 {
    const semicolon = value.indexOf(';');
    const parameters = semicolon < 0 ? null : parametersOf(value.slice(semicolon));
    const toTag = parameters?.get('to-tag');
    const fromTag = parameters?.get('from-tag');
    if (toTag == null || fromTag == null) return 400;
    const callId = value.slice(0, semicolon).trim();
    const leg = this.#legs.get(dialogKey({ callId, localTag: toTag }))?.() ?? null;
    if (leg === null || leg.isOver || leg.dialog.remoteTag !== fromTag) return 481;
    return parameters?.has('early-only') === true ? 486 : leg;
  }

  #receiverOf(request: SipRequest): DialogReceiver | undefined {
    return this.#receivers.get(dialogKey({ callId: callIdOf(request), localTag: tagOf(request, 'to') ?? '' }));
  }

  #listen(key: string, receiver: DialogReceiver): Cancel {
    this.#receivers.set(key, receiver);
    return () => {
      if (this.#receivers.get(key) === receiver) this.#receivers.delete(key);
    };
  }

  #count(name: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
  }
}
