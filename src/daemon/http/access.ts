import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { ParleyError } from '../../base/errors.js';
import type { KeyBinding, KeyStore, StoredKey } from '../../store/keys.js';
import type { Client, Clients } from './clients.js';
import type { Settings } from '../../settings/settings.js';

export interface AccessOptions {
  keys: Pick<KeyStore, 'find' | 'get' | 'list'>;
  /** Session tokens: each is used up, and stands for the key that made it. */
  tokens: { redeem: (token: string) => PublicKey | null };
  /** Web origins that may talk beside the daemon's own; `*` = all. */
  allowedOrigins: readonly string[];
  /** Who made a request. */
  clients: Clients;
  /** Where clients reach the daemon: pages of it are the daemon's own. */
  publicUrl: string | null;
  /**
   * Whether clients without an Origin may talk. Null = where the daemon listens on loopback and no proxy has passed them
   * on: they are the operator's own.
   */
  allowMissingOrigin: boolean | null;
  /** Public keys that are not stored: that of the daemon's own page. */
  ownPublicKeys: ReadonlySet<string>;
  /** The daemon listens on loopback only. */
  loopback: boolean;
}

/** A public key, and what it is for. */
export interface PublicKey extends KeyBinding {
  /** Null = the daemon's own page's. */
  id: string | null;
}

/** Where a request came from. Requests of the daemon's own pages have its host in their origin. */
export interface Caller extends Pick<Client, 'host' | 'viaProxy' | 'isForwarded'> {
  origin: string | undefined;
}

const PAGE_KEY: PublicKey = { id: null, agents: [], origins: [] };

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

  /**
   * The public key of a request, from a page that may use it.
   * @throws ParleyError AUTH_REQUIRED where it is no public key of this daemon, AUTH_FORBIDDEN
   */
  publicKey(request: IncomingMessage): PublicKey {
    const key = this.#publicKey(bearer(request.headers.authorization));
    this.origin(this.callerOf(request), key);
    return key;
  }

  callerOf(request: IncomingMessage): Caller {
    const { host, viaProxy, isForwarded } = this.#options.clients.of(request);
    return { origin: request.headers.origin, host, viaProxy, isForwarded };
  }

  /**
   * Lets a talk session in: a public key, or a session token, which is used up; the page that it comes from is checked
   * again. @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN
   */
  talker(keyOrToken: string, caller: Caller): PublicKey {
    const key = this.#minting(keyOrToken) ?? this.#publicKey(keyOrToken);
    this.origin(caller, key);
    return key;
  }

  /** The key of a session token, which is used up. @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN also for a public key */
  tokenHolder(token: string, caller: Caller): PublicKey {
    const key = this.#minting(token);
    if (key === null) {
      this.#publicKey(token);
      throw new ParleyError('AUTH_FORBIDDEN', {
        reason: 'it is a public key: POST /sessions/token gives a token for it',
      });
    }
    this.origin(caller, key);
    return key;
  }

  #minting(token: string): PublicKey | null {
    const key = this.#options.tokens.redeem(token);
    // It may have been revoked meanwhile.
    if (key?.id != null && this.#options.keys.get(key.id) === null) throw new ParleyError('AUTH_REQUIRED');
    return key;
  }

  /** @param agentId null = one that is not stored @throws ParleyError AUTH_FORBIDDEN where the key is not for this agent */
  agent({ agents }: KeyBinding, agentId: string | null): void {
    if (agents.length === 0 || (agentId !== null && agents.includes(agentId))) return;
    const reason = agentId === null ? 'it is for stored agents only' : `it is not for the agent "${agentId}"`;
    throw new ParleyError('AUTH_FORBIDDEN', { reason });
  }

  /**
   * Whether a page of this origin may talk: with one key, or else with any. A missing Origin is no browser's.
   * @throws ParleyError AUTH_FORBIDDEN
   */
  origin(caller: Caller, key?: KeyBinding): void {
    const { origin, isForwarded } = caller;
    const { allowedOrigins, allowMissingOrigin, loopback, keys } = this.#options;
    if (origin === undefined) {
      if (allowMissingOrigin ?? (loopback && !isForwarded)) return;
      throw new ParleyError('AUTH_FORBIDDEN', { reason: 'the Origin header is missing' });
    }
    const isOne = (origins: readonly string[]): boolean => origins.includes('*') || origins.includes(origin);
    if (key !== undefined && key.origins.length > 0) {
      if (isOne(key.origins)) return;
    } else {
      if (isOne(allowedOrigins)) return;
      if (URL.canParse(origin) && this.#isOwn(new URL(origin), caller)) return;
      if (key === undefined && keys.list().some(({ kind, origins }) => kind === 'public' && isOne(origins))) return;
    }
    throw new ParleyError('AUTH_FORBIDDEN', { reason: `pages of ${origin.slice(0, 200)} may not talk here` });
  }

  /**
   * Whose pages may show the widget with a public key in a frame, as sources of Content Security Policy 3, 6.4.2. With
   * an unknown key all may: it opens nothing.
   */
  framers(text: string): readonly string[] {
    const { keys, allowedOrigins, ownPublicKeys } = this.#options;
    const key = keys.find(text);
    if (key?.kind !== 'public' && !ownPublicKeys.has(text)) return ['*'];
    return ["'self'", ...(key !== null && key.origins.length > 0 ? key.origins : allowedOrigins)];
  }

  /** @throws ParleyError AUTH_REQUIRED */
  #publicKey(text: string): PublicKey {
    const key = this.#options.keys.find(text);
    if (key?.kind === 'public') return key;
    if (this.#options.ownPublicKeys.has(text)) return PAGE_KEY;
    throw new ParleyError('AUTH_REQUIRED');
  }

  /**
   * On loopback the name must be a loopback one too, unless a trusted proxy has passed the request on: any other name could
   * be made to point here (DNS rebinding).
   */
  #isOwn(origin: URL, { host, viaProxy }: Caller): boolean {
    const { publicUrl, loopback } = this.#options;
    if (publicUrl !== null && origin.origin === new URL(publicUrl).origin) return true;
    if (origin.host !== host?.toLowerCase()) return false;
    return viaProxy || !loopback || isLoopbackName(origin.hostname);
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

/** Shorter keys can be guessed: 16 characters of 64 kinds are 96 bits. */
const LEAST_CHARS = 16;
/** A key with fewer different characters is taken for one made by hand. */
const LEAST_KINDS = 6;

/** Whether the private key of the settings can be guessed. */
export function weakKey({ apiKey, host, publicUrl, trustedProxies }: Settings): {
  /** In words, with what to do; null = the key is good. */
  fault: string | null;
  /** Others can reach the daemon: it must not start with such a key. */
  isExposed: boolean;
} {
  const isExposed = !isLoopbackName(host) || publicUrl !== null || trustedProxies.length > 0;
  const isWeak = apiKey !== null && (apiKey.length < LEAST_CHARS || new Set(apiKey).size < LEAST_KINDS);
  const fault = `apiKey (PARLEY_API_KEY) can be guessed: it needs ${String(LEAST_CHARS)} characters or more that are not all alike. \`openssl rand -base64 32\` makes one`;
  return { fault: isWeak ? fault : null, isExposed };
}
