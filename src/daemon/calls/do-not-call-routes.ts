import * as z from 'zod';
import { isE164 } from '../../telephony/carriers/destinations.js';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import { type DoNotCallEntry, type DoNotCallList, comparableNumber } from '../../session/after-call/do-not-call.js';
import { faultAt } from '../http/replies.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';

const body = z.strictObject({ phone: z.string().trim().min(1).max(200) });
const entry = z
  .strictObject({
    phone: z.string(),
    source: z.enum(['rule', 'model', 'operator']),
    session_id: z.string().nullable(),
    created_at: z.int().describe('Unix seconds'),
  })
  .meta({ id: 'DoNotCallEntry', description: 'A number that agents do not call, with the source of the entry.' });

/** Numbers that agents do not call. */
export function doNotCallRoutes(api: Api, list: DoNotCallList, nowUnixMs: () => number): void {
  const path = '/do-not-call';
  const tag = 'do-not-call';

  api.add({
    id: 'listDoNotCall',
    method: 'GET',
    path,
    tag,
    summary: 'Numbers that agents do not call',
    answer: z.array(entry),
    examples: () => ({
      answer: [{ phone: '+12025550188', source: 'operator', session_id: null, created_at: 1_795_448_091 }],
    }),
    handle: async () => (await list.list()).map(replyOf),
  });

  api.add({
    id: 'addDoNotCall',
    method: 'POST',
    path,
    tag,
    summary: 'Add a number',
    body,
    answer: success,
    errors: ['NUMBER_INVALID'],
    examples: () => ({ body: { phone: '+12025550188' } }),
    handle: async ({ body: { phone } }) => {
      if (!isCallable(phone)) throw faultAt(['body', 'phone'], new ParleyError('NUMBER_INVALID', { number: phone }));
      await list.add({ number: phone, source: 'operator', sessionId: null, createdAt: unixSeconds(nowUnixMs()) });
      return { success: true };
    },
  });

  api.add({
    id: 'removeDoNotCall',
    method: 'DELETE',
    path,
    tag,
    summary: 'Remove a number',
    body,
    answer: success,
    errors: ['NOT_FOUND'],
    examples: () => ({ body: { phone: '+12025550188' } }),
    handle: async ({ body: { phone } }) => {
      if (await list.remove(phone)) return { success: true };
      throw new ParleyError('NOT_FOUND', { what: 'number on the do-not-call list', id: phone });
    },
  });
}

/** Whether the number can be called. A mistyped entry would protect no one. */
function isCallable(phone: string): boolean {
  const number = comparableNumber(phone);
  return isE164(number) || /^sips?:[^\s@]+@[^\s@]+$/.test(number);
}

function replyOf({ number, source, sessionId, createdAt }: DoNotCallEntry): z.output<typeof entry> {
  return { phone: number, source, session_id: sessionId, created_at: createdAt };
}
