import { createHmac } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { waitAtMost } from '../../base/deadlines.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { Access, isLoopbackName } from './access.js';
import { Api } from './api.js';
import { Clients } from './clients.js';
import { Forwarder, type NodeAddresses } from './forwarder.js';
import { InnerRequests } from './inner-requests.js';
import { keyRoutes } from './key-routes.js';
import { NodePasses } from './node-pass.js';
import { openApiRoutes } from './openapi.js';
import { countRequests, RateLimit } from './rate-limit.js';
import { answerUnknownRoutes, errorReplies } from './replies.js';
import { answerPages, openServer } from './server.js';
import { SessionTokens } from './session-tokens.js';
import { SignedUrls } from './signed-urls.js';
import type { TlsFiles } from './tls.js';
import { Upgrades } from './upgrades.js';

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
  /** Of requests that come from other nodes. */
  readonly passes: NodePasses;
  /** Passes requests on to other nodes. */
  readonly forwarder: Forwarder;
  /** Requests of the daemon to its own endpoints. */
  readonly inner: InnerRequests;
  /** The public key of the daemon's own page. */
  readonly pageKey: string;
  /** Resolves with the address once the server listens. */
  listen: () => Promise<string>;
}

export function httpModule(context: DaemonContext, tls: TlsFiles | null, nodes: NodeAddresses): HttpModule {
  const { settings, clock, nowUnixMs, stores, log, faults, node } = context;
  const { host, port, publicUrl } = settings;
  let address = `http://${host}:${String(port)}`;
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
  const app = openServer(settings, clock, tls);
  app.setErrorHandler(errorReplies((error, request) => faults.report(error, { request })));
  answerUnknownRoutes(app);
  const passes = new NodePasses({ node, keys: stores.signingKeys, nowUnixMs, access, clients });
  const forwarder = new Forwarder({ node, nodes, passes, clock });
  app.addHook('onRequest', async ({ raw }) => {
    passes.admit(raw);
    await catchUp(context, raw);
  });
  const requests = new RateLimit(settings.limits.requestsPerMinute, () => clock.nowMs());
  const inner = new InnerRequests(app);
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
    }),
    upgrades: new Upgrades(app.server, passes),
    passes,
    forwarder,
    inner,
    pageKey: pageKeys[0] ?? '',
    listen: async () => {
      await app.listen({ host, port });
      const bound = app.server.address() as AddressInfo;
      tls?.watch(app.server as unknown as Server, clock, (fault) => {
        if (fault === null) log.write('info', 'the new certificate is in use');
        else log.write('error', `the previous certificate stays in use: ${fault.message}`, {}, fault);
      });
      const name = host.includes(':') ? `[${host}]` : host;
      address = `http${tls === null ? '' : 's'}://${name}:${String(bound.port)}`;
      return address;
    },
    routes: (api) => {
      openApiRoutes(api, publicUrl ?? '/');
      keyRoutes(api, { keys: stores.keys, isAgent: (id) => stores.agents.get(id) !== null });
    },
    close: async () => {
      // Endless answers, and clients that read too slowly, would keep the server open.
      const cutOff = clock.schedule(clock.nowMs() + LAST_ANSWERS_MS, () => app.server.closeAllConnections());
      await app.close();
      cutOff();
      await forwarder.close();
      tls?.close();
    },
  };
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
