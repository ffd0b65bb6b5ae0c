import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { ParleyError } from '../errors.js';
import type { KeyStore, StoredKey } from '../store/keys.js';
import type { SessionTokens } from './session-tokens.js';

export interface AccessOptions {
  keys: Pick<KeyStore, 'find'>;
  tokens: SessionTokens;
  /** Web origins that may talk beside the daemon's own; `*` = all. */
  allowedOrigins: readonly string[];
  /** Public keys that live only as long as the process: the one of the daemon's own page. */
  ownPublicKeys: ReadonlySet<string>;
  /** The daemon listens on loopback only: clients without an Origin are the operator's own. */
  loopback: boolean;
}

/** Who may do what. */
export class Access {
  readonly #options: AccessOptions;
  /** The keys of requests that are being answered. */
  readonly #found = new WeakMap<IncomingMessage, StoredKey | null>();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** The stored key of the request's `authorization` header, with or without `Bearer`; null for none and for a wrong one. */
  keyOf({ raw }: FastifyRequest): StoredKey | null {
    const known = this.#found.get(raw);
    if (known !== undefined) return known;
    const text = bearer(raw.headers.authorization);
    const key = text === '' ? null : this.#options.keys.find(text);
    this.#found.set(raw, key);
    return key;
  }

  /** @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN */
  privateKey(request: FastifyRequest): StoredKey {
    const key = this.keyOf(request);
    if (key === null) throw new ParleyError('AUTH_REQUIRED');
    if (key.kind !== 'private') throw new ParleyError('AUTH_FORBIDDEN', { reason: 'it is a public key' });
    return key;
  }

  /** @throws ParleyError AUTH_REQUIRED where the key is no public key of this daemon */
  publicKey(key: string): void {
    if (this.#options.ownPublicKeys.has(key)) return;
    if (this.#options.keys.find(key)?.kind !== 'public') throw new ParleyError('AUTH_REQUIRED');
  }

  /** Lets a talk session in: a public key, or a session token, which is used up. @throws ParleyError AUTH_REQUIRED */
  talker(keyOrToken: string): void {
    if (!this.#options.tokens.redeem(keyOrToken)) this.publicKey(keyOrToken);
  }

  /**
   * Whether a page of this origin may talk. A missing Origin is no browser's: allowed on loopback.
   * @param host the request's Host header: the daemon's own pages have it in their origin
   * @throws ParleyError AUTH_FORBIDDEN
   */
  origin(origin: string | undefined, host: string | undefined): void {
    const { allowedOrigins, loopback } = this.#options;
    if (origin === undefined) {
      if (loopback) return;
      throw new ParleyError('AUTH_FORBIDDEN', { reason: 'the Origin header is missing' });
    }
    if (allowedOrigins.includes('*') || allowedOrigins.includes(origin)) return;
    if (URL.canParse(origin) && this.#isOwn(new URL(origin), host)) return;
    throw new ParleyError('AUTH_FORBIDDEN', { reason: `pages of ${origin.slice(0, 200)} may not talk here` });
  }

  /** On loopback the name must be a loopback one too: any other name could be made to point here (DNS rebinding). */
  #isOwn(origin: URL, host: string | undefined): boolean {
    if (origin.host !== host) return false;
    return !this.#options.loopback || isLoopbackName(origin.hostname);
  }
}

/** What an `authorization` header holds, without `Bearer`. */
export function bearer(header: string | undefined): string {
  return (header ?? '').replace(/^Bearer +/i, '').trim();
}

/** Whether a host name or address means this machine. */
export function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
