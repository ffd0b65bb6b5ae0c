import * as z from 'zod';
import { ParleyError } from '../../errors.js';
import type { DoNotCallEntry, DoNotCallList } from '../../session/do-not-call.js';
import type { Api } from '../api/api.js';
import { success } from '../api/schemas.js';

const body = z.strictObject({ phone: z.string().trim().min(1).max(200) });
const entry = z
  .strictObject({
    phone: z.string(),
    source: z.enum(['rule', 'model', 'operator']),
    session_id: z.string().nullable(),
    created_at: z.int().describe('Unix seconds'),
  })
  .meta({ id: 'DoNotCallEntry', description: 'A number that agents do not call, and who wished so.' });

/** Numbers that agents do not call. */
export function doNotCallRoutes(api: Api, list: DoNotCallList, nowSeconds: () => number): void {
  const path = '/do-not-call';
  const tag = 'do-not-call';

  api.add({
    ...{ method: 'GET', path, tag, summary: 'Numbers that agents do not call' },
    answer: z.array(entry),
    handle: () => list.list().map(worded),
  });

  api.add({
    ...{ method: 'POST', path, tag, summary: 'Add a number', body, answer: success },
    errors: ['NUMBER_INVALID'],
    handle: ({ body: { phone } }) => {
      list.add({ number: phone, source: 'operator', sessionId: null, createdAt: nowSeconds() });
      return { success: true };
    },
  });

  api.add({
    ...{ method: 'DELETE', path, tag, summary: 'Remove a number', body, answer: success },
    errors: ['NOT_FOUND'],
    handle: ({ body: { phone } }) => {
      if (list.remove(phone)) return { success: true };
      throw new ParleyError('NOT_FOUND', { what: 'number on the do-not-call list', id: phone });
    },
  });
}

function worded({ number, source, sessionId, createdAt }: DoNotCallEntry): z.output<typeof entry> {
  return { phone: number, source, session_id: sessionId, created_at: createdAt };
}
