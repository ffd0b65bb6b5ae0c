import * as z from 'zod';
import type { Api } from '../api/api.js';
import type { Erasure } from '../erasure.js';

const number = z.strictObject({ phone: z.string().min(1).max(100).describe('The whole number, such as +12025550103') });

/** Erases what is kept of a person. */
export function erasureRoutes(api: Api, erasure: Erasure): void {
  api.add({
    ...{
      id: 'erasePhone',
      method: 'POST',
      path: '/erase',
      tag: 'privacy',
      summary: 'Erase all that is kept of a phone number',
    },
    description:
      'Its calls with transcripts, recordings and traces, memories, sessions to go on from, webhooks and what campaigns ' +
      'know of it. Calls that go on are only counted (`going_on`). The do-not-call list keeps the number.',
    body: number,
    answer: z
      .strictObject({ success: z.boolean(), erased: z.record(z.string(), z.int()).describe('How many of what') })
      .meta({ id: 'Erased' }),
    errors: ['NUMBER_INVALID'],
    handle: async ({ body: { phone } }) => ({ success: true, erased: await erasure.erase(phone) }),
  });
}
