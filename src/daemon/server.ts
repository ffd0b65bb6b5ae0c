import Fastify, { type FastifyInstance } from 'fastify';
import type { Clock } from '../clock/clock.js';
import type { Settings } from '../config/settings.js';
import type { TlsFiles } from './tls.js';

/** A client has to have sent the head of its request within this. */
const HEADERS_MS = 10_000;
/** A client has to have sent a request's body within this, and … */
const BODY_MS = 15_000;
/** … so much longer for each byte that it announces: uploads may come over slow lines. */
const SLOWEST_BYTES_PER_MS = 64;
/** The same for a client that announces nothing. */
const UNTOLD_BODY_MS = 60_000;
/** How often connections are looked at. */
const LOOK_MS = 2000;
/** TLS has to be agreed upon within this. */
const HANDSHAKE_MS = 10_000;

/**
 * Endpoints check what they take and give by zod (src/daemon/api): Fastify's own checks strip and coerce in silence, and
 * its compilers of schemas, which nothing uses then, are a tenth of the time that a start takes.
 */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

function noSchemas(): never {
  throw new Error('Routes have no Fastify schemas: their checks are those of src/daemon/api');
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
  return app;
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
