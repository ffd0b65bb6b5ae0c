import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { ParleyError } from '../../base/errors.js';
import type { VersionPin } from '../../store/agents.js';
import type { KeyBinding, KeyScope, KeyStore, StoredKey } from '../../store/keys.js';
import type { Client, Clients } from './clients.js';
import type { Settings } from '../../settings/settings.js';
import type { SessionTokens } from './session-tokens.js';

export interface AccessOptions {
  keys: Pick<KeyStore, 'find' | 'get' | 'latest' | 'list'>;
  /** Session tokens. Each is valid once, with the rights of the key that made it. */
  tokens: Pick<SessionTokens, 'redeem'>;
  /** Web origins that may open sessions, beside the daemon's own; `*` = all. */
  allowedOrigins: readonly string[];
  /** Finds the client of a request. */
  clients: Clients;
  /** The address at which clients reach the daemon. Pages of this origin are the daemon's own. */
  publicUrl: string | null;
  /**
   * Whether clients without an Origin may open sessions. Null = only if the daemon listens on loopback and no proxy
   * forwarded the request: such clients are the operator's own.
   */
  allowMissingOrigin: boolean | null;
  /** Public keys that are not stored: those of the daemon's own page. */
  ownPublicKeys: ReadonlySet<string>;
  /** Whether the daemon listens on loopback only, as far as the settings say. */
  loopback: boolean;
}

/** A public key with its limits. */
export interface PublicKey extends KeyBinding {
  /** Null = the key of the daemon's own page. */
  id: string | null;
  /** The version of agents that its token is for. */
  agentVersion?: VersionPin;
}

/** The stored key of a request, or the key that made its session token. */
export interface RequestIdentity {
  keyId: string | null;
  holder: PublicKey | null;
}

/** The origin of a request. Requests of the daemon's own pages have its host in their Origin. */
export interface Caller extends Pick<Client, 'host' | 'viaProxy' | 'isForwarded'> {
  origin: string | undefined;
  /** Whether the request came to a loopback address of this machine. */
  isLocal: boolean;
}

const PAGE_KEY: PublicKey = { id: null, agents: [], origins: [] };

/** Checks keys, tokens and origins. */
export class Access {
  readonly #options: AccessOptions;
  /** The keys of open requests. */
  readonly #found = new WeakMap<IncomingMessage, StoredKey | null>();
  /** The keys whose tokens open requests have. */
  readonly #holders = new WeakMap<IncomingMessage, PublicKey>();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** The stored key of the `authorization` header, with or without `Bearer`; null = none, or a wrong one. */
  keyOf({ raw }: FastifyRequest): StoredKey | null {
    const known = this.#found.get(raw);
    if (known !== undefined) return known;
    const key = this.keyWith(bearer(raw.headers.authorization));
    this.#found.set(raw, key);
    return key;
  }

  /** The stored key with this text; null = there is none. */
  keyWith(text: string): StoredKey | null {
    return text === '' ? null : this.#options.keys.find(text);
  }

  /** @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN, AUTH_SCOPE */
  privateKey(request: FastifyRequest, scope: KeyScope): StoredKey {
    const key = this.keyOf(request);
    if (key === null) throw new ParleyError('AUTH_REQUIRED');
    if (key.kind !== 'private') throw new ParleyError('AUTH_FORBIDDEN', { reason: 'it is a public key' });
    checkScope(key, scope);
    return key;
  }

  /**
   * The public key of a request, if its page may use the key.
   * @throws ParleyError AUTH_REQUIRED if it is not a public key of this daemon, AUTH_FORBIDDEN
   */
  publicKey(request: IncomingMessage): PublicKey {
    const key = this.#publicKey(bearer(request.headers.authorization));
    this.origin(this.callerOf(request), key);
    return key;
  }

  callerOf(request: IncomingMessage): Caller {
    const { host, viaProxy, isForwarded } = this.#options.clients.of(request);
    const isLocal = isLoopbackName((request.socket.localAddress ?? '').replace(/^::ffff:/, ''));
    return { origin: request.headers.origin, host, viaProxy, isForwarded, isLocal };
  }

  /**
   * Checks the public key or the session token of a talk session, and the page that it comes from. The token is valid
   * only once. @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN
   */
  async talker(keyOrToken: string, caller: Caller): Promise<PublicKey> {
    const key = (await this.#minting(keyOrToken)) ?? this.#publicKey(keyOrToken);
    this.origin(caller, key);
    return key;
  }

  /**
   * The key whose session token a request has in `authorization`. The token becomes invalid at the first call.
   * @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN also for a public key
   */
  async tokenHolder(request: IncomingMessage): Promise<PublicKey> {
    const known = this.#holders.get(request);
    if (known !== undefined) return known;
    const token = bearer(request.headers.authorization);
    const key = await this.#minting(token);
    if (key === null) {
      this.#publicKey(token);
      throw new ParleyError('AUTH_FORBIDDEN', {
        reason: 'it is a public key; create a token with POST /sessions/token',
      });
    }
    this.origin(this.callerOf(request), key);
    this.#holders.set(request, key);
    return key;
  }

  /** What was checked of a request, for the node that answers it. */
  identityOf(request: IncomingMessage): RequestIdentity {
    return { keyId: this.#found.get(request)?.id ?? null, holder: this.#holders.get(request) ?? null };
  }

  /** Another node has checked a request. */
  assume(request: IncomingMessage, { keyId, holder }: RequestIdentity): void {
    if (keyId !== null) this.#found.set(request, this.#options.keys.get(keyId));
    if (holder !== null) this.#holders.set(request, holder);
  }

  /** The key that made a token; null = it is no valid token. @throws ParleyError AUTH_REQUIRED */
  async #minting(token: string): Promise<PublicKey | null> {
    const { tokens, keys } = this.#options;
    const claim = await tokens.redeem(token);
    if (claim === null) return null;
    const key = claim.keyId === null ? PAGE_KEY : await keys.latest(claim.keyId);
    // It may have been revoked in the meantime.
    if (key === null || ('kind' in key && key.kind !== 'public')) throw new ParleyError('AUTH_REQUIRED');
    const { pin } = claim;
    return pin === null ? key : { ...key, agents: [pin.agentId], agentVersion: pin.version };
  }

  /** @param agentId null = a temporary agent @throws ParleyError AUTH_FORBIDDEN if the key does not allow this agent */
  agent({ agents }: KeyBinding, agentId: string | null): void {
    if (agents.length === 0 || (agentId !== null && agents.includes(agentId))) return;
    const reason = agentId === null ? 'it is for stored agents only' : `it is not for the agent "${agentId}"`;
    throw new ParleyError('AUTH_FORBIDDEN', { reason });
  }

  /**
   * Checks that pages of this origin may open sessions, with one key or with any. Browsers always send an Origin.
   * @throws ParleyError AUTH_FORBIDDEN
   */
  origin(caller: Caller, key?: KeyBinding): void {
    const { origin, isForwarded } = caller;
    const { allowedOrigins, allowMissingOrigin, keys } = this.#options;
    if (origin === undefined) {
      if (allowMissingOrigin ?? (this.#isOnLoopback(caller) && !isForwarded)) return;
      const where = isForwarded ? 'not through a proxy' : 'on loopback only';
      const reason = `the Origin header is missing, and programs may leave it out ${where}: the setting allowMissingOrigin (PARLEY_ALLOW_MISSING_ORIGIN=true) permits it`;
      throw new ParleyError('AUTH_FORBIDDEN', { reason });
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
   * The origins whose pages may show the widget in a frame with this public key, as sources of Content Security Policy 3,
   * 6.4.2. An unknown key allows all of them, because it opens no session.
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
   * On loopback the host name must be a loopback name too, unless a trusted proxy forwarded the request: an attacker can
   * point any other name to this address (DNS rebinding).
   */
  #isOwn(origin: URL, caller: Caller): boolean {
    const { publicUrl } = this.#options;
    const { host, viaProxy } = caller;
    if (publicUrl !== null && origin.origin === new URL(publicUrl).origin) return true;
    if (origin.host !== host?.toLowerCase()) return false;
    return viaProxy || !this.#isOnLoopback(caller) || isLoopbackName(origin.hostname);
  }

  /** The server of an application may listen elsewhere than the settings say. */
  #isOnLoopback({ isLocal }: Caller): boolean {
    return this.#options.loopback && isLocal;
  }
}

/** @throws ParleyError AUTH_SCOPE */
export function checkScope({ scopes }: Pick<StoredKey, 'scopes'>, scope: KeyScope): void {
  if (!scopes.includes(scope)) throw new ParleyError('AUTH_SCOPE', { scope });
}

/** The value of an `authorization` header without `Bearer`. */
export function bearer(header: string | undefined): string {
  return (header ?? '').replace(/^Bearer +/i, '').trim();
}

/** Whether a host name or address means this machine. */
export function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** Shorter keys are easy to guess. 16 characters of an alphabet of 64 have 96 bits. */
const LEAST_CHARS = 16;
/** A key with fewer different characters counts as typed by hand. */
const LEAST_KINDS = 6;

/** Checks whether the private key of the settings is easy to guess. */
export function weakKey({ apiKey, host, publicUrl, trustedProxies }: Settings): {
  /** A sentence with the remedy; null = the key is strong enough. */
  fault: string | null;
  /** Others can reach the daemon: it must not start with such a key. */
  isExposed: boolean;
} {
  const isExposed = !isLoopbackName(host) || publicUrl !== null || trustedProxies.length > 0;
  const isWeak = apiKey !== null && (apiKey.length < LEAST_CHARS || new Set(apiKey).size < LEAST_KINDS);
  const fault = `apiKey (PARLEY_API_KEY) can be guessed: it needs ${String(LEAST_CHARS)} characters or more that are not all alike. \`openssl rand -base64 32\` makes one`;
  return { fault: isWeak ? fault : null, isExposed };
}
