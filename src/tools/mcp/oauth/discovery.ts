import type { IssuerFacts } from './authorizations.js';
import type { OAuthHttp } from './oauth-http.js';

/** What a server asks for in `WWW-Authenticate` (RFC 6750, 3; RFC 9728, 5.1). */
export interface McpChallenge {
  error: string | null;
  scopes: readonly string[];
  metadataUrl: string | null;
}

/** How a server is protected. */
export interface ServerProtection {
  /** The server's identifier, for tokens that only it takes (RFC 8707). */
  resource: string;
  /** Scopes for all that it can do; [] = it does not say. */
  scopes: readonly string[];
  facts: IssuerFacts;
}

/** The parameters of the scheme Bearer. */
export function challengeOf(header: string): McpChallenge {
  const [, parameters = ''] = /(?:^|,)\s*Bearer\s+(.*)$/is.exec(header) ?? [];
  const value = (name: string): string | null => {
    const [, quoted, token] = new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(parameters) ?? [];
    return quoted ?? token ?? null;
  };
  return { error: value('error'), scopes: wordsOf(value('scope')), metadataUrl: value('resource_metadata') };
}

/**
 * Finds a server's authorization server (specification 2026-07-28, authorization server discovery).
 * @param challenge the server's, to a request without a token
 * @throws Error that says what is wrong
 */
export async function discover(
  serverUrl: string,
  challenge: McpChallenge,
  http: OAuthHttp,
  signal: AbortSignal,
): Promise<ServerProtection> {
  const metadata = await resourceMetadata(new URL(serverUrl), challenge, http, signal);
  const { origin, protocol } = new URL(serverUrl);
  if (metadata === null) {
    // Servers of 2025-03-26 are their own authorization servers and have no metadata of the resource.
    return { resource: serverUrl, scopes: [], facts: await issuerFacts(origin, protocol, http, signal) };
  }
  const { resource, authorization_servers: issuers, scopes_supported: scopes } = metadata;
  if (typeof resource !== 'string' || !isOf(serverUrl, resource)) {
    throw new Error(`its metadata is of another resource, ${String(resource).slice(0, 200)}`);
  }
  const [issuer = origin] = textsOf(issuers);
  return { resource, scopes: textsOf(scopes), facts: await issuerFacts(issuer, protocol, http, signal) };
}

/** Null = the server has none. */
async function resourceMetadata(
  server: URL,
  { metadataUrl }: McpChallenge,
  http: OAuthHttp,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | null> {
  const wellKnown = '/.well-known/oauth-protected-resource';
  const path = server.pathname === '/' ? '' : server.pathname;
  const places = metadataUrl === null ? [wellKnown + path, wellKnown] : [metadataUrl];
  for (const place of places) {
    const url = checkedUrl(new URL(place, server).href, server.protocol, 'the metadata of the server');
    const { status, body } = await http.send(url, {}, signal);
    if (status === 200 && Object.keys(body).length > 0) return body;
  }
  if (metadataUrl !== null) throw new Error(`its metadata at ${metadataUrl} cannot be read`);
  return null;
}

/** Whether a server's address is that of a resource, or below it. */
function isOf(serverUrl: string, resource: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [server, root] = [new URL(serverUrl), new URL(resource)];
  const slashed = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return server.origin === root.origin && slashed(server.pathname).startsWith(slashed(root.pathname));
}

/** The metadata of an authorization server (RFC 8414, or OpenID Connect Discovery). */
async function issuerFacts(issuer: string, plain: string, http: OAuthHttp, signal: AbortSignal): Promise<IssuerFacts> {
  const url = new URL(checkedUrl(issuer, plain, 'the authorization server'));
  const path = url.pathname.replace(/\/$/, '');
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${path}/.well-known/openid-configuration`]),
  ];
  for (const place of places) {
    const { status, body } = await http.send(new URL(place, url).href, {}, signal);
    if (status === 200 && Object.keys(body).length > 0) return factsOf(issuer, body);
  }
  throw new Error(`the authorization server ${issuer} has no metadata`);
}

function factsOf(issuer: string, body: Readonly<Record<string, unknown>>): IssuerFacts {
  // One server must not speak for another one (RFC 8414, 3.3).
  const { issuer: named } = body;
  if (named !== issuer && named !== `${issuer}/`) {
    throw new Error(`the metadata of ${issuer} is of another issuer, ${String(named).slice(0, 200)}`);
  }
  const plain = new URL(issuer).protocol;
  const endpoint = (name: string): string | null => {
    const value = body[name];
    return typeof value === 'string' ? checkedUrl(value, plain, `${name} of ${issuer}`) : null;
  };
  const tokenEndpoint = endpoint('token_endpoint');
  if (tokenEndpoint === null) throw new Error(`the authorization server ${issuer} has no token_endpoint`);
  const authorizationEndpoint = endpoint('authorization_endpoint');
  const challenges = textsOf(body['code_challenge_methods_supported']);
  // Without PKCE, whoever gets hold of a code could use it.
  if (authorizationEndpoint !== null && !challenges.includes('S256')) {
    throw new Error(`the authorization server ${issuer} does not support PKCE with S256`);
  }
  const methods = textsOf(body['token_endpoint_auth_methods_supported']);
  return {
    issuer: named,
    authorizationEndpoint,
    tokenEndpoint,
    registrationEndpoint: endpoint('registration_endpoint'),
    revocationEndpoint: endpoint('revocation_endpoint'),
    sendsIssuer: body['authorization_response_iss_parameter_supported'] === true,
    takesClientDocuments: body['client_id_metadata_document_supported'] === true,
    // RFC 8414, 2: the default.
    methods: methods.length === 0 ? ['client_secret_basic'] : methods,
    scopes: textsOf(body['scopes_supported']),
  };
}

/**
 * An address that a server has named. Secrets go over https, on this machine, or where the operator's own address is
 * plain http.
 * @param plain protocol of the address that it comes from
 */
function checkedUrl(text: string, plain: string, what: string): string {
  if (!URL.canParse(text)) throw new Error(`the address of ${what} is not valid`);
  const { protocol, hostname } = new URL(text);
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
  if (protocol === 'https:' || (protocol === 'http:' && (isLocal || plain === 'http:'))) return text;
  throw new Error(`the address of ${what} does not begin with https`);
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

/** The words of a space-separated list, such as of scopes. */
export function wordsOf(text: unknown): string[] {
  return typeof text === 'string' ? text.split(' ').filter((word) => word !== '') : [];
}
