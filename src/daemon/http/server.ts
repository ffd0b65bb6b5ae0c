import Fastify, { type FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import type { TlsFiles } from './tls.js';
import { ParleyError } from '../../base/errors.js';
import type { Access } from './access.js';

/** Time limit for the headers of a request. */
const HEADERS_MS = 10_000;
/** Time limit for the body of a request … */
const BODY_MS = 15_000;
/** … plus the time for the announced bytes at this speed, for uploads over slow lines. */
const SLOWEST_BYTES_PER_MS = 64;
/** Time limit for a body without an announced length. */
const UNKNOWN_LENGTH_BODY_MS = 60_000;
/** Limits for reading a body that no endpoint needs. */
const UNREAD_BYTES = 67_108_864;
const UNREAD_MS = 30_000;
/** The interval between two checks of all connections. */
const LOOK_MS = 2000;
/** Time limit for the TLS handshake. */
const HANDSHAKE_MS = 10_000;

/**
 * Endpoints validate with zod (src/daemon/http). Fastify's own validation strips and coerces silently. Its schema
 * compilers, which are then unused, would take a tenth of the start time.
 */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

function noSchemas(): never {
  throw new Error('Routes must not have Fastify schemas: src/daemon/http validates requests');
}

/**
 * The HTTP server, with TLS if there are files for it. It disconnects slow and idle clients.
 * @param listener gets the requests in place of the application, which answers what its `routing` gets
 */
export function openServer(
  { limits }: Pick<Settings, 'limits'>,
  clock: Clock,
  tls: TlsFiles | null,
  listener: RequestListener,
): FastifyInstance {
  const longestMs = BODY_MS + Math.max(limits.knowledgeFileBytes, limits.bodyBytes) / SLOWEST_BYTES_PER_MS;
  const times = { headersTimeout: HEADERS_MS, connectionsCheckingInterval: LOOK_MS };
  const app = Fastify({
    bodyLimit: limits.bodyBytes,
    // The schema of an endpoint reports parameters that are too long.
    routerOptions: { maxParamLength: 10_000 },
    // Also the servers of further addresses, if the name of the host has several.
    serverFactory: (_listener, { keepAliveTimeout }) => {
      const server =
        tls === null
          ? createServer(times, listener)
          : createTlsServer({ ...times, ...tls.read(), handshakeTimeout: HANDSHAKE_MS }, listener);
      server.keepAliveTimeout = Number(keepAliveTimeout);
      server.requestTimeout = Math.max(longestMs, UNKNOWN_LENGTH_BODY_MS);
      return server;
    },
    schemaController: NO_SCHEMAS,
    genReqId: () => randomUUID(),
    // Fastify's own answer has another shape than the errors of the catalogue.
    return503OnClosing: false,
  });
  app.server.maxConnections = limits.connections;
  sendSlowBodiesAway(app, clock);
  nameRequests(app);
  refuseWhileClosing(app);
  readBodiesOut(app, clock);
  return app;
}

/** Refuses requests that reach open connections during the shutdown. */
function refuseWhileClosing(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook('preClose', (done) => {
    isClosing = true;
    done();
  });
  app.addHook('onRequest', (_request, _reply, done) => {
    done(isClosing ? new ParleyError('DAEMON_DRAINING') : undefined);
  });
}

/**
 * Delays an early answer, such as a refusal, until the rest of the body has been read and discarded, within limits. If
 * the server closed the connection before, TCP would reset it, and many clients would never see the answer (RFC 9112,
 * 9.6).
 */
function readBodiesOut(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    const announced = Number(raw.headers['content-length'] ?? 0);
    const hasBody = announced > 0 || raw.headers['transfer-encoding'] !== undefined;
    // An inner request has no message that could be complete.
    const isRead = raw.complete || raw.readableEnded;
    if (!hasBody || isRead || raw.destroyed || announced > UNREAD_BYTES) {
      done();
      return;
    }
    let left = UNREAD_BYTES;
    const count = (piece: Buffer): void => {
      left -= piece.length;
      if (left < 0) settle();
    };
    const settle = (): void => {
      cancel();
      raw.off('data', count).off('end', settle).off('close', settle);
      if (raw.complete) void reply.removeHeader('connection');
      done();
    };
    const cancel = clock.schedule(clock.nowMs() + UNREAD_MS, settle);
    raw.on('data', count).once('end', settle).once('close', settle).resume();
  });
}

/** Sets the header on the raw reply, because streams write their own headers. */
function nameRequests(app: FastifyInstance): void {
  app.addHook('onRequest', ({ id }, reply, done) => {
    reply.raw.setHeader('x-request-id', id);
    done();
  });
}

/** Limits the time for each body by its announced length. Node has only one limit for all requests. */
function sendSlowBodiesAway(app: FastifyInstance, clock: Clock): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const announced = Number(raw.headers['content-length'] ?? 0);
    const isChunked = raw.headers['transfer-encoding'] !== undefined;
    if (announced > 0 || isChunked) {
      const ms = isChunked ? UNKNOWN_LENGTH_BODY_MS : BODY_MS + announced / SLOWEST_BYTES_PER_MS;
      const cancel = clock.schedule(clock.nowMs() + ms, () => raw.socket.destroy());
      raw.once('end', cancel);
      raw.once('close', cancel);
    }
    done();
  });
}

/** Paths for pages of other origins, with a public key or a token. All other paths are for servers. */
const FOR_PAGES = [/^\/sessions\/token$/, /^\/webrtc\/offer$/, /^\/v1\/realtime\/calls$/, /^\/agents\/[^/]+\/embed$/];
/** How long browsers cache a preflight answer, in seconds. */
const MAX_AGE_S = 7_200;

/**
 * CORS (Fetch 3.2): lets scripts of allowed pages read the answers. Each endpoint also checks the key and its origin.
 * Call it after `countRequests`.
 */
export function answerPages(app: FastifyInstance, access: Access): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    const path = request.url.split('?')[0] ?? '';
    if (origin === undefined || !FOR_PAGES.some((route) => route.test(path))) {
      done();
      return;
    }
    void reply.header('vary', 'origin');
    try {
      access.origin(access.callerOf(request.raw));
    } catch (error) {
      // Without the header, the browser hides the answer from the page.
      if (!(error instanceof ParleyError)) throw error;
      done();
      return;
    }
    void reply.header('access-control-allow-origin', origin);
    void reply.header('access-control-expose-headers', 'x-request-id, retry-after, location');
    if (request.method !== 'OPTIONS') {
      done();
      return;
    }
    void reply.headers({
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization, content-type, x-openai-agents-sdk',
      'access-control-max-age': String(MAX_AGE_S),
    });
    void reply.code(204).send();
  });
}
