import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.js';
import { abortAfter } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { packageVersion } from '../../package-files.js';
import { KEY_SCOPES, type StoredKey } from '../../store/keys.js';
import type { DaemonContext } from '../context.js';
import type { Access } from '../http/access.js';
import { jsonBody } from '../http/checked.js';
import type { Clients } from '../http/clients.js';
import type { HttpModule } from '../http/http-module.js';
import type { InnerAnswer, InnerRequests } from '../http/inner-requests.js';
import type { SignedUrls } from '../http/signed-urls.js';
import type { DaemonModule } from '../module.js';
import { EndpointTools } from './endpoint-tools.js';
import type { McpCaller } from './mcp-caller.js';
import { McpProtocol } from './mcp-protocol.js';
import { McpResources } from './mcp-resources.js';
import { serverRoutes } from './server-routes.js';

const PATH = '/mcp';
/** RFC 9728, 3.1: the metadata of the resource at `/mcp`. */
const METADATA_PATH = '/.well-known/oauth-protected-resource';
/** Until an endpoint has answered the call of a tool. */
const CALL_MS = 60_000;

/**
 * The daemon as a server of the Model Context Protocol (streamable HTTP, without sessions), at `/mcp`, and its
 * authorization at the operator's servers.
 */
export function mcpModule({ clock, settings, stores }: DaemonContext, http: HttpModule): DaemonModule {
  const { app, api, access, clients, links, inner } = http;
  const tools = new EndpointTools(api.endpoints);
  const protocol = new McpProtocol({ tools, resources: new McpResources(), version: packageVersion() });
  return {
    name: 'mcp',
    routes: () => {
      mcpRoutes(app, { protocol, access, clients, links, inner, clock });
      const baseOf = ({ raw }: FastifyRequest): string => links.baseOf(clients.of(raw));
      serverRoutes(api, { app, settings, baseOf, authorizer: stores.mcpAuthorizer });
    },
  };
}

interface McpRoutesOptions {
  protocol: McpProtocol;
  access: Access;
  clients: Clients;
  links: SignedUrls;
  inner: InnerRequests;
  clock: Clock;
}

function mcpRoutes(app: FastifyInstance, options: McpRoutesOptions): void {
  const { protocol, access, clients, links } = options;
  const baseOf = ({ raw }: FastifyRequest): string => links.baseOf(clients.of(raw));
  const keys = new WeakMap<FastifyRequest, StoredKey>();
  app.post(PATH, {
    onRequest: async (request, reply) => {
      // Pages of other origins must not reach a daemon of this machine (DNS rebinding).
      if (request.headers.origin !== undefined) access.origin(access.callerOf(request.raw));
      const key = access.keyOf(request);
      if (key === null) {
        challenge(reply, baseOf(request), {});
        throw new ParleyError('AUTH_REQUIRED');
      }
      if (key.kind !== 'private') throw new ParleyError('AUTH_FORBIDDEN', { reason: 'it is a public key' });
      keys.set(request, key);
    },
    handler: async (request, reply) => {
      const { scopes } = keys.get(request) ?? { scopes: [] };
      const left = new AbortController();
      reply.raw.once('close', () => left.abort(new Error('the client has gone')));
      const deadline = abortAfter(options.clock, CALL_MS, left.signal);
      try {
        const caller: McpCaller = { scopes, send: (inner) => send(options, request, inner, deadline.signal) };
        const answer = await protocol.answer(jsonBody(request), headersOf(request), caller);
        if (answer.lacks !== null) {
          challenge(reply, baseOf(request), { error: 'insufficient_scope', scope: answer.lacks });
        }
        return await reply.code(answer.status).send(answer.body);
      } finally {
        deadline.cancel();
      }
    },
  });
  for (const path of [METADATA_PATH, METADATA_PATH + PATH]) {
    app.get(path, (request) => ({
      resource: baseOf(request) + PATH,
      resource_name: 'parley',
      bearer_methods_supported: ['header'],
      scopes_supported: KEY_SCOPES,
    }));
  }
}

async function send(
  { inner, clients }: McpRoutesOptions,
  { raw }: FastifyRequest,
  request: Parameters<McpCaller['send']>[0],
  signal: AbortSignal,
): Promise<InnerAnswer> {
  const { address } = clients.of(raw);
  try {
    return await inner.send({ ...request, authorization: raw.headers.authorization ?? '', address, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    return { status: 504, text: JSON.stringify({ detail: reasonOf(signal.reason) }) };
  }
}

function headersOf({ headers }: FastifyRequest): { [name in 'version' | 'method' | 'name']: string | undefined } {
  const one = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return { version: one('mcp-protocol-version'), method: one('mcp-method'), name: one('mcp-name') };
}

/** Tells clients how to be authorized (RFC 6750, 3; RFC 9728, 5.1). */
function challenge(reply: FastifyReply, base: string, parameters: Readonly<Record<string, string>>): void {
  const all = Object.entries({ ...parameters, resource_metadata: base + METADATA_PATH + PATH });
  void reply.header('www-authenticate', `Bearer ${all.map(([name, value]) => `${name}="${value}"`).join(', ')}`);
}
