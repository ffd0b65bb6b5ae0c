import type { Clock } from '../../base/clock.js';
import type { DigestClient } from './digest.js';
import type { Hop } from './hop.js';
import type { SipRequest, SipResponse } from './message.js';
import { Timers } from './timers.js';
import type { ClientFailure, ClientTransaction } from './transactions/transaction.js';
import type { Transactions } from './transactions/transactions.js';

export interface OutgoingOptions {
  clock: Clock;
  transactions: Transactions;
  /** Destinations: the next one is tried if one is unreachable or has no capacity. */
  hops: readonly Hop[];
  /** Null: challenged requests fail. */
  digest: DigestClient | null;
  /** Builds the request for each attempt, with its own CSeq. */
  build: (hop: Hop) => SipRequest;
  onProvisional?: (response: SipResponse, request: SipRequest, hop: Hop) => void;
  /** For an INVITE each 2xx; otherwise once. */
  onFinal: (response: SipResponse, request: SipRequest, hop: Hop) => void;
  /** No hop gave a final response. */
  onFailure: (failure: ClientFailure) => void;
  /** Time for a hop to respond at all, if others follow. Default 4000. */
  signMs?: number;
}

/** Maximum number of proofs per request: for a proxy and for the far end, and again for a stale nonce each. */
const MOST_PROOFS = 4;

/** A request in progress: tries the servers in turn, with authentication. */
export class Outgoing {
  readonly #options: OutgoingOptions;
  readonly #timers: Timers<'sign'>;
  #at = 0;
  #proofs = 0;
  #transaction: ClientTransaction | null = null;
  #hasSign = false;
  #isCancelled = false;
  #isOver = false;

  constructor(options: OutgoingOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
  }

  /** Call it once. */
  start(): void {
    if (this.#options.hops.length === 0) this.#fail('transport');
    else this.#attempt();
  }

  /** Cancels an INVITE; its end follows in every case. */
  cancel(): void {
    if (this.#isCancelled || this.#isOver) return;
    this.#isCancelled = true;
    // It must not be cancelled before a provisional response (RFC 3261, 9.1).
    if (this.#hasSign && this.#transaction !== null) this.#options.transactions.cancel(this.#transaction);
  }

  /** Drops it silently. May be called twice. */
  close(): void {
    this.#isOver = true;
    this.#timers.clearAll();
    this.#transaction?.close();
  }

  #attempt(): void {
    const { transactions, hops, digest, build, signMs = 4000 } = this.#options;
    const hop = hops[this.#at] as Hop;
    const request = build(hop);
    digest?.sign(request);
    this.#hasSign = false;
    let transaction: ClientTransaction | null = null;
    const isCurrent = (): boolean => !this.#isOver && this.#transaction === transaction;
    transaction = transactions.request(request, hop, {
      onResponse: (response) => {
        // A late 2xx of an abandoned attempt is always passed on, because its call must be ended.
        const isLate2xx = response.status >= 200 && response.status < 300 && request.method === 'INVITE';
        if (isCurrent()) this.#responded(response, request, hop);
        else if (isLate2xx) this.#options.onFinal(response, request, hop);
      },
      onFailure: (failure) => {
        if (isCurrent()) this.#next(failure);
      },
    });
    this.#transaction = transaction;
    if (this.#at + 1 >= hops.length) return;
    this.#timers.set('sign', signMs, () => this.#next('timeout'));
  }

  #responded(response: SipResponse, request: SipRequest, hop: Hop): void {
    const { status } = response;
    this.#timers.clearAll();
    this.#hasSign = true;
    if (status < 200) {
      if (this.#isCancelled && this.#transaction !== null) this.#options.transactions.cancel(this.#transaction);
      this.#options.onProvisional?.(response, request, hop);
    } else if (status === 503 && this.#at + 1 < this.#options.hops.length && !this.#isCancelled) {
      this.#next('transport');
    } else if ((status === 401 || status === 407) && this.#mayProve(response, request)) {
      this.#attempt();
    } else {
      this.#options.onFinal(response, request, hop);
    }
  }

  #mayProve(response: SipResponse, request: SipRequest): boolean {
    if (this.#isCancelled || ++this.#proofs > MOST_PROOFS) return false;
    return this.#options.digest?.learn(response, request) ?? false;
  }

  #next(failure: ClientFailure): void {
    this.#timers.clearAll();
    this.#at++;
    if (this.#at < this.#options.hops.length && !this.#isCancelled) this.#attempt();
    else this.#fail(failure);
  }

  #fail(failure: ClientFailure): void {
    this.#isOver = true;
    this.#options.onFailure(failure);
  }
}
