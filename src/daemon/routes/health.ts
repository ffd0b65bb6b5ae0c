import * as z from 'zod';
import type { Api } from '../api/api.js';

/** `/healthz`: the process answers. `/readyz`: the engines are warm, calls may come. */
export function healthRoutes(api: Api, state: () => 'ready' | 'warming up' | 'shutting down'): void {
  const tag = 'operation';
  api.add({
    ...{ id: 'getHealth', method: 'GET', path: '/healthz', tag, gate: 'open', summary: 'The process answers' },
    answer: z.strictObject({ status: z.literal('ok') }),
    handle: () => ({ status: 'ok' as const }),
  });
  api.add({
    ...{
      id: 'getReadiness',
      method: 'GET',
      path: '/readyz',
      tag,
      gate: 'open',
      summary: 'The engines are warm, calls may come',
    },
    answer: z.strictObject({ status: z.enum(['ready', 'warming up', 'shutting down']) }),
    statuses: { 503: 'Not yet, or not any more: they are warming up, or the daemon is shutting down' },
    handle: ({ reply }) => {
      const status = state();
      void reply.code(status === 'ready' ? 200 : 503);
      return { status };
    },
  });
}
