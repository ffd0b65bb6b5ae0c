import * as z from 'zod';
import type { Api } from '../api/api.js';

/** `/healthz`: the process answers. `/readyz`: the engines are warm, calls may come. */
export function healthRoutes(api: Api, isReady: () => boolean): void {
  const tag = 'operation';
  api.add({
    ...{ method: 'GET', path: '/healthz', tag, gate: 'open', summary: 'The process answers' },
    answer: z.strictObject({ status: z.literal('ok') }),
    handle: () => ({ status: 'ok' as const }),
  });
  api.add({
    ...{ method: 'GET', path: '/readyz', tag, gate: 'open', summary: 'The engines are warm, calls may come' },
    description: '503 with `{"status": "warming up"}` until then.',
    answer: z.strictObject({ status: z.enum(['ready', 'warming up']) }),
    handle: ({ reply }) => {
      const ready = isReady();
      void reply.code(ready ? 200 : 503);
      return { status: ready ? 'ready' : 'warming up' } as const;
    },
  });
}
