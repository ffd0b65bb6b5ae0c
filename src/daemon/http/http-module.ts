import { createHmac } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { ParleyError } from '../../base/errors.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { Access, isLoopbackName } from './access.js';
import { Api } from './api.js';
import { Clients } from './clients.js';
import { Forwarder, type NodeAddresses } from './forwarder.js';
import { InnerRequests } from './inner-requests.js';
import { keyRoutes } from './key-routes.js';
import { Mount, prefixOf } from './mount.js';
import { NodePasses } from './node-pass.js';
import { openApiRoutes } from './openapi.js';
import { countRequests, RateLimit } from './rate-limit.js';
import { answerUnknownRoutes, errorReplies } from './replies.js';
import { answerPages, openServer } from './server.js';
import { SessionTokens } from './session-tokens.js';
import { SignedUrls } from './signed-urls.js';
import type { TlsFiles } from './tls.js';
import { refuseRequest, Upgrades } from './upgrades.js';

/** The time for sending the last answers when the daemon closes. */
const LAST_ANSWERS_MS = 2000;
/** A request waits for changes of other nodes at most for this long. */
const CATCH_UP_MS = 500;

/** The HTTP server, with access control. Other modules add endpoints, pages and sockets to it. */
export interface HttpModule extends DaemonModule {
  readonly app: FastifyInstance;
  readonly api: Api;
  readonly access: Access;
  readonly clients: Clients;
  readonly requests: RateLimit;
  readonly tokens: SessionTokens;
  readonly links: SignedUrls;
  readonly upgrades: Upgrades;
  readonly mount: Mount;
  /** Of requests that come from other nodes. */
  readonly passes: NodePasses;
  /** Passes requests on to other nodes. */
  readonly forwarder: Forwarder;
  /** Requests of the daemon to its own endpoints. */
  readonly inner: InnerRequests;
  /** The public key of the daemon's own page. */
  readonly pageKey: string;
  /** Answers a request to the server of an application, unless its URL is outside of the base path. */
  answer: (request: IncomingMessage, response: ServerResponse, url: string, next?: () => void) => void;
  /** Makes the routes final, so that the servers of applications can pass requests on. */
  ready: () => PromiseLike<unknown>;
  /** Resolves with the address once the server listens. */
  listen: () => Promise<string>;
}

export function httpModule(context: DaemonContext, tls: TlsFiles | null, nodes: NodeAddresses): HttpModule {
  const { settings, clock, nowUnixMs, stores, log, faults, node } = context;
  const { host, port, publicUrl } = settings;
  const prefix = prefixOf(settings);
  let address = `http://${host}:${String(port)}${prefix}`;
  const pageKeys = settings.publicKey === null ? stores.sharedKeys.map(pageKeyOf) : [settings.publicKey];
  const tokens = new SessionTokens({ keys: stores.sharedKeys, uses: stores.tokenUses, nowUnixMs });
  const clients = new Clients(settings, (proxy) => warnOfProxy(context, proxy));
  const access = new Access({
    clients,
    publicUrl,
    tokens,
    keys: stores.keys,
    allowedOrigins: settings.allowedOrigins,
    allowMissingOrigin: settings.allowMissingOrigin,
    ownPublicKeys: new Set(settings.page ? pageKeys : []),
    loopback: isLoopbackName(host),
  });
  const mount = new Mount(prefix, (request, response) => app.routing(request, response));
  const app = openServer(settings, clock, tls, (request, response) => answer(request, response, request.url ?? ''));
  app.setErrorHandler(errorReplies((error, request) => faults.report(error, { request })));
  answerUnknownRoutes(app, prefix);
  const passes = new NodePasses({ node, keys: stores.signingKeys, nowUnixMs, access, clients });
  const forwarder = new Forwarder({ node, nodes, passes, clock });
  app.addHook('onRequest', async ({ raw }) => {
    passes.admit(raw);
    await catchUp(context, raw);
  });
  const requests = new RateLimit(settings.limits.requestsPerMinute, () => clock.nowMs());
  const inner = new InnerRequests(app);
  const upgrades = new Upgrades(mount, passes);
  const answer = answering(mount, upgrades, faults.report);
  takeSockets(app.server, upgrades);
  countRequests(app, { requests, clients, access, passes, inner });
  answerPages(app, access);
  return {
    name: 'http',
    app,
    api: new Api(app, { access, passes, forwarder }),
    access,
    clients,
    requests,
    tokens,
    links: new SignedUrls({
      nowUnixMs,
      keys: stores.signingKeys,
      base: () => publicUrl ?? address,
      isPublic: publicUrl !== null,
      prefix,
    }),
    upgrades,
    mount,
    answer,
    passes,
    forwarder,
    inner,
    pageKey: pageKeys[0] ?? '',
    ready: () => app.ready(),
    listen: async () => {
      await app.listen({ host, port });
      const bound = app.server.address() as AddressInfo;
      tls?.watch(app.server as unknown as Server, clock, (fault) => {
        if (fault === null) log.write('info', 'the new certificate is in use');
        else log.write('error', `the previous certificate stays in use: ${fault.message}`, {}, fault);
      });
      const name = host.includes(':') ? `[${host}]` : host;
      address = `http${tls === null ? '' : 's'}://${name}:${String(bound.port)}${prefix}`;
      return address;
    },
    routes: (api) => {
      openApiRoutes(api, publicUrl ?? `${prefix}/`);
      keyRoutes(api, { keys: stores.keys, isAgent: (id) => stores.agents.get(id) !== null });
    },
    close: async () => {
      await closeServer(app, mount, clock);
      await forwarder.close();
      tls?.close();
    },
  };
}

/**
 * Answers what is below the base path. An application that has read a body, or does not pass on requests for sockets, is
 * told so, because nobody can read a body again or make a socket of such a request.
 */
function answering(mount: Mount, upgrades: Upgrades, onFault: (error: Error) => void): HttpModule['answer'] {
  return (request, response, url, next) => {
    const path = pathOf(url);
    if (mount.below(url) !== null && isRead(request)) {
      const error = new ParleyError('BODY_ALREADY_READ', { method: request.method ?? '', path });
      onFault(error);
      refuseRequest(response, error);
      return;
    }
    if (request.headers.upgrade?.toLowerCase() === 'websocket' && upgrades.has(url)) {
      response.setHeader('upgrade', 'websocket');
      refuseRequest(response, new ParleyError('UPGRADE_NOT_PASSED', { path }));
      return;
    }
    if (mount.serve(request, response, url)) return;
    if (next !== undefined) next();
    else refuseRequest(response, new ParleyError('ROUTE_UNKNOWN', { method: request.method ?? '', path }));
  };
}

/** The sockets of the daemon's own server, which has no others. */
function takeSockets(server: FastifyInstance['server'], upgrades: Upgrades): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (upgrades.dispatch(request, socket, head)) return;
    socket.on('error', () => socket.destroy());
    refuseUpgrade(socket, new ParleyError('ROUTE_UNKNOWN', { method: 'WebSocket', path: pathOf(request.url) }));
  });
}

/** Whether somebody has read the body of a request, which has one. */
function isRead({ readableEnded, headers }: IncomingMessage): boolean {
  return readableEnded && (Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined);
}

function pathOf(url = ''): string {
  return url.split('?')[0] ?? '';
}

async function closeServer(app: FastifyInstance, mount: Mount, clock: Clock): Promise<void> {
  // Endless answers, and clients that read too slowly, would keep it open.
  const cancel = clock.schedule(clock.nowMs() + LAST_ANSWERS_MS, () => {
    mount.cutOff();
    app.server.closeAllConnections();
  });
  await Promise.all([app.close(), mount.idle()]);
  cancel();
}

function warnOfProxy({ log }: DaemonContext, proxy: string): void {
  const hint =
    'its visitors count as one. trustedProxies (PARLEY_TRUSTED_PROXIES) names proxies, see docs/operation.md';
  log.write('warn', `requests come through a proxy at ${proxy} that is not trusted: ${hint}`);
}

/** A client's requests may reach several nodes: each sees what the others have answered before. */
async function catchUp({ clock, changes, databaseState }: DaemonContext, request: IncomingMessage): Promise<void> {
  const isNeeded = request.headers.authorization !== undefined && databaseState.fault === null;
  if (isNeeded) await waitAtMost(clock, CATCH_UP_MS, changes.check());
}

/** The public key of the page. All nodes have the same one: a page of one may talk with another. */
function pageKeyOf(key: Buffer): string {
  return `pk_page_${createHmac('sha256', key).update('page key').digest().subarray(0, 24).toString('base64url')}`;
}
