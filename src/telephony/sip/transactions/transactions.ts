import type { Clock } from '../../../base/clock.js';
import { type Hop, isReliable, sameHop } from '../hop.js';
import {
  callIdOf,
  cseqOf,
  type SipRequest,
  type SipResponse,
  tagOf,
  topVia,
  messageBytes,
  MAGIC_COOKIE,
  viaText,
} from '../message.js';
import { noteSource, responseTo } from '../respond.js';
import { PlainClientTransaction, cancelOf, InviteClientTransaction } from './client.js';
import type { ClientTransaction, ClientUser, ServerOptions, ServerTransaction } from './transaction.js';
import { GIVE_UP_MS, Timers, T1_MS, T2_MS, T4_MS } from '../timers.js';

/**
 * The server's side of any request but INVITE and ACK (RFC 3261, 17.2.2):
 *
 *     trying ──1xx──▶ proceeding ──▶ completed ──J──▶ terminated
 */
export class PlainServerTransaction implements ServerTransaction {
  readonly request: SipRequest;
  finalStatus: number | null = null;
  readonly #options: ServerOptions;
  readonly #timers: Timers<'J' | 'unanswered'>;
  #last: Uint8Array | null = null;
  #isOver = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.request = options.request;
    this.#timers = new Timers(options.clock);
    // The RFC has no timeout; the client has given up by then.
    this.#timers.set('unanswered', GIVE_UP_MS, () => this.close());
  }

  respond(response: SipResponse): void {
    if (this.finalStatus !== null || this.#isOver) return;
    this.#last = messageBytes(response);
    if (response.status >= 200) {
      this.finalStatus = response.status;
      this.#timers.clear('unanswered');
      this.#timers.set('J', this.#options.reliable ? 0 : GIVE_UP_MS, () => this.close());
    }
    this.#options.send(this.#last);
  }

  receive(): void {
    if (this.#last !== null) this.#options.send(this.#last);
  }

  transportFailed(): void {
    this.close();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timers.clearAll();
    this.#options.onTerminated();
  }
}

export interface TransactionsOptions {
  clock: Clock;
  /** A unique, unpredictable short string of token characters. */
  token: () => string;
  send: (bytes: Uint8Array, to: Hop) => void;
  /** The `Via` address for responses. */
  sentBy: (to: Hop) => { host: string; port: number };
  /** A new request, to be answered through its transaction. */
  onRequest: (request: SipRequest, from: Hop, server: ServerTransaction) => void;
  /** An ACK of a 2xx. */
  onAck: (request: SipRequest) => void;
  /** A message without a transaction was dropped. */
  onDropped: (why: 'stray-response' | 'no-via' | 'too-many') => void;
  /** Maximum number of transactions; further requests are dropped. Default 20 000. */
  most?: number;
}

interface Entry<T> {
  transaction: T;
  hop: Hop;
}

/** All transactions of a user agent: matches messages to them (RFC 3261, 17.1.3 and 17.2.3). */
export class Transactions {
  readonly #options: TransactionsOptions;
  readonly #clients = new Map<string, Entry<ClientTransaction>>();
  readonly #servers = new Map<string, Entry<ServerTransaction>>();
  /**
   * Requests outside dialogs by the common parts of their copies over other paths, to answer them only once (8.2.2.2).
   */
  readonly #merged = new Map<string, ServerTransaction>();
  #isClosed = false;

  constructor(options: TransactionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#clients.size + this.#servers.size;
  }

  /** Number of sent requests without a final response. */
  get unanswered(): number {
    let count = 0;
    for (const { transaction } of this.#clients.values()) if (!transaction.isAnswered) count++;
    return count;
  }

  /** Sends a request; adds its `Via`. */
  request(request: SipRequest, to: Hop, user: ClientUser): ClientTransaction {
    this.#addVia(request, to);
    return this.#client(request, to, user);
  }

  /** Sends the CANCEL of a pending INVITE. The INVITE's own end shows whether it arrives. */
  cancel(invite: ClientTransaction): void {
    const entry = this.#clients.get(clientKey(invite.request));
    if (entry?.transaction !== invite) return;
    this.#client(cancelOf(invite.request), entry.hop, { onResponse: () => undefined, onFailure: () => undefined });
  }

  /** Sends an ACK of a 2xx, which has no transaction. */
  acknowledge(ack: SipRequest, to: Hop): Uint8Array {
    this.#addVia(ack, to);
    const bytes = messageBytes(ack);
    this.#options.send(bytes, to);
    return bytes;
  }

  receiveResponse(response: SipResponse): void {
    const key = clientKey(response);
    const entry = this.#clients.get(key);
    if (entry === undefined) this.#options.onDropped('stray-response');
    else entry.transaction.receive(response);
  }

  /** Whether a message belongs to a transaction. */
  knows(message: SipRequest | SipResponse): boolean {
    if (message.kind === 'response') return this.#clients.has(clientKey(message));
    const isOfInvite = message.method === 'ACK' || message.method === 'CANCEL';
    return this.#servers.has(serverKey(message, isOfInvite ? 'INVITE' : message.method));
  }

  /** Handles a valid request, or one that gets an error response: see `refuse`. */
  receiveRequest(request: SipRequest, from: Hop): void {
    const { onRequest, onAck, onDropped, most = 20_000 } = this.#options;
    const back = noteSource(request, from);
    if (back === null) return onDropped('no-via');
    const key = serverKey(request, request.method === 'ACK' ? 'INVITE' : request.method);
    const known = this.#servers.get(key);
    if (known !== undefined) {
      // The ACK of a 2xx is a separate transaction, whatever its branch is.
      if (request.method === 'ACK' && (known.transaction.finalStatus ?? 0) < 300) onAck(request);
      else known.transaction.receive(request);
      return;
    }
    if (request.method === 'ACK') return onAck(request);
    if (this.#isClosed) return;
    if (this.size >= most) return onDropped('too-many');
    const server = this.#server(request, key, back);
    if (request.method === 'CANCEL') return this.#cancelled(request, from, server);
    if (this.#isMerged(request, server)) server.respond(responseTo(request, 482, { toTag: this.#options.token() }));
    else onRequest(request, from, server);
  }

  /** Answers an invalid request without keeping state. */
  refuse(
    request: SipRequest,
    from: Hop,
    status: number,
    reason: string,
    headers: Iterable<readonly [name: string, value: string]> = [],
  ): void {
    if (request.method === 'ACK') return;
    const back = noteSource(request, from);
    if (back === null) return this.#options.onDropped('no-via');
    const response = responseTo(request, status, { reason, headers, toTag: this.#options.token() });
    this.#options.send(messageBytes(response), back);
  }

  /** A message to there was not delivered. */
  transportFailed(hop: Hop): void {
    for (const entry of [...this.#clients.values(), ...this.#servers.values()]) {
      if (sameHop(entry.hop, hop)) entry.transaction.transportFailed();
    }
  }

  /** Ends all silently. May be called twice. */
  close(): void {
    this.#isClosed = true;
    for (const { transaction } of [...this.#clients.values(), ...this.#servers.values()]) transaction.close();
  }

  #addVia(request: SipRequest, to: Hop): void {
    const { sentBy, token } = this.#options;
    const parameters = new Map([
      ['branch', `${MAGIC_COOKIE}${token()}`],
      ['rport', null],
    ]);
    request.headers.prepend('via', viaText({ transport: to.protocol, ...sentBy(to), parameters }));
  }

  #client(request: SipRequest, hop: Hop, user: ClientUser): ClientTransaction {
    const { clock, send } = this.#options;
    const key = clientKey(request);
    const Kind = request.method === 'INVITE' ? InviteClientTransaction : PlainClientTransaction;
    const transaction: ClientTransaction = new Kind({
      clock,
      request,
      user,
      reliable: isReliable(hop),
      send: (bytes) => send(bytes, hop),
      onTerminated: () => this.#clients.delete(key),
    });
    this.#clients.set(key, { transaction, hop });
    return transaction;
  }

  #server(request: SipRequest, key: string, hop: Hop): ServerTransaction {
    const { clock, send } = this.#options;
    const merged = mergeKey(request);
    const Kind = request.method === 'INVITE' ? InviteServerTransaction : PlainServerTransaction;
    const transaction: ServerTransaction = new Kind({
      clock,
      request,
      reliable: isReliable(hop),
      send: (bytes) => send(bytes, hop),
      onTerminated: () => {
        this.#servers.delete(key);
        if (this.#merged.get(merged) === transaction) this.#merged.delete(merged);
      },
    });
    this.#servers.set(key, { transaction, hop });
    return transaction;
  }

  #isMerged(request: SipRequest, server: ServerTransaction): boolean {
    if (tagOf(request, 'to') !== null) return false;
    const key = mergeKey(request);
    if (this.#merged.has(key)) return true;
    this.#merged.set(key, server);
    return false;
  }

  /** Only an INVITE can be cancelled; its user gets the CANCEL by `onRequest`, already answered. */
  #cancelled(request: SipRequest, from: Hop, server: ServerTransaction): void {
    const invite = this.#servers.get(serverKey(request, 'INVITE'));
    const known = invite !== undefined;
    server.respond(responseTo(request, known ? 200 : 481, { toTag: this.#options.token() }));
    if (known && invite.transaction.finalStatus === null) {
      this.#options.onRequest(request, from, invite.transaction);
    }
  }
}

function clientKey(message: SipRequest | SipResponse): string {
  return `${topVia(message)?.parameters.get('branch') ?? ''} ${cseqOf(message)?.method ?? ''}`;
}

function serverKey(request: SipRequest, method: string): string {
  const via = topVia(request);
  const branch = via?.parameters.get('branch') ?? '';
  const sentBy = `${via?.host ?? ''}:${String(via?.port ?? '')}`;
  if (branch.startsWith(MAGIC_COOKIE) && branch.length > MAGIC_COOKIE.length) return `${branch} ${sentBy} ${method}`;
  // As in RFC 2543: the request's own parts, without the tag that an ACK has.
  return `${mergeKey(request, method)} ${request.uri} ${sentBy}`;
}

function mergeKey(request: SipRequest, method = request.method): string {
  const sequence = String(cseqOf(request)?.sequence ?? '');
  return `${tagOf(request, 'from') ?? ''} ${callIdOf(request)} ${sequence} ${method}`;
}

/**
 * The server's side of an INVITE (RFC 3261, 17.2.1, as RFC 6026 has it):
 *
 *     proceeding ──300..699──▶ completed ──ACK──▶ confirmed ──I──▶ terminated
 *         │                        └──────H────────────────────────▶
 *         └─────────2xx─────────▶ accepted ──L──▶ terminated
 *
 * Who sends a 2xx repeats it by itself until its ACK comes.
 */
class InviteServerTransaction implements ServerTransaction {
  readonly request: SipRequest;
  finalStatus: number | null = null;
  readonly #options: ServerOptions;
  readonly #timers: Timers<'G' | 'H' | 'I' | 'L'>;
  #state: 'proceeding' | 'completed' | 'accepted' | 'confirmed' | 'terminated' = 'proceeding';
  #last: Uint8Array | null = null;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.request = options.request;
    this.#timers = new Timers(options.clock);
  }

  respond(response: SipResponse): void {
    const { status } = response;
    if (this.#state === 'accepted' && status >= 200 && status < 300) {
      this.#options.send(messageBytes(response));
      return;
    }
    if (this.#state !== 'proceeding') return;
    this.#last = messageBytes(response);
    if (status >= 300) this.#completed();
    else if (status >= 200) this.#accepted();
    if (status >= 200) this.finalStatus = status;
    this.#options.send(this.#last);
  }

  receive({ method }: SipRequest): void {
    if (method === 'ACK') {
      if (this.#state !== 'completed') return;
      this.#state = 'confirmed';
      this.#timers.clearAll();
      this.#timers.set('I', this.#options.reliable ? 0 : T4_MS, () => this.#terminate());
    } else if ((this.#state === 'proceeding' || this.#state === 'completed') && this.#last !== null) {
      this.#options.send(this.#last);
    }
  }

  transportFailed(): void {
    // Timer H or L ends it: the client may ask again.
  }

  close(): void {
    if (this.#state !== 'terminated') this.#terminate();
  }

  #completed(): void {
    this.#state = 'completed';
    this.#timers.set('H', GIVE_UP_MS, () => this.#terminate());
    if (!this.#options.reliable) this.#again(T1_MS);
  }

  #accepted(): void {
    this.#state = 'accepted';
    this.#timers.set('L', GIVE_UP_MS, () => this.#terminate());
  }

  #again(intervalMs: number): void {
    this.#timers.set('G', intervalMs, () => {
      this.#again(Math.min(intervalMs * 2, T2_MS));
      if (this.#last !== null) this.#options.send(this.#last);
    });
  }

  #terminate(): void {
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#options.onTerminated();
  }
}
