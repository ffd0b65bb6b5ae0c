import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { Api } from '../http/api.js';
import type { CampaignProgress, Campaigns } from './campaigns.js';
import { EventStream } from '../http/event-stream.js';

const progressSchema = z
  .strictObject({
    status: z.enum(['idle', 'started', 'paused', 'finished', 'failed']),
    reason: z.string().nullable().describe('Why it has failed'),
    total: z.int().describe('Records'),
    not_started: z.int().describe('Not called yet'),
    started: z.int().describe('Called, and not settled: their calls are under way, or they are called again'),
    finished: z.int(),
    failed: z.int(),
    rejected: z.int().describe('Refused at the upload'),
    calls: z.int().describe('Calls that are under way'),
    next_call_at: z.number().nullable().describe('Unix seconds; null = that depends on what happens'),
    next_call_reason: z
      .string()
      .nullable()
      .describe(
        'Why the next call is not placed now, such as `outside the calling hours`; null = it is, or none is to be',
      ),
  })
  .meta({ id: 'CampaignProgress', description: 'How far a campaign is.' });

/** Clients that may watch at once. */
const MOST_STREAMS = 100;
const RETRY_S = 10;

/** How far campaigns are, as it changes. */
export function campaignProgressRoutes(api: Api, campaigns: Campaigns, clock: Clock): void {
  let streams = 0;

  api.add({
    id: 'watchCampaign',
    method: 'GET',
    path: '/campaigns/{campaign_id}/progress',
    tag: 'campaigns',
    summary: 'How far a campaign is, as it changes',
    description:
      'Server-sent events: `event: progress` with how far it is as JSON, at once and after each change, those that ' +
      'come close together in one. The stream ends when the campaign is finished or deleted.',
    params: { campaign_id: z.string().min(1).max(100) },
    content: 'text/event-stream',
    answer: progressSchema,
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
    handle: ({ params: { campaign_id: id }, reply }) => {
      campaigns.get(id);
      if (streams >= MOST_STREAMS) throw new ParleyError('STREAMS_FULL', { limit: MOST_STREAMS, retryAfterS: RETRY_S });
      streams++;
      void follow(campaigns, id, new EventStream(reply, clock)).finally(() => {
        streams--;
      });
      return reply;
    },
  });
}

/** Sends each state, or the latest one where the client is slower than the campaign. Never rejects. */
async function follow(campaigns: Campaigns, id: string, stream: EventStream): Promise<void> {
  let latest: CampaignProgress | null | undefined = campaigns.progress(id);
  let wake = (): void => undefined;
  const stop = campaigns.watch(id, (progress) => {
    latest = progress;
    wake();
  });
  stream.left.addEventListener('abort', () => wake(), { once: true });
  try {
    while (latest !== null && !stream.left.aborted) {
      if (latest === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else {
        const progress: CampaignProgress = latest;
        latest = undefined;
        await stream.send(JSON.stringify(replyOf(progress)), { event: 'progress' });
        if (progress.status === 'finished') break;
      }
    }
  } catch {
    // The client has gone.
  } finally {
    stop();
    stream.end();
  }
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
