import Fastify, { type FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import type { TlsFiles } from './tls.js';
import { ParleyError } from '../../base/errors.js';
import type { Access } from './access.js';

/** A client has to have sent the head of its request within this. */
const HEADERS_MS = 10_000;
/** A client has to have sent a request's body within this, and … */
const BODY_MS = 15_000;
/** … so much longer for each byte that it announces: uploads may come over slow lines. */
const SLOWEST_BYTES_PER_MS = 64;
/** The same for a client that announces nothing. */
const UNTOLD_BODY_MS = 60_000;
/** So much of a body that is not wanted is read all the same, within this time. */
const UNREAD_BYTES = 67_108_864;
const UNREAD_MS = 30_000;
/** How often connections are looked at. */
const LOOK_MS = 2000;
/** TLS has to be agreed upon within this. */
const HANDSHAKE_MS = 10_000;

/**
 * Endpoints check what they take and give by zod (src/daemon/http): Fastify's own checks strip and coerce in silence, and
 * its compilers of schemas, which nothing uses then, are a tenth of the time that a start takes.
 */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

function noSchemas(): never {
  throw new Error('Routes have no Fastify schemas: their checks are those of src/daemon/http');
}

/** The HTTP server, with TLS where there are files for it. Clients that are slow or do nothing are sent away in time. */
export function openServer({ limits }: Pick<Settings, 'limits'>, clock: Clock, tls: TlsFiles | null): FastifyInstance {
  const longestMs = BODY_MS + Math.max(limits.knowledgeFileBytes, limits.bodyBytes) / SLOWEST_BYTES_PER_MS;
  const times = { headersTimeout: HEADERS_MS, connectionsCheckingInterval: LOOK_MS };
  const options = {
    bodyLimit: limits.bodyBytes,
    // What is too long for an endpoint is for its schema to say.
    routerOptions: { maxParamLength: 10_000 },
    requestTimeout: Math.max(longestMs, UNTOLD_BODY_MS),
    schemaController: NO_SCHEMAS,
    genReqId: () => randomUUID(),
  };
  const app =
    tls === null
      ? Fastify({ ...options, http: times })
      : (Fastify({
          ...options,
          https: { ...times, ...tls.read(), handshakeTimeout: HANDSHAKE_MS },
        }) as unknown as FastifyInstance);
  app.server.maxConnections = limits.connections;
  sendSlowBodiesAway(app, clock);
  nameRequests(app);
  readBodiesOut(app, clock);
  return app;
}

/**
 * An answer that comes before the whole body has been read, a refusal for one, waits until the rest has been thrown
 * away, within limits. A connection that is closed before is reset, and many clients then never see the answer
 * (RFC 9112, 9.6).
 */
function readBodiesOut(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    const announced = Number(raw.headers['content-length'] ?? 0);
    const hasBody = announced > 0 || raw.headers['transfer-encoding'] !== undefined;
    if (!hasBody || raw.complete || raw.destroyed || announced > UNREAD_BYTES) {
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

/** The header is set on the raw reply: streams write their own head. */
function nameRequests(app: FastifyInstance): void {
  app.addHook('onRequest', ({ id }, reply, done) => {
    reply.raw.setHeader('x-request-id', id);
    done();
  });
}

/** Node's own limit is one for all requests; this one is for what each of them announces. */
function sendSlowBodiesAway(app: FastifyInstance, clock: Clock): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const announced = Number(raw.headers['content-length'] ?? 0);
    const isChunked = raw.headers['transfer-encoding'] !== undefined;
    if (announced > 0 || isChunked) {
      const ms = isChunked ? UNTOLD_BODY_MS : BODY_MS + announced / SLOWEST_BYTES_PER_MS;
      const cancel = clock.schedule(clock.nowMs() + ms, () => raw.socket.destroy());
      raw.once('end', cancel);
      raw.once('close', cancel);
    }
    done();
  });
}

/** What pages of other origins ask, with a public key or a token; everything else is for servers. */
const FOR_PAGES = [/^\/sessions\/token$/, /^\/webrtc\/offer$/, /^\/agents\/[^/]+\/embed$/];
/** How long browsers cache a preflight, in seconds. */
const MAX_AGE_S = 7_200;

/**
 * CORS (Fetch 3.2): lets scripts of pages that may talk here read the answers. Each endpoint checks the key and its origin
 * anyway. To be called after `countRequests`.
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
      // Without the header the browser keeps the answer to itself.
      if (!(error instanceof ParleyError)) throw error;
      done();
      return;
    }
    void reply.header('access-control-allow-origin', origin);
    void reply.header('access-control-expose-headers', 'x-request-id, retry-after');
    if (request.method !== 'OPTIONS') {
      done();
      return;
    }
    void reply.headers({
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization, content-type',
      'access-control-max-age': String(MAX_AGE_S),
    });
    void reply.code(204).send();
  });
}
