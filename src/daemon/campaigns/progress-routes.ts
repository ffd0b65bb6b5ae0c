import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { Api } from '../http/api.js';
import type { CampaignProgress, Campaigns } from './campaigns.js';
import { EventStream, sendProgress } from '../http/event-stream.js';

const progressSchema = z
  .strictObject({
    status: z.enum(['idle', 'started', 'paused', 'finished', 'failed']),
    reason: z.string().nullable().describe('Why it failed'),
    total: z.int().describe('Records'),
    not_started: z.int().describe('Records without a call'),
    started: z.int().describe('Records with a call in progress, or waiting for another call'),
    finished: z.int(),
    failed: z.int(),
    rejected: z.int().describe('Items that the upload refused'),
    calls: z.int().describe('Calls in progress'),
    next_call_at: z.number().nullable().describe('Unix seconds; null = unknown until something changes'),
    next_call_reason: z
      .string()
      .nullable()
      .describe(
        'Why the next call is not placed now, such as `outside the calling hours`; null = it is, or no call is left',
      ),
  })
  .meta({ id: 'CampaignProgress', description: 'The progress of a campaign.' });

/** Maximum of concurrent watchers. */
const MOST_STREAMS = 100;
const RETRY_S = 10;

/** The progress of campaigns as server-sent events. */
export function campaignProgressRoutes(api: Api, campaigns: Campaigns, clock: Clock): void {
  let streams = 0;

  api.add({
    id: 'watchCampaign',
    method: 'GET',
    path: '/campaigns/{campaign_id}/progress',
    tag: 'campaigns',
    summary: 'Watch the progress of a campaign',
    description:
      'Server-sent events: `event: progress` with the progress as JSON, at once and after each change. One event may ' +
      'combine several changes. The stream ends when the campaign is finished or deleted.',
    params: { campaign_id: z.string().min(1).max(100) },
    content: 'text/event-stream',
    answer: progressSchema,
    stream: { events: { progress: progressSchema }, last: { member: 'status', values: ['finished'] } },
    errors: ['NOT_FOUND', 'STREAMS_FULL'],
    examples: () => ({
      answer: {
        status: 'started',
        reason: null,
        total: 120,
        not_started: 80,
        started: 5,
        finished: 32,
        failed: 3,
        rejected: 1,
        calls: 4,
        next_call_at: 1_795_510_800,
        next_call_reason: 'outside the calling hours',
      },
    }),
    handle: async ({ params: { campaign_id: id }, reply }) => {
      const first = await campaigns.progress(id);
      if (streams >= MOST_STREAMS) throw new ParleyError('STREAMS_FULL', { limit: MOST_STREAMS, retryAfterS: RETRY_S });
      streams++;
      void sendProgress(new EventStream(reply, clock), first, {
        watch: (listener) => campaigns.watch(id, listener, first),
        reply: replyOf,
        isLast: ({ status }) => status === 'finished',
      }).finally(() => {
        streams--;
      });
      return reply;
    },
  });
}

function replyOf({
  status,
  reason,
  records,
  calls,
  nextCallMs,
  whyLater,
}: CampaignProgress): z.output<typeof progressSchema> {
  const { not_started, started, finished, failed, rejected } = records;
  return {
    status,
    reason,
    total: not_started + started + finished + failed,
    not_started,
    started,
    finished,
    failed,
    rejected,
    calls,
    next_call_at: nextCallMs === null ? null : nextCallMs / 1000,
    next_call_reason: whyLater,
  };
}
