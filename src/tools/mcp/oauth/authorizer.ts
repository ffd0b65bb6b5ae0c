import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../../base/clock.js';
import { abortAfter, raceAbort } from '../../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import type { McpOAuthSetting, McpServerSetting } from '../../../settings/setting-items.js';
import type {
  IssuerFacts,
  McpAuthorization,
  McpAuthorizations,
  McpClientIdentity,
  McpTokens,
} from './authorizations.js';
import { challengeOf, discover, type McpChallenge } from './discovery.js';
import type { McpGrant, McpRefusal, McpTokenSource } from './grant.js';
import { OAuthHttp } from './oauth-http.js';
import { clientMethod, OAuthRefusal, registerClient, requestTokens, revokeToken } from './token-requests.js';

export interface McpAuthorizerOptions {
  servers: Readonly<Record<string, McpServerSetting>>;
  store: McpAuthorizations;
  /** A real clock. */
  clock: Clock;
  nowUnixMs: () => number;
  /** The address of the document that describes parley as a client; null = there is none that others can reach. */
  clientDocument?: () => string | null;
}

/** What an operator sees of a server's authorization. */
export interface McpServerState {
  server: string;
  url: string;
  /** `open`: it has not asked for authorization. */
  state: 'open' | 'authorized' | 'needed';
  grant: 'authorization_code' | 'client_credentials';
  issuer: string | null;
  scopes: readonly string[];
  /** What an operator must grant; null = nothing is missing. */
  wanted: readonly string[] | null;
  /** Unix milliseconds; null = unknown. */
  expiresAtMs: number | null;
}

/** What comes back with an operator's browser. */
export interface McpCallback {
  state?: string | undefined;
  code?: string | undefined;
  iss?: string | undefined;
  error?: string | undefined;
  error_description?: string | undefined;
}

interface HttpServer {
  url: string;
  oauth: McpOAuthSetting;
}

/** A token is renewed this long before it expires, but not in the first half of its life. */
const EARLY_MS = 60_000;
/** One renewal. Other nodes wait this long for one that does not come back. */
const RENEWAL_MS = 30_000;
const LOOK_MS = 200;
/** The time in which an operator must come back from the authorization server. */
const PENDING_MS = 600_000;

const NOTHING: McpAuthorization = {
  resource: null,
  facts: null,
  client: null,
  tokens: null,
  wanted: null,
  pending: null,
};

/**
 * OAuth 2.1 for MCP servers (specification 2026-07-28, basic/authorization): with an operator who authorizes parley once
 * (authorization code with PKCE), or without (client credentials). It renews tokens, one renewal at a time on all nodes.
 */
export class McpAuthorizer implements McpTokenSource {
  readonly #options: McpAuthorizerOptions;
  readonly #servers: ReadonlyMap<string, HttpServer>;
  readonly #http: OAuthHttp;
  readonly #renewals = new Map<string, Promise<McpGrant>>();
  readonly #closed = new AbortController();

  constructor(options: McpAuthorizerOptions) {
    this.#options = options;
    this.#http = new OAuthHttp(options.clock);
    this.#servers = new Map(
      Object.entries(options.servers).flatMap(([name, setting]): [string, HttpServer][] => {
        const isOurs = 'url' in setting && !hasAuthorization(setting.headers);
        return isOurs ? [[name, { url: setting.url, oauth: setting.oauth ?? {} }]] : [];
      }),
    );
  }

  async grant(server: string, signal: AbortSignal): Promise<McpGrant> {
    if (!this.#servers.has(server)) return { kind: 'none' };
    const known = await this.#options.store.get(server);
    if (known === null) return { kind: 'none' };
    if (known.tokens === null) return known.wanted === null ? { kind: 'none' } : needed(known.wanted);
    if (!this.#isOld(known.tokens)) return granted(known.tokens);
    return this.#renewed(server, known.tokens.access, signal, (now) => this.#refresh(server, now));
  }

  async renew(
    server: string,
    { token, status, challenge: header }: McpRefusal,
    signal: AbortSignal,
  ): Promise<McpGrant> {
    const setting = this.#servers.get(server);
    if (setting === undefined) return { kind: 'none' };
    const challenge = challengeOf(header);
    const isMachine = setting.oauth.grant === 'client_credentials';
    return this.#renewed(server, token, signal, async (now, inTime) => {
      if (status === 403) return this.#stepUp(server, setting, now, challenge, inTime);
      if (isMachine) return this.#credentials(setting, now, scopesOf(setting, challenge), challenge, inTime);
      if (now.tokens?.refresh != null) return this.#refresh(server, now);
      return { ...now, tokens: null, wanted: union(now.wanted ?? now.tokens?.scopes ?? [], challenge.scopes) };
    });
  }

  /** The servers that are reached over HTTP without credentials of the settings. */
  async states(): Promise<readonly McpServerState[]> {
    return Promise.all(
      Array.from(this.#servers, async ([server, { url, oauth }]) => {
        const known = (await this.#options.store.get(server)) ?? NOTHING;
        const { tokens, wanted, facts } = known;
        return {
          server,
          url,
          state: wanted !== null ? ('needed' as const) : tokens !== null ? ('authorized' as const) : ('open' as const),
          grant: oauth.grant ?? ('authorization_code' as const),
          issuer: facts?.issuer ?? null,
          scopes: tokens?.scopes ?? [],
          wanted,
          expiresAtMs: tokens?.expiresAtMs ?? null,
        };
      }),
    );
  }

  /**
   * Begins an authorization. An operator's browser goes to the returned address, and comes back to `redirectUri`.
   * @throws ParleyError NOT_FOUND, MCP_AUTHORIZATION
   */
  async begin(server: string, redirectUri: string, signal: AbortSignal): Promise<string> {
    const setting = this.#setting(server);
    return this.#told(server, async () => {
      const { store, nowUnixMs } = this.#options;
      const known = (await store.get(server)) ?? NOTHING;
      const challenge = await this.#challenge(setting.url, signal);
      const { resource, scopes: offered, facts } = await discover(setting.url, challenge, this.#http, signal);
      if (facts.authorizationEndpoint === null) throw new Error(`${facts.issuer} has no authorization_endpoint`);
      const asked = union(known.wanted ?? [], union(known.tokens?.scopes ?? [], challenge.scopes));
      const named = setting.oauth.scopes ?? (asked.length > 0 ? asked : offered);
      const isLasting = facts.scopes.includes('offline_access');
      const scopes = union(named, isLasting ? ['offline_access'] : []);
      const client = await this.#client(setting, known, { facts, redirectUri, scopes }, signal);
      const verifier = randomBytes(48).toString('base64url');
      const state = `${Buffer.from(server).toString('base64url')}.${randomBytes(24).toString('base64url')}`;
      const pending = { state, verifier, redirectUri, scopes, startedAtMs: nowUnixMs() };
      // Tokens of another authorization server are not this one's.
      const tokens = known.facts?.issuer === facts.issuer ? known.tokens : null;
      await store.set(server, { ...known, resource, facts, client, tokens, pending });
      const url = new URL(facts.authorizationEndpoint);
      const parameters = {
        response_type: 'code',
        client_id: client.id,
        redirect_uri: redirectUri,
        state,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        resource,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    });
  }

  /**
   * Ends an authorization with what the browser has brought back.
   * @returns the server's name
   * @throws ParleyError MCP_AUTHORIZATION
   */
  async finish(callback: McpCallback, signal: AbortSignal): Promise<string> {
    const { store, nowUnixMs } = this.#options;
    const server = Buffer.from(callback.state?.split('.')[0] ?? '', 'base64url').toString('utf8');
    const known = this.#servers.has(server) ? await store.get(server) : null;
    const pending = known?.pending ?? null;
    const isOurs = pending !== null && pending.state === callback.state;
    if (known === null || !isOurs || nowUnixMs() - pending.startedAtMs > PENDING_MS) {
      const reason = 'the authorization has expired, or was not begun here; begin it again';
      throw new ParleyError('MCP_AUTHORIZATION', { server: server === '' ? '?' : server, reason });
    }
    return this.#told(server, async () => {
      const { facts, client, resource } = known;
      if (facts === null || client === null || resource === null) throw new Error('it was not begun');
      // A code is used once, whatever comes of it.
      await store.set(server, { ...known, pending: null });
      checkIssuer(facts, callback.iss);
      if (callback.error !== undefined) throw new OAuthRefusal(callback.error, callback.error_description);
      if (callback.code === undefined) throw new Error('the answer has no code');
      const grant = {
        grant_type: 'authorization_code',
        code: callback.code,
        code_verifier: pending.verifier,
        redirect_uri: pending.redirectUri,
      };
      const { scopes } = pending;
      const request = { facts, client, resource, grant, scopes, refresh: null, nowUnixMs: nowUnixMs() };
      const tokens = await requestTokens(request, this.#http, signal);
      await store.set(server, { ...known, tokens, wanted: null, pending: null });
      return server;
    });
  }

  /** Forgets a server's tokens, and has them revoked. Returns whether there were any. @throws ParleyError NOT_FOUND */
  async forget(server: string, signal: AbortSignal): Promise<boolean> {
    this.#setting(server);
    const { store } = this.#options;
    const known = await store.get(server);
    if (known === null) return false;
    await store.set(server, null);
    const { tokens, facts, client } = known;
    if (tokens === null || facts === null || client === null) return tokens !== null;
    const token = tokens.refresh ?? tokens.access;
    await revokeToken({ facts, client, token }, this.#http, signal);
    return true;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('the authorizer has been closed'));
    await Promise.allSettled(this.#renewals.values());
    await this.#http.close();
  }

  /** @throws ParleyError NOT_FOUND */
  #setting(server: string): HttpServer {
    const setting = this.#servers.get(server);
    if (setting === undefined) throw new ParleyError('NOT_FOUND', { what: 'MCP server with OAuth', id: server });
    return setting;
  }

  /** @throws ParleyError MCP_AUTHORIZATION in place of what the work throws */
  async #told<T>(server: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw new ParleyError('MCP_AUTHORIZATION', { server, reason: reasonOf(error) }, { cause: error });
    }
  }

  #isOld({ expiresAtMs, obtainedAtMs }: McpTokens): boolean {
    if (expiresAtMs === null) return false;
    const early = Math.min(EARLY_MS, (expiresAtMs - obtainedAtMs) / 2);
    return this.#options.nowUnixMs() >= expiresAtMs - early;
  }

  /**
   * Changes a server's authorization, one at a time on all nodes.
   * @param stale the token that is no good; another one that is there by now is the result
   */
  #renewed(
    server: string,
    stale: string | null,
    signal: AbortSignal,
    work: (now: McpAuthorization, inTime: AbortSignal) => Promise<McpAuthorization>,
  ): Promise<McpGrant> {
    const running = this.#renewals.get(server);
    const renewal = running ?? this.#renewal(server, stale, work).finally(() => this.#renewals.delete(server));
    this.#renewals.set(server, renewal);
    renewal.catch(() => undefined); // each caller gets it
    return raceAbort(renewal, signal);
  }

  async #renewal(
    server: string,
    stale: string | null,
    work: (now: McpAuthorization, inTime: AbortSignal) => Promise<McpAuthorization>,
  ): Promise<McpGrant> {
    const { store, clock } = this.#options;
    const { signal, cancel } = abortAfter(clock, RENEWAL_MS, this.#closed.signal);
    try {
      while (!(await store.claim(server, RENEWAL_MS))) {
        const found = this.#fresh(await store.get(server), stale);
        if (found !== null) return found;
        await raceAbort(pause(clock, LOOK_MS), signal);
      }
      try {
        const now = (await store.get(server)) ?? NOTHING;
        const found = this.#fresh(now, stale);
        if (found !== null) return found;
        const next = await work(now, signal);
        await store.set(server, next);
        return next.tokens !== null && next.tokens.access !== stale ? granted(next.tokens) : needed(next.wanted ?? []);
      } finally {
        await store.release(server);
      }
    } finally {
      cancel();
    }
  }

  /** The token that another renewal has brought; null = there is none. */
  #fresh(now: McpAuthorization | null, stale: string | null): McpGrant | null {
    const tokens = now?.tokens ?? null;
    return tokens !== null && tokens.access !== stale && !this.#isOld(tokens) ? granted(tokens) : null;
  }

  /** New tokens for the old ones. Without a refresh token, or if it is no good, an operator is needed. */
  async #refresh(server: string, now: McpAuthorization): Promise<McpAuthorization> {
    const { tokens, facts, client, resource } = now;
    const setting = this.#setting(server);
    if (setting.oauth.grant === 'client_credentials') {
      const scopes = setting.oauth.scopes ?? tokens?.scopes ?? [];
      return this.#credentials(setting, now, scopes, NO_CHALLENGE, this.#closed.signal);
    }
    const lost = { ...now, tokens: null, wanted: now.wanted ?? tokens?.scopes ?? [] };
    if (tokens?.refresh == null || facts === null || client === null || resource === null) return lost;
    const { refresh, scopes } = tokens;
    const grant = { grant_type: 'refresh_token', refresh_token: refresh };
    const request = { facts, client, resource, grant, scopes, refresh, nowUnixMs: this.#options.nowUnixMs() };
    try {
      return { ...now, tokens: await requestTokens(request, this.#http, this.#closed.signal) };
    } catch (error) {
      if (!(error instanceof OAuthRefusal)) throw error;
      if (error.code === 'invalid_client') return { ...lost, client: null };
      if (error.code === 'invalid_grant') return lost;
      throw error;
    }
  }

  /** Tokens for parley itself (RFC 6749, 4.4). */
  async #credentials(
    { url, oauth }: HttpServer,
    now: McpAuthorization,
    scopes: readonly string[],
    challenge: McpChallenge,
    signal: AbortSignal,
  ): Promise<McpAuthorization> {
    const known = now.facts !== null && now.resource !== null ? { facts: now.facts, resource: now.resource } : null;
    const { facts, resource } = known ?? (await discover(url, challenge, this.#http, signal));
    const client = ownClient(oauth, facts);
    if (client === null) throw new Error('oauth.clientId and oauth.clientSecret are missing');
    const scope = scopes.length === 0 ? {} : { scope: scopes.join(' ') };
    const grant = { grant_type: 'client_credentials', ...scope };
    const request = { facts, client, resource, grant, scopes, refresh: null, nowUnixMs: this.#options.nowUnixMs() };
    const tokens = await requestTokens(request, this.#http, signal);
    return { ...now, facts, resource, client, tokens, wanted: null };
  }

  /** A tool wants more scopes than the token has. The token stays: other tools work with it. */
  async #stepUp(
    server: string,
    setting: HttpServer,
    now: McpAuthorization,
    challenge: McpChallenge,
    signal: AbortSignal,
  ): Promise<McpAuthorization> {
    const had = now.tokens?.scopes ?? [];
    const scopes = union(had, challenge.scopes);
    const isMore = challenge.error === 'insufficient_scope' && scopes.length > had.length;
    if (!isMore) throw new Error(`it refuses parley what "${server}" has granted`);
    if (setting.oauth.grant === 'client_credentials') {
      return this.#credentials(setting, now, scopes, challenge, signal);
    }
    return { ...now, wanted: scopes };
  }

  /** The server's challenge to a request without a token. */
  async #challenge(url: string, signal: AbortSignal): Promise<McpChallenge> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const { challenge } = await this.#http.send(url, { method: 'POST', headers, body }, signal);
    return challengeOf(challenge);
  }

  /** The operator's client, a document of parley's own, the client that was registered before, or a new one. */
  async #client(
    { oauth }: HttpServer,
    known: McpAuthorization,
    registration: { facts: IssuerFacts; redirectUri: string; scopes: readonly string[] },
    signal: AbortSignal,
  ): Promise<McpClientIdentity> {
    const { facts, redirectUri } = registration;
    const own = ownClient(oauth, facts);
    if (own !== null) return own;
    const document = facts.takesClientDocuments ? (this.#options.clientDocument?.() ?? null) : null;
    if (document !== null) {
      return { id: document, secret: null, method: 'none', redirectUri: null, secretExpiresAtMs: null };
    }
    const { client } = known;
    const isValid = (client?.secretExpiresAtMs ?? Infinity) > this.#options.nowUnixMs();
    const isSame = known.facts?.issuer === facts.issuer && client?.redirectUri === redirectUri;
    return client !== null && isSame && isValid ? client : registerClient(registration, this.#http, signal);
  }
}

const NO_CHALLENGE: McpChallenge = { error: null, scopes: [], metadataUrl: null };

/** The client of the settings; null = there is none. @throws Error for an authorization server that must not get its secret */
function ownClient({ clientId, clientSecret, issuer }: McpOAuthSetting, facts: IssuerFacts): McpClientIdentity | null {
  if (clientId === undefined) return null;
  if (issuer !== undefined && issuer !== facts.issuer) {
    throw new Error(`its authorization server is ${facts.issuer}, not oauth.issuer (${issuer})`);
  }
  const secret = clientSecret ?? null;
  const method = clientMethod(facts.methods, secret !== null);
  return { id: clientId, secret, method, redirectUri: null, secretExpiresAtMs: null };
}

/** RFC 9207, 2.4: the answer comes from the authorization server that was asked. @throws Error */
function checkIssuer({ issuer, sendsIssuer }: IssuerFacts, iss: string | undefined): void {
  if (iss === issuer || (iss === undefined && !sendsIssuer)) return;
  throw new Error('the answer is not from the authorization server that was asked');
}

function hasAuthorization(headers: Readonly<Record<string, string>> = {}): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}

function scopesOf({ oauth }: HttpServer, { scopes }: McpChallenge): readonly string[] {
  return oauth.scopes ?? scopes;
}

function granted({ access }: McpTokens): McpGrant {
  return { kind: 'token', token: access };
}

function needed(scopes: readonly string[]): McpGrant {
  return { kind: 'needed', scopes };
}

function union(first: readonly string[], second: readonly string[]): readonly string[] {
  return [...new Set([...first, ...second])];
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.schedule(clock.nowMs() + ms, resolve));
}
