import type { IssuerFacts, McpClientIdentity, McpTokens } from './authorizations.js';
import { wordsOf } from './discovery.js';
import type { OAuthHttp } from './oauth-http.js';

/** An error answer of a token endpoint (RFC 6749, 5.2). */
export class OAuthRefusal extends Error {
  constructor(
    readonly code: string,
    description: unknown,
  ) {
    super(typeof description === 'string' && description !== '' ? `${code} (${description.slice(0, 300)})` : code);
  }
}

export interface TokenRequest {
  facts: IssuerFacts;
  client: McpClientIdentity;
  resource: string;
  /** `grant_type` and what belongs to it. */
  grant: Readonly<Record<string, string>>;
  /** The scopes of the tokens if the answer does not name them. */
  scopes: readonly string[];
  /** Kept if the answer has none. */
  refresh: string | null;
  nowUnixMs: number;
}

const FORM = 'application/x-www-form-urlencoded';

/** Asks a token endpoint for tokens. @throws OAuthRefusal; Error for answers that are none */
export async function requestTokens(
  { facts, client, resource, grant, scopes, refresh, nowUnixMs }: TokenRequest,
  http: OAuthHttp,
  signal: AbortSignal,
): Promise<McpTokens> {
  const form = new URLSearchParams({ ...grant, resource });
  const headers = new Map([['content-type', FORM]]);
  authenticate(client, form, headers);
  const sent = { method: 'POST' as const, headers: Object.fromEntries(headers), body: String(form) };
  const { status, body } = await http.send(facts.tokenEndpoint, sent, signal);
  if (typeof body['error'] === 'string') throw new OAuthRefusal(body['error'], body['error_description']);
  const { access_token: access, refresh_token: next, expires_in: life, scope, token_type: type } = body;
  if (status !== 200 || typeof access !== 'string' || !/^bearer$/i.test(String(type))) {
    throw new Error(`${facts.tokenEndpoint} answered with status ${String(status)} and no token`);
  }
  return {
    access,
    refresh: typeof next === 'string' ? next : refresh,
    expiresAtMs: Number(life) > 0 ? nowUnixMs + Number(life) * 1000 : null,
    obtainedAtMs: nowUnixMs,
    scopes: typeof scope === 'string' ? wordsOf(scope) : scopes,
  };
}

/** Tells an authorization server that a token is not used any more (RFC 7009). Its answer does not matter. */
export async function revokeToken(
  { facts, client, token }: { facts: IssuerFacts; client: McpClientIdentity; token: string },
  http: OAuthHttp,
  signal: AbortSignal,
): Promise<void> {
  if (facts.revocationEndpoint === null) return;
  const form = new URLSearchParams({ token });
  const headers = new Map([['content-type', FORM]]);
  authenticate(client, form, headers);
  const sent = { method: 'POST' as const, headers: Object.fromEntries(headers), body: String(form) };
  await http.send(facts.revocationEndpoint, sent, signal).catch(() => undefined);
}

function authenticate(
  { id, secret, method }: McpClientIdentity,
  form: URLSearchParams,
  headers: Map<string, string>,
): void {
  if (method === 'client_secret_basic' && secret !== null) {
    // RFC 6749, 2.3.1: both are form-encoded first.
    const encoded = [id, secret].map((text) => encodeURIComponent(text)).join(':');
    headers.set('authorization', `Basic ${Buffer.from(encoded).toString('base64')}`);
    return;
  }
  form.set('client_id', id);
  if (method === 'client_secret_post' && secret !== null) form.set('client_secret', secret);
}

export interface Registration {
  facts: IssuerFacts;
  redirectUri: string;
  scopes: readonly string[];
}

/** Registers a client (RFC 7591). @throws OAuthRefusal; Error */
export async function registerClient(
  { facts, redirectUri, scopes }: Registration,
  http: OAuthHttp,
  signal: AbortSignal,
): Promise<McpClientIdentity> {
  if (facts.registrationEndpoint === null) {
    throw new Error(`${facts.issuer} registers no clients: register one there and set oauth.clientId of the server`);
  }
  const { hostname } = new URL(redirectUri);
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  const metadata = {
    client_name: 'parley',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: clientMethod(facts.methods, true),
    application_type: isLocal ? 'native' : 'web',
  };
  const scope = scopes.length === 0 ? {} : { scope: scopes.join(' ') };
  const sent = {
    method: 'POST' as const,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...metadata, ...scope }),
  };
  const { status, body } = await http.send(facts.registrationEndpoint, sent, signal);
  if (typeof body['error'] === 'string') throw new OAuthRefusal(body['error'], body['error_description']);
  const { client_id: id, client_secret: secret, client_secret_expires_at: expires } = body;
  if (typeof id !== 'string') throw new Error(`${facts.registrationEndpoint} answered with status ${String(status)}`);
  const named = body['token_endpoint_auth_method'];
  const methods = typeof named === 'string' ? [named] : facts.methods;
  return {
    id,
    secret: typeof secret === 'string' ? secret : null,
    method: clientMethod(methods, typeof secret === 'string'),
    redirectUri,
    secretExpiresAtMs: Number(expires) > 0 ? Number(expires) * 1000 : null,
  };
}

/** The best method that an authorization server supports. */
export function clientMethod(supported: readonly string[], hasSecret: boolean): McpClientIdentity['method'] {
  const known = hasSecret ? (['client_secret_post', 'client_secret_basic'] as const) : [];
  return known.find((method) => supported.includes(method)) ?? 'none';
}
