import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import type { Settings } from '../../settings/settings.js';
import type { McpAuthorizer, McpCallback, McpServerState } from '../../tools/mcp/oauth/authorizer.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import { CALLBACK_PATH, CLIENT_DOCUMENT_PATH, clientDocument } from './client-document.js';

export interface ServerRoutesOptions {
  app: FastifyInstance;
  authorizer: McpAuthorizer;
  settings: Pick<Settings, 'publicUrl'>;
  /** The daemon's address for the client of a request. */
  baseOf: (request: FastifyRequest) => string;
}

const tag = 'mcp';
const params = { server: z.string().min(1).max(32) };
const scopes = z.array(z.string());
const serverSchema = z
  .strictObject({
    server: z.string(),
    url: z.string(),
    state: z
      .enum(['open', 'authorized', 'needed'])
      .describe('`open`: the server has not asked for authorization. `needed`: an operator must grant `wanted`.'),
    grant: z.enum(['authorization_code', 'client_credentials']),
    issuer: z.string().nullable().describe('The authorization server; null = not known yet'),
    scopes,
    wanted: scopes.nullable(),
    expires_at: z.number().nullable().describe('Of the access token, in Unix seconds. parley renews it before.'),
  })
  .meta({ id: 'McpServer', description: 'An MCP server of the settings that is reached over HTTP.' });

const EXAMPLE: z.output<typeof serverSchema> = {
  server: 'stock',
  url: 'https://stock.example/mcp',
  state: 'needed',
  grant: 'authorization_code',
  issuer: null,
  scopes: [],
  wanted: ['stock:read'],
  expires_at: null,
};

/** OAuth at the operator's MCP servers: what is missing, and how an operator grants it. */
export function serverRoutes(api: Api, { app, authorizer, settings, baseOf }: ServerRoutesOptions): void {
  api.add({
    id: 'listMcpServers',
    method: 'GET',
    path: '/mcp/servers',
    tag,
    summary: 'MCP servers and their authorization',
    description: 'Those of `mcpServers` with a `url` and without an `authorization` header. See docs/tools.md.',
    answer: z.array(serverSchema),
    examples: () => ({ answer: [EXAMPLE] }),
    handle: async () => (await authorizer.states()).map(stateReply),
  });

  api.add({
    id: 'authorizeMcpServer',
    method: 'POST',
    scope: 'admin',
    path: '/mcp/servers/{server}/authorize',
    tag,
    params,
    summary: 'Begin the authorization at an MCP server',
    description:
      'A person opens `url` in a browser within ten minutes and agrees there. The browser comes back to this daemon.',
    answer: z.strictObject({ url: z.string() }).meta({ id: 'McpAuthorizationUrl' }),
    errors: ['NOT_FOUND', 'MCP_AUTHORIZATION'],
    examples: () => ({ answer: { url: 'https://login.example/authorize?response_type=code&client_id=parley' } }),
    handle: async ({ params: { server }, request, reply }) => ({
      url: await authorizer.begin(server, baseOf(request) + CALLBACK_PATH, goneWith(reply)),
    }),
  });

  api.add({
    id: 'forgetMcpServer',
    method: 'DELETE',
    scope: 'admin',
    path: '/mcp/servers/{server}/authorization',
    tag,
    params,
    summary: 'Forget the authorization at an MCP server',
    description: 'Deletes the tokens here, and has them revoked where the authorization server can do so.',
    answer: success,
    errors: ['NOT_FOUND'],
    handle: async ({ params: { server }, reply }) => ({ success: await authorizer.forget(server, goneWith(reply)) }),
  });

  app.get(CALLBACK_PATH, async (request, reply) => {
    const query = request.query as Record<string, unknown>;
    const text = (name: string): string | undefined => {
      const value = query[name];
      return typeof value === 'string' ? value : undefined;
    };
    const callback: McpCallback = {
      state: text('state'),
      code: text('code'),
      iss: text('iss'),
      error: text('error'),
      error_description: text('error_description'),
    };
    void reply.type('text/html; charset=utf-8').headers({
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      // The address has the code.
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    try {
      const server = await authorizer.finish(callback, goneWith(reply));
      return page(`parley is authorized at “${server}”`, 'You can close this page.');
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      void reply.code(error.httpStatus);
      return page('parley is not authorized', error.message);
    }
  });

  app.get(CLIENT_DOCUMENT_PATH, (_request, reply) => {
    const document = clientDocument(settings);
    if (document === null) throw new ParleyError('NOT_FOUND', { what: 'public address', id: 'PARLEY_PUBLIC_URL' });
    return reply.header('cache-control', 'max-age=3600').send(document);
  });
}

/** Aborts when the client has gone. */
function goneWith(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  reply.raw.once('close', () => left.abort(new Error('the client has gone')));
  return left.signal;
}

function stateReply({ expiresAtMs, wanted, scopes: had, ...state }: McpServerState): z.output<typeof serverSchema> {
  return {
    ...state,
    scopes: [...had],
    wanted: wanted === null ? null : [...wanted],
    expires_at: expiresAtMs === null ? null : expiresAtMs / 1000,
  };
}

function page(title: string, text: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escaped(title)}</title><h1>${escaped(title)}</h1><p>${escaped(text)}</p></html>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
