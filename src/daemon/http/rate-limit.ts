import type { FastifyInstance } from 'fastify';
import { ParleyError } from '../../base/errors.js';
import type { StoredKey } from '../../store/keys.js';
import type { Access } from './access.js';
import type { Clients } from './clients.js';

/** Whoever monitors the daemon may ask for these as often as they like. */
const UNLIMITED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);
/** Below it are the carriers' webhooks and media sockets, which are not limited either. Each carrier checks who asks. */
export const CARRIER_PATHS = '/carriers/';

/** Callers remembered at most; beyond that the longest silent are forgotten. */
const MAX_CALLERS = 50_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/** How many requests a caller may make: a bucket of one minute's worth that fills evenly. */
export class RateLimit {
  readonly #perMinute: number;
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number, nowMs: () => number) {
    this.#perMinute = perMinute;
    this.#nowMs = nowMs;
  }

  /** Counts one request. @throws ParleyError RATE_LIMITED with the seconds until the next one is allowed */
  take(caller: string): void {
    const nowMs = this.#nowMs();
    const perMs = this.#perMinute / 60_000;
    const bucket = this.#buckets.get(caller) ?? { tokens: this.#perMinute, atMs: nowMs };
    bucket.tokens = Math.min(this.#perMinute, bucket.tokens + (nowMs - bucket.atMs) * perMs);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) {
      throw new ParleyError('RATE_LIMITED', { seconds: Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000)) });
    }
    bucket.tokens--;
    this.#buckets.delete(caller); // the latest go to the end
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > MAX_CALLERS) this.#forget(nowMs);
  }

  #forget(nowMs: number): void {
    for (const [caller, bucket] of this.#buckets) {
      const full = nowMs - bucket.atMs > 60_000;
      if (!full && this.#buckets.size <= MAX_CALLERS) return;
      this.#buckets.delete(caller);
    }
  }
}

/**
 * Whose allowance a request counts against: a private key's own, wherever it is used; without a good key the address.
 * A public key is in every visitor's hands, so each address has an allowance of its own with it: nobody can use up all
 * the others'.
 */
export function payerOf(address: string, key: Pick<StoredKey, 'id' | 'kind'> | null): string {
  if (key === null) return address;
  return key.kind === 'private' ? key.id : `${key.id} ${address}`;
}

/** Counts all requests of a server, but those of monitoring and of carriers. */
export function countRequests(
  app: FastifyInstance,
  { requests, clients, access }: { requests: RateLimit; clients: Clients; access: Access },
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const isUnlimited = UNLIMITED.has(request.url) || request.url.startsWith(CARRIER_PATHS);
    if (!isUnlimited) requests.take(payerOf(clients.of(request.raw).address, access.keyOf(request)));
    done();
  });
}
