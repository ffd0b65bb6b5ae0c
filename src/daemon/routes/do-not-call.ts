import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { parseWith } from '../../config/issues.js';
import { ParleyError } from '../../errors.js';
import type { DoNotCallEntry, DoNotCallList } from '../../session/do-not-call.js';
import type { Access } from '../access.js';

export interface DoNotCallRoutesOptions {
  access: Access;
  list: DoNotCallList;
  nowSeconds: () => number;
}

const numberSchema = z.strictObject({ phone: z.string().trim().min(1).max(200) });

/** Numbers that agents do not call. */
export function doNotCallRoutes(app: FastifyInstance, { access, list, nowSeconds }: DoNotCallRoutesOptions): void {
  const guarded = {
    onRequest: (request: FastifyRequest, _reply: unknown, done: () => void) => {
      access.privateKey(request.headers.authorization);
      done();
    },
  };

  app.get('/do-not-call', { ...guarded, handler: () => list.list().map(reply) });

  app.post('/do-not-call', {
    ...guarded,
    handler: (request) => {
      const { phone } = parseWith(numberSchema, request.body, ['body']);
      list.add({ number: phone, source: 'operator', sessionId: null, createdAt: nowSeconds() });
      return { success: true };
    },
  });

  app.delete('/do-not-call', {
    ...guarded,
    handler: (request) => {
      const { phone } = parseWith(numberSchema, request.body, ['body']);
      if (!list.remove(phone))
        throw new ParleyError('NOT_FOUND', { what: 'number on the do-not-call list', id: phone });
      return { success: true };
    },
  });
}

function reply({ number, source, sessionId, createdAt }: DoNotCallEntry): Record<string, unknown> {
  return { phone: number, source, session_id: sessionId, created_at: createdAt };
}
