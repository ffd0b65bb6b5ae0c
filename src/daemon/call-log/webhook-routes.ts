import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import type { DeliveryStore, StoredDelivery } from '../../store/deliveries.js';
import type { Api } from '../http/api.js';

export interface WebhookRoutesOptions {
  deliveries: DeliveryStore;
  nowUnixMs: () => number;
  /** Called when a message becomes due. */
  wake: () => void;
}

const states = z.enum(['pending', 'delivered', 'failed']);
const seconds = z.number().describe('Unix seconds');
const deliverySchema = z
  .strictObject({
    id: z.string().describe('The header `webhook-id` of every attempt'),
    session_id: z.string(),
    url: z.string(),
    state: states.describe('`failed` messages get no more attempts'),
    attempts: z.int(),
    created_at: seconds,
    next_attempt_at: seconds.nullable(),
    delivered_at: seconds.nullable(),
    error: z.string().nullable().describe('Why the last attempt failed'),
  })
  .meta({ id: 'WebhookDelivery', description: 'The state of a message to a webhook.' });

const EXAMPLE: z.output<typeof deliverySchema> = {
  id: 'b5f1a2c3-7d8e-4f90-a1b2-c3d4e5f60718',
  session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
  url: 'https://www.example.com/calls',
  state: 'pending',
  attempts: 2,
  created_at: 1_795_448_151.5,
  next_attempt_at: 1_795_448_481.5,
  delivered_at: null,
  error: 'status 503',
};

/** Deliveries to webhooks: `session_data_webhook` of agents, and the operator's `callWebhook`. */
export function webhookRoutes(api: Api, { deliveries, nowUnixMs, wake }: WebhookRoutesOptions): void {
  const tag = 'webhooks';

  api.add({
    id: 'listDeliveries',
    method: 'GET',
    path: '/webhooks/deliveries',
    tag,
    summary: 'Messages to webhooks, newest first',
    description: 'Finished messages are kept for 30 days.',
    query: {
      session_id: z.string().max(200).optional(),
      state: states.optional(),
      limit: z.int().min(1).max(100).default(20),
      cursor: z.int().min(0).default(0).describe('The `next_cursor` of the previous page; 0 = the first page'),
    },
    pages: { cursor: 'cursor', items: 'deliveries', next: 'next_cursor' },
    answer: z.strictObject({ deliveries: z.array(deliverySchema), next_cursor: z.int().describe('0 at the end') }),
    examples: () => ({ answer: { deliveries: [EXAMPLE], next_cursor: 0 } }),
    handle: async ({ query: { session_id: sessionId = null, state = null, limit, cursor } }) => {
      const before = cursor === 0 ? null : cursor;
      const found = await deliveries.list({ sessionId, state, before, limit: limit + 1 });
      const page = found.slice(0, limit);
      return { deliveries: page.map(replyOf), next_cursor: found.length > limit ? (page.at(-1)?.seq ?? 0) : 0 };
    },
  });

  api.add({
    id: 'resendDelivery',
    method: 'POST',
    path: '/webhooks/deliveries/{id}/resend',
    tag,
    summary: 'Send a message again now',
    description: 'Works in any state and resets the attempts. Later messages of its session wait for it.',
    params: { id: z.string().min(1).max(100) },
    answer: deliverySchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: { ...EXAMPLE, attempts: 0, next_attempt_at: 1_795_448_300, error: null } }),
    handle: async ({ params: { id } }) => {
      const delivery = await deliveries.resend(id, nowUnixMs());
      if (delivery === null) throw new ParleyError('NOT_FOUND', { what: 'delivery', id });
      wake();
      return replyOf(delivery);
    },
  });
}

function replyOf(delivery: StoredDelivery): z.output<typeof deliverySchema> {
  const { id, sessionId, url, state, attempts, createdUnixMs, nextUnixMs, deliveredUnixMs, error } = delivery;
  const inSeconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
  return {
    id,
    session_id: sessionId,
    url,
    state,
    attempts,
    error,
    created_at: createdUnixMs / 1000,
    next_attempt_at: inSeconds(nextUnixMs),
    delivered_at: inSeconds(deliveredUnixMs),
  };
}
