import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ParleyError } from '../errors.js';
import { refuse } from './replies.js';

/**
 * Answers what no route takes: 405 with the methods that there are where only the method is wrong (RFC 9110, 15.5.6),
 * 404 elsewhere. To be called before the routes are made.
 */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const routes: { segments: string[]; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ segments: url.split('/'), methods: [method].flat() });
  });
  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?')[0] ?? '';
    const allowed = new Set(routes.filter(({ segments }) => fits(path, segments)).flatMap(({ methods }) => methods));
    if (allowed.size === 0) {
      refuse(reply, new ParleyError('ROUTE_UNKNOWN', { method: request.method, path }));
      return;
    }
    const methods = [...allowed].sort().join(', ');
    void reply.header('allow', methods);
    refuse(reply, new ParleyError('METHOD_NOT_ALLOWED', { method: request.method, allowed: methods }));
  });
}

/** Whether a path fits a route's; `:name` stands for any one segment. */
function fits(path: string, route: readonly string[]): boolean {
  const segments = path.split('/');
  return segments.length === route.length && route.every((part, at) => part.startsWith(':') || part === segments[at]);
}
