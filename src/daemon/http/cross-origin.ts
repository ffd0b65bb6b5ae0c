import type { FastifyInstance } from 'fastify';
import { ParleyError } from '../../base/errors.js';
import type { Access } from './access.js';

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
