import type { FastifyInstance } from 'fastify';
import { ParleyError } from '../../base/errors.js';
import type { StoredKey } from '../../store/keys.js';
import type { Access } from './access.js';
import type { Clients } from './clients.js';
import type { InnerRequests } from './inner-requests.js';
import type { NodePasses } from './node-pass.js';

/** Paths for monitoring, which have no limit. */
const UNLIMITED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);
/** Paths of the carriers' webhooks and media sockets, which have no limit either. Each carrier authenticates its requests. */
export const CARRIER_PATHS = '/carriers/';

/** The maximum of callers in memory. Beyond it, the least recent ones are dropped. */
const MAX_CALLERS = 50_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Limits the requests of a caller: a token bucket with the capacity of one minute. */
export class RateLimit {
  readonly #perMinute: number;
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number, nowMs: () => number) {
    this.#perMinute = perMinute;
    this.#nowMs = nowMs;
  }

  /** Counts one request. @throws ParleyError RATE_LIMITED with the seconds until the next allowed request */
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
    this.#buckets.delete(caller); // keeps the most recent caller at the end
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > MAX_CALLERS) this.#forget(nowMs);
  }

  /** What is left of a caller's minute, and the seconds until it is whole again. */
  left(caller: string): { limit: number; remaining: number; seconds: number } {
    const bucket = this.#buckets.get(caller);
    const limit = this.#perMinute;
    if (bucket === undefined) return { limit, remaining: limit, seconds: 0 };
    const perMs = limit / 60_000;
    const tokens = Math.min(limit, bucket.tokens + (this.#nowMs() - bucket.atMs) * perMs);
    return { limit, remaining: Math.floor(tokens), seconds: Math.round((limit - tokens) / perMs) / 1000 };
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
 * The caller whose limit a request counts against: the private key, from any address; without a valid key, the address.
 * Every visitor has the public key, so with it each address has its own limit, and no visitor can use up that of the
 * others.
 */
export function payerOf(address: string, key: Pick<StoredKey, 'id' | 'kind'> | null): string {
  if (key === null) return address;
  return key.kind === 'private' ? key.id : `${key.id} ${address}`;
}

export interface CountedBy {
  requests: RateLimit;
  clients: Clients;
  access: Access;
  passes: NodePasses;
  inner: Pick<InnerRequests, 'has'>;
}

/** Counts all requests of a server except those of monitoring and of carriers. */
export function countRequests(app: FastifyInstance, { requests, clients, access, passes, inner }: CountedBy): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const isUnlimited = UNLIMITED.has(request.url) || request.url.startsWith(CARRIER_PATHS);
    // The node that passed a request on has counted it, or the client's request that an inner one belongs to.
    const isCounted = passes.has(request.raw) || inner.has(request.raw);
    if (!isUnlimited && !isCounted) requests.take(payerOf(clients.of(request.raw).address, access.keyOf(request)));
    done();
  });
}
