import * as z from 'zod';
import type { FastifyRequest } from 'fastify';
import type { Api } from '../http/api.js';
import type { Settings } from '../../settings/settings.js';
import { type Access, isLoopbackName } from '../http/access.js';
import type { Client, Clients } from '../http/clients.js';

/** `/healthz`: liveness. `/readyz`: readiness, which means that the engines are warm. */
export function healthRoutes(api: Api, state: () => 'ready' | 'warming up' | 'shutting down'): void {
  const tag = 'operation';
  api.add({
    id: 'getHealth',
    method: 'GET',
    path: '/healthz',
    tag,
    gate: 'open',
    summary: 'Liveness: the process answers',
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
    summary: 'Readiness: the engines are warm',
    answer: z.strictObject({ status: z.enum(['ready', 'warming up', 'shutting down']) }),
    statuses: { 503: 'The engines are warming up, or the daemon is shutting down' },
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
    summary: 'Metrics for Prometheus',
    description: 'Text format 0.0.4. By default, requests from this machine need no key, all others a private key.',
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
 * Whether a request comes directly from this machine: not through a proxy on it, and not from a page whose host name
 * was pointed here (DNS rebinding).
 */
function isLocal({ hostname }: FastifyRequest, { address, isForwarded }: Client): boolean {
  return isLoopbackName(address) && !isForwarded && isLoopbackName(hostname);
}
