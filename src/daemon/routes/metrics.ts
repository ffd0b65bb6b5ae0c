import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Settings } from '../../config/settings.js';
import { type Access, isLoopbackName } from '../access.js';
import type { Client, Clients } from '../clients.js';
import type { Api } from '../api/api.js';

/** `/metrics`, for Prometheus. */
export function metricsRoutes(
  api: Api,
  { access, clients, who, text }: { access: Access; clients: Clients; who: Settings['metrics']; text: () => string },
): void {
  api.add({
    ...{ id: 'getMetrics', method: 'GET', path: '/metrics', tag: 'operation', summary: 'Figures for Prometheus' },
    description: 'Text format 0.0.4. By default without a key from this machine, with a private key from elsewhere.',
    gate: (request) => {
      if (who === 'key' || (who === 'local' && !isLocal(request, clients.of(request.raw)))) access.privateKey(request);
    },
    security: 'optional',
    answer: z.string(),
    content: 'text/plain',
    handle: ({ reply }) => reply.type('text/plain; version=0.0.4; charset=utf-8').send(text()),
  });
}

/**
 * Whether a request was made on this machine, for this machine: not through a proxy on it, nor by a page whose name
 * was made to point here (DNS rebinding).
 */
function isLocal({ hostname }: FastifyRequest, { address, isForwarded }: Client): boolean {
  return isLoopbackName(address) && !isForwarded && isLoopbackName(hostname);
}
