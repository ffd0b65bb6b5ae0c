/** How a client proves itself at the token endpoint (RFC 7591, 2). */
export type ClientMethod = 'none' | 'client_secret_basic' | 'client_secret_post';

/** A client as an authorization server knows it. */
export interface McpClientIdentity {
  id: string;
  secret: string | null;
  method: ClientMethod;
  /** The redirect that it was registered with; null = it was not registered by parley. */
  redirectUri: string | null;
  /** Unix milliseconds; null = the secret does not expire. */
  secretExpiresAtMs: number | null;
}

/** The endpoints of an authorization server, and what it says of itself (RFC 8414). */
export interface IssuerFacts {
  issuer: string;
  authorizationEndpoint: string | null;
  tokenEndpoint: string;
  registrationEndpoint: string | null;
  revocationEndpoint: string | null;
  /** Whether its answers have `iss` (RFC 9207). */
  sendsIssuer: boolean;
  takesClientDocuments: boolean;
  methods: readonly string[];
  scopes: readonly string[];
}

export interface McpTokens {
  access: string;
  refresh: string | null;
  /** Unix milliseconds; null = unknown. */
  expiresAtMs: number | null;
  obtainedAtMs: number;
  scopes: readonly string[];
}

/** An authorization that an operator has begun. */
export interface PendingAuthorization {
  state: string;
  /** PKCE (RFC 7636). */
  verifier: string;
  redirectUri: string;
  scopes: readonly string[];
  startedAtMs: number;
}

/** What is known about the authorization at one server. */
export interface McpAuthorization {
  /** The server's identifier (RFC 8707); null = it is not known yet. */
  resource: string | null;
  facts: IssuerFacts | null;
  client: McpClientIdentity | null;
  tokens: McpTokens | null;
  /** What an operator must grant; null = nothing is missing. */
  wanted: readonly string[] | null;
  pending: PendingAuthorization | null;
}

/** Keeps authorizations, for all nodes. */
export interface McpAuthorizations {
  get(server: string): Promise<McpAuthorization | null>;
  /** Null deletes it. */
  set(server: string, authorization: McpAuthorization | null): Promise<void>;
  /** Whether the caller alone may renew the tokens now, until it releases or for `ms`. */
  claim(server: string, ms: number): Promise<boolean>;
  release(server: string): Promise<void>;
}

/** Authorizations of a process without a database. */
export class MemoryAuthorizations implements McpAuthorizations {
  readonly #all = new Map<string, McpAuthorization>();
  readonly #claims = new Set<string>();

  get(server: string): Promise<McpAuthorization | null> {
    return Promise.resolve(this.#all.get(server) ?? null);
  }

  set(server: string, authorization: McpAuthorization | null): Promise<void> {
    if (authorization === null) this.#all.delete(server);
    else this.#all.set(server, authorization);
    return Promise.resolve();
  }

  claim(server: string): Promise<boolean> {
    const isFree = !this.#claims.has(server);
    this.#claims.add(server);
    return Promise.resolve(isFree);
  }

  release(server: string): Promise<void> {
    this.#claims.delete(server);
    return Promise.resolve();
  }
}
