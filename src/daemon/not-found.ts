import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

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
      void reply.code(404).send({ detail: `There is nothing at ${request.method} ${path}` });
      return;
    }
    const methods = [...allowed].sort().join(', ');
    void reply
      .code(405)
      .header('allow', methods)
      .send({ detail: `${request.method} is not possible here; possible: ${methods}` });
  });
}

/** Whether a path fits a route's; `:name` stands for any one segment. */
function fits(path: string, route: readonly string[]): boolean {
  const segments = path.split('/');
  return segments.length === route.length && route.every((part, at) => part.startsWith(':') || part === segments[at]);
}
