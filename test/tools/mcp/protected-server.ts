import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DemoInMemoryAuthProvider } from '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type { OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { nowUnixMs } from '../../../src/base/real-clock.js';

/** The provider of the SDK's examples, with tokens that expire when the test wants it, and refresh tokens. */
class TestProvider extends DemoInMemoryAuthProvider implements OAuthServerProvider {
  readonly access = new Map<string, readonly string[]>();
  readonly #refresh = new Map<string, readonly string[]>();
  /** The resources for which tokens were asked. */
  readonly resources: string[] = [];
  refreshes = 0;
  revoked: string[] = [];

  override async exchangeAuthorizationCode(
    client: OAuthClientInformationFull,
    code: string,
    verifier?: string,
  ): Promise<OAuthTokens> {
    const found = await super.exchangeAuthorizationCode(client, code, verifier);
    return this.tokensFor(found.scope?.split(' ') ?? []);
  }

  override exchangeRefreshToken(
    _client?: OAuthClientInformationFull,
    token = '',
    _scopes?: string[],
    resource?: URL,
  ): Promise<OAuthTokens> {
    this.refreshes++;
    this.resources.push(String(resource));
    const scopes = this.#refresh.get(token);
    // A refresh token is good once (OAuth 2.1, 4.3.1).
    this.#refresh.delete(token);
    if (scopes === undefined) throw new InvalidGrantError('it was used before');
    return Promise.resolve(this.tokensFor(scopes));
  }

  override verifyAccessToken(token: string): ReturnType<DemoInMemoryAuthProvider['verifyAccessToken']> {
    const scopes = this.access.get(token);
    if (scopes === undefined) throw new InvalidTokenError('it has expired');
    const expiresAt = Math.floor(nowUnixMs() / 1000) + 60;
    return Promise.resolve({ token, clientId: 'any', scopes: [...scopes], expiresAt });
  }

  revokeToken(_client: OAuthClientInformationFull, { token }: { token: string }): Promise<void> {
    this.revoked.push(token);
    return Promise.resolve();
  }

  tokensFor(scopes: readonly string[], withRefresh = true): OAuthTokens {
    const [access, refresh] = [`at_${randomUUID()}`, `rt_${randomUUID()}`];
    this.access.set(access, scopes);
    if (withRefresh) this.#refresh.set(refresh, scopes);
    const answer = { access_token: access, token_type: 'bearer', expires_in: 3600, scope: scopes.join(' ') };
    return withRefresh ? { ...answer, refresh_token: refresh } : answer;
  }

  /** No access token is good any more. */
  expire(): void {
    this.access.clear();
  }

  /** No refresh token is good any more. */
  expireRefresh(): void {
    this.#refresh.clear();
  }
}

interface Asked extends IncomingMessage {
  body: unknown;
  auth?: { scopes: readonly string[] };
}

type Handler = (request: Asked, response: ServerResponse, next: () => void) => void;

/** The part of Express that is needed here; its types are not a dependency. */
type App = RequestListener & { post: (path: string, ...handlers: Handler[]) => void; use: (handler: Handler) => void };

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** An MCP server of the official SDK behind its own authorization server. `order` wants the scope `stock:write`. */
export class ProtectedServer {
  readonly provider = new TestProvider();
  readonly url: string;
  readonly #http: Server;

  private constructor(http: Server, url: string) {
    this.#http = http;
    this.url = url;
  }

  static async open(): Promise<ProtectedServer> {
    const app = createMcpExpressApp() as unknown as App;
    const http = createServer(app);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const origin = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
    const server = new ProtectedServer(http, `${origin}/mcp`);
    const { provider } = server;
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    // The router has no client credentials.
    app.post('/token', (request, response, next) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const form = new URLSearchParams(Buffer.concat(chunks).toString());
        request.body = Object.fromEntries(form);
        if (form.get('grant_type') !== 'client_credentials') next();
        else if (form.get('client_id') !== 'machine' || form.get('client_secret') !== 's3cret-of-machine') {
          json(response, 401, { error: 'invalid_client' });
        } else {
          provider.resources.push(form.get('resource') ?? '');
          json(response, 200, provider.tokensFor(form.get('scope')?.split(' ') ?? [], false));
        }
      });
    });
    const router: unknown = mcpAuthRouter({
      provider,
      issuerUrl: new URL(origin),
      resourceServerUrl: new URL(server.url),
      scopesSupported: ['stock:read', 'stock:write'],
      clientRegistrationOptions: { rateLimit: false },
      tokenOptions: { rateLimit: false },
      authorizationOptions: { rateLimit: false },
    });
    app.use(router as Handler);
    const bearer = requireBearerAuth({
      verifier: provider,
      requiredScopes: ['stock:read'],
      resourceMetadataUrl: metadata,
    }) as unknown as Handler;
    const answer = async (request: Asked, response: ServerResponse): Promise<void> => {
      const body = request.body as { params?: { name?: string } };
      if (body.params?.name === 'order' && request.auth?.scopes.includes('stock:write') !== true) {
        const parts = ['error="insufficient_scope"', 'scope="stock:write"', `resource_metadata="${metadata}"`];
        json(response, 403, {}, { 'www-authenticate': `Bearer ${parts.join(', ')}` });
        return;
      }
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      await tools().connect(transport);
      await transport.handleRequest(request as IncomingMessage, response, request.body);
    };
    app.post('/mcp', bearer, (request, response) => void answer(request, response));
    return server;
  }

  async close(): Promise<void> {
    this.#http.close();
    this.#http.closeAllConnections();
    await once(this.#http, 'close');
  }
}

function tools(): McpServer {
  const server = new McpServer({ name: 'stock', version: '1.0.0' });
  for (const name of ['count', 'order']) {
    server.registerTool(name, { description: `${name}.` }, () => ({ content: [{ type: 'text', text: `${name}: 7` }] }));
  }
  return server;
}

/** What a browser brings back from the authorization server. */
export async function browse(url: string): Promise<Record<string, string>> {
  const response = await fetch(url, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`${String(response.status)} ${await response.text()}`);
  return Object.fromEntries(new URL(location).searchParams);
}
