import type { FastifyInstance } from 'fastify';

/** `/healthz`: the process answers. `/readyz`: the engines are warm, calls may come. */
export function healthRoutes(app: FastifyInstance, isReady: () => boolean): void {
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', (_request, reply) => {
    const ready = isReady();
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'warming up' });
  });
}
