import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import type { Api } from '../http/api.js';
import type { CallOwners } from '../nodes/call-owners.js';
import { commandResultSchema, commandSchema } from './commands.js';
import type { SessionControl } from './session-control.js';

export interface ControlRoutesOptions {
  control: SessionControl;
  owners: Pick<CallOwners, 'ofRunning'>;
  clock: Clock;
}

/** Longest time for which an answer waits, in seconds. */
const MAX_WAIT_S = 60;
const DEFAULT_WAIT_S = 30;

const idempotencyKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, 'Input should be 1 to 255 printable characters')
  .optional()
  .describe('Requests with the same key get the same answer, and the command is carried out once.');

const answer = z
  .strictObject({
    session_id: z.string(),
    status: z.enum(['done', 'pending']).describe('`pending`: it is not carried out yet.'),
    result: commandResultSchema,
  })
  .meta({ id: 'CommandAnswer' });

/** Commands to running sessions over REST. */
export function controlRoutes(api: Api, { control, owners, clock }: ControlRoutesOptions): void {
  api.add({
    id: 'controlSession',
    method: 'POST',
    scope: 'calls',
    path: '/sessions/{session_id}/control',
    tag: 'calls',
    summary: 'Steer a running session',
    description:
      'Answers when the command is carried out: a sentence is heard, the user is on hold. After `wait_s` it answers with ' +
      '202 and `pending`; the command goes on, and a request with the same `Idempotency-Key` waits for it again. A ' +
      'command that cannot be carried out is refused with a reason.',
    params: { session_id: z.string().min(1).max(200) },
    query: {
      wait_s: z.number().min(0).max(MAX_WAIT_S).default(DEFAULT_WAIT_S).describe('Longest wait, in seconds.'),
    },
    headers: { 'idempotency-key': idempotencyKey },
    body: commandSchema,
    answer,
    statuses: { 202: 'The command is not carried out yet.' },
    errors: ['NOT_FOUND', 'SESSION_CLOSED', 'COMMAND_REFUSED', 'IDEMPOTENCY_KEY_REUSED', 'NODE_UNREACHABLE'],
    examples: () => ({
      body: { type: 'say', text: 'A colleague is joining us.', when: 'after_sentence' },
      answer: {
        session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
        status: 'done',
        result: { text: 'A colleague is joining us.', heard: 'A colleague is joining us.', complete: true },
      },
    }),
    owner: ({ params }) => owners.ofRunning(params.session_id),
    handle: async ({ params: { session_id: id }, query, body, headers, key, reply }) => {
      const name = headers['idempotency-key'];
      const by = name === undefined ? null : { client: key?.id ?? '', key: name };
      const work = control.carryOut(id, body, by).then((result) => ({ result }));
      const done = await waitAtMost(clock, query.wait_s * 1000, work);
      if (done !== undefined) return { session_id: id, status: 'done' as const, result: done.result };
      void reply.status(202);
      return { session_id: id, status: 'pending' as const, result: null };
    },
  });
}
