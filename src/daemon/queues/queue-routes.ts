import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { CallOwners } from '../nodes/call-owners.js';
import { PromisedCall } from './call-backs.js';
import type { CallQueues, QueueState } from './call-queues.js';
import type { WaitingCall } from './waiting-call.js';

export interface QueueRoutesOptions {
  queues: CallQueues;
  /** The node of a waiting call. */
  owners: Pick<CallOwners, 'of'>;
  /** Of the engine's clock. */
  nowMs: () => number;
}

const queueSchema = z
  .strictObject({
    id: z.string().describe("The agent's id, or the number that has a queue of its own."),
    limit: z.int().nullable().describe('Null = the default.'),
    active: z.int().describe('Calls of the queue that an agent has answered.'),
    waiting: z.int().describe('Calls that wait, and call backs that keep their place.'),
    longest_wait: z.number().describe('Seconds that the first of them has waited; 0 = none waits.'),
  })
  .meta({ id: 'CallQueue', description: 'A queue of inbound calls on this node.' });
const entrySchema = z
  .strictObject({
    session_id: z.string(),
    kind: z.enum(['call', 'callback']).describe('`callback`: the caller has hung up and is called back in turn.'),
    from: z.string(),
    position: z.int().describe('In the queue, counted from 1.'),
    priority: z.number().describe('Minutes that it is ahead of those that came at the same time.'),
    waited: z.number().describe('Seconds.'),
    estimated_wait: z.number().nullable().describe('Seconds; null = unknown.'),
  })
  .meta({ id: 'QueuedCall', description: 'A call that waits for an agent.' });
const detailSchema = queueSchema
  .extend({ calls: z.array(entrySchema).describe('In the order of their turns.') })
  .meta({ id: 'CallQueueDetail', description: 'A queue with the calls that wait in it.' });

const EXAMPLE = { id: 'the-crooked-fork', limit: 20, active: 8, waiting: 1, longest_wait: 34.2 };
const EXAMPLE_CALL: z.output<typeof entrySchema> = {
  session_id: '007750c3-2f5a-4d0c-9a3e-1f0b9c9d1e55',
  kind: 'call',
  from: '+12025550151',
  position: 1,
  priority: 0,
  waited: 34.2,
  estimated_wait: 60,
};

const tag = 'queues';

/** The queues of inbound calls. */
export function queueRoutes(api: Api, { queues, owners, nowMs }: QueueRoutesOptions): void {
  const owner = ({ params }: { params: { session_id: string } }) => owners.of(params.session_id.split(' ')[0] ?? '');
  const entryOf = (waiting: WaitingCall | PromisedCall): z.output<typeof entrySchema> => {
    const { position, waitMs } = queues.outlookOf(waiting);
    return {
      session_id: waiting.id,
      kind: waiting instanceof PromisedCall ? 'callback' : 'call',
      from: waiting instanceof PromisedCall ? waiting.number : waiting.call.from,
      position,
      priority: waiting.priority,
      waited: secondsSince(waiting.sinceMs, nowMs()),
      estimated_wait: waitMs === null ? null : Math.round(waitMs / 1000),
    };
  };

  api.add({
    id: 'listQueues',
    method: 'GET',
    path: '/queues',
    tag,
    summary: 'Queues of inbound calls',
    description: 'Those of this node that have calls, answered or waiting. Each node has queues of its own.',
    answer: z.array(queueSchema),
    examples: () => ({ answer: [EXAMPLE] }),
    handle: () => queues.states.map((state) => replyOf(state, nowMs())),
  });

  api.add({
    id: 'getQueue',
    method: 'GET',
    path: '/queues/{queue_id}',
    tag,
    summary: 'A queue with its waiting calls',
    params: { queue_id: z.string().min(1).max(200) },
    answer: detailSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: { ...EXAMPLE, calls: [EXAMPLE_CALL] } }),
    handle: ({ params: { queue_id: id } }) => {
      const state = queues.states.find((one) => one.id === id);
      if (state === undefined) throw new ParleyError('NOT_FOUND', { what: 'queue with calls', id });
      return { ...replyOf(state, nowMs()), calls: state.waiting.map(entryOf) };
    },
  });

  api.add({
    id: 'prioritiseQueuedCall',
    method: 'POST',
    scope: 'calls',
    path: '/queued_calls/{session_id}/priority',
    tag,
    summary: 'Move a waiting call',
    params: { session_id: z.string().min(1).max(200) },
    body: z.strictObject({
      priority: z.number().min(-1440).max(1440).describe('In place of what the rules of the queue say.'),
    }),
    answer: entrySchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ body: { priority: 10 }, answer: { ...EXAMPLE_CALL, priority: 10 } }),
    owner,
    handle: ({ params: { session_id: id }, body: { priority } }) => entryOf(queues.prioritise(id, priority)),
  });

  api.add({
    id: 'removeQueuedCall',
    method: 'DELETE',
    scope: 'calls',
    path: '/queued_calls/{session_id}',
    tag,
    summary: 'End the wait of a call',
    description: 'The caller hears that nobody can take the call. A call back loses its place, not its record.',
    params: { session_id: z.string().min(1).max(200) },
    answer: success,
    errors: ['NOT_FOUND'],
    owner,
    handle: ({ params: { session_id: id } }) => {
      queues.remove(id);
      return { success: true };
    },
  });
}

function replyOf({ id, settings, active, waiting }: QueueState, nowMs: number): z.output<typeof queueSchema> {
  const sinceMs = Math.min(nowMs, ...waiting.map((one) => one.sinceMs));
  const longest_wait = secondsSince(sinceMs, nowMs);
  return { id, limit: settings.limit ?? null, active, waiting: waiting.length, longest_wait };
}

function secondsSince(sinceMs: number, nowMs: number): number {
  return Math.round(nowMs - sinceMs) / 1000;
}
