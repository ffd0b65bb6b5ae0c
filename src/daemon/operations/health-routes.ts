import * as z from 'zod';
import type { FastifyRequest } from 'fastify';
import type { Api } from '../http/api.js';
import type { Settings } from '../../settings/settings.js';
import { type Access, isLoopbackName } from '../http/access.js';
import type { Client, Clients } from '../http/clients.js';

/** `/healthz`: the process answers. `/readyz`: the engines are warm, calls may come. */
export function healthRoutes(api: Api, state: () => 'ready' | 'warming up' | 'shutting down'): void {
  const tag = 'operation';
  api.add({
    id: 'getHealth',
    method: 'GET',
    path: '/healthz',
    tag,
    gate: 'open',
    summary: 'The process answers',
    answer: z.strictObject({ status: z.literal('ok') }),
    examples: () => ({ answer: { status: 'ok' } }),
    handle: () => ({ status: 'ok' as const }),
  });
  api.add({
    id: 'getReadiness',
    method: 'GET',
    path: '/readyz',
    tag,
    gate: 'open',
    summary: 'The engines are warm, calls may come',
    answer: z.strictObject({ status: z.enum(['ready', 'warming up', 'shutting down']) }),
    statuses: { 503: 'Not yet, or not any more: they are warming up, or the daemon is shutting down' },
    examples: () => ({ answer: { status: 'ready' } }),
    handle: ({ reply }) => {
      const status = state();
      void reply.code(status === 'ready' ? 200 : 503);
      return { status };
    },
  });
}

/** `/metrics`, for Prometheus. */
export function metricsRoutes(
  api: Api,
  { access, clients, who, text }: { access: Access; clients: Clients; who: Settings['metrics']; text: () => string },
): void {
  api.add({
    id: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    tag: 'operation',
    summary: 'Figures for Prometheus',
    description: 'Text format 0.0.4. By default without a key from this machine, with a private key from elsewhere.',
    gate: (request) => {
      if (who === 'key' || (who === 'local' && !isLocal(request, clients.of(request.raw)))) access.privateKey(request);
    },
    security: 'optional',
    answer: z.string(),
    content: 'text/plain',
    examples: () => ({ answer: '# TYPE parley_sessions gauge\nparley_sessions 3\n' }),
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
