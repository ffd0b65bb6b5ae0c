/** What a request to a server may be sent with. `none`: nothing is known, try without. `needed`: an operator must act. */
export type McpGrant =
  { kind: 'token'; token: string } | { kind: 'none' } | { kind: 'needed'; scopes: readonly string[] };

/** A server's refusal of a request. */
export interface McpRefusal {
  /** The token that the request had; null = none. */
  token: string | null;
  status: 401 | 403;
  /** The header `WWW-Authenticate`; '' = there is none. */
  challenge: string;
}

/** Gives access tokens for MCP servers. */
export interface McpTokenSource {
  /** For a request. Renews a token that is about to expire. Rejects with the signal's reason. */
  grant(server: string, signal: AbortSignal): Promise<McpGrant>;
  /** After a refusal: another token if one can be had without an operator. Rejects with the signal's reason. */
  renew(server: string, refusal: McpRefusal, signal: AbortSignal): Promise<McpGrant>;
}

/** An operator must let parley use the server, or more of it. */
export class McpAuthorizationNeeded extends Error {
  constructor(server: string, scopes: readonly string[]) {
    const what = scopes.length === 0 ? '' : ` for ${scopes.join(', ')}`;
    super(`it needs the operator's authorization${what}: parley mcp login ${server}, or the console`);
  }
}
