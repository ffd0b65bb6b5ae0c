import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { CallStore } from '../../store/calls.js';
import type { Api } from '../http/api.js';
import type { CheckedRequest, Shape } from '../http/endpoint.js';
import { EventStream } from '../http/event-stream.js';
import { type LiveEvents, statusOf } from './live-events.js';

export interface EventRoutesOptions {
  events: LiveEvents;
  calls: Pick<CallStore, 'get'>;
  clock: Clock;
}

/** Clients that may watch at once. */
const MOST_STREAMS = 100;
const RETRY_S = 10;

const headers = {
  'last-event-id': z
    .string()
    .regex(/^\d{1,16}$/, 'Input should be the id of an event')
    .optional()
    .describe('The id of the last event that the client has: it is sent what came since, as far as that is kept.'),
};

const eventShape = { session_id: z.string(), time: z.number().optional().describe('Unix seconds') };
const milliseconds = z.number().nullable();
/** The data of each kind of event, see `LiveEvents`. */
const eventSchema = z
  .union([
    z
      .strictObject({
        ...eventShape,
        call_id: z.string().nullable(),
        call_status: z.string(),
        ended: z.boolean(),
        channel: z.string(),
        direction: z.string().nullable(),
        agent_id: z.string().nullable(),
        campaign_id: z.string().nullable(),
        from: z.string().nullable(),
        to: z.string().nullable(),
        duration: z.number().nullable().describe('Seconds'),
        error_message: z.string().nullable(),
      })
      .meta({ id: 'StatusEvent', description: 'Event `status`: where a call stands.' }),
    z
      .strictObject({
        ...eventShape,
        role: z.enum(['user', 'agent']),
        text: z.string().nullable().describe('Null: the agent opts out of data collection'),
        is_final: z.boolean(),
        turn: z.int().optional(),
      })
      .meta({ id: 'TranscriptEvent', description: 'Event `transcript`: what is said.' }),
    z
      .strictObject({
        ...eventShape,
        turn: z.int(),
        utterance_latency: milliseconds,
        end_of_turn: milliseconds,
        llm_first: milliseconds,
        first_sentence: milliseconds,
        tts_first: milliseconds,
        interrupted: z.boolean(),
      })
      .meta({ id: 'MetricsEvent', description: 'Event `metrics`: milliseconds from the end of the user’s speech.' }),
    z
      .strictObject({
        ...eventShape,
        id: z.string(),
        name: z.string(),
        ok: z.boolean(),
        took_ms: z.number(),
        arguments: z.string().nullable(),
        result: z.string().nullable(),
      })
      .meta({ id: 'ToolEvent', description: 'Event `tool`: a call of a tool has ended.' }),
    z.strictObject({}).meta({ id: 'GapEvent', description: 'Event `gap`: events before this one are kept no more.' }),
  ])
  .meta({ id: 'CallEvent', description: 'What happens in a call; the event’s name tells the kind.' });

const EXAMPLE: z.output<typeof eventSchema> = {
  session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
  time: 1_795_448_095.21,
  role: 'user',
  text: 'A table for four, please.',
  is_final: true,
  turn: 1,
};

/** What happens in calls, as server-sent events. */
export function eventRoutes(api: Api, { events, calls, clock }: EventRoutesOptions): void {
  const shared = {
    method: 'GET',
    tag: 'events',
    headers,
    content: 'text/event-stream',
    answer: eventSchema,
    examples: () => ({ answer: EXAMPLE }),
    errors: ['STREAMS_FULL'],
  } as const;
  let streams = 0;

  const open = (
    { reply, headers: { 'last-event-id': last } }: CheckedRequest<Shape, Shape, z.ZodType>,
    sessionId: string | null,
  ) => {
    if (streams >= MOST_STREAMS) {
      throw new ParleyError('STREAMS_FULL', { limit: MOST_STREAMS, retryAfterS: RETRY_S });
    }
    streams++;
    const stream = new EventStream(reply, clock);
    void watch({ events, calls, stream, sessionId, lastId: last === undefined ? null : Number(last) }).finally(() => {
      streams--;
    });
    return reply;
  };

  api.add({
    ...shared,
    id: 'watchCalls',
    path: '/events',
    summary: 'What happens in all calls, as it happens',
    description: 'Events are `status`, `transcript`, `metrics`, `tool`, and `gap` where some were missed.',
    handle: (call) => open(call, null),
  });

  api.add({
    ...shared,
    id: 'watchCall',
    path: '/calls/{session_id}/events',
    summary: 'What happens in a call, as it happens',
    description: 'From its beginning, as far as that is kept; the stream ends when the call has ended.',
    params: { session_id: z.string().min(1).max(200) },
    errors: ['STREAMS_FULL', 'NOT_FOUND'],
    handle: (call) => {
      const { session_id: sessionId } = call.params;
      if (calls.get(sessionId) === null) throw new ParleyError('NOT_FOUND', { what: 'call', id: sessionId });
      return open(call, sessionId);
    },
  });
}

export interface WatcherOptions {
  events: LiveEvents;
  calls: Pick<CallStore, 'get'>;
  stream: EventStream;
  /** Null = of all calls. */
  sessionId: string | null;
  /** The id of the last event that the client has; null = it has none. */
  lastId: number | null;
}

/**
 * Sends a client events, from where it is to wherever they end: those that are still kept, then each as it comes. A
 * client that is so slow that events it has not got are kept no more is let go; it comes back and is told of the gap.
 */
export async function watch({ events, calls, stream, sessionId, lastId }: WatcherOptions): Promise<void> {
  try {
    stream.begin();
    let at = await startOf(lastId, { events, stream, sessionId });
    if (sessionId !== null && events.after(at, sessionId) === null) {
      const call = calls.get(sessionId);
      if (call !== null && (lastId === null || call.endedUs !== null)) {
        await stream.send(JSON.stringify({ session_id: sessionId, ...statusOf(call) }), { event: 'status' });
      }
      if (call === null || call.endedUs !== null) return;
    }
    while (!stream.left.aborted && !events.closed.aborted) {
      if (events.oldestId > at + 1) return;
      const event = events.after(at, sessionId);
      if (event === null) {
        // Events of other sessions need not be looked at again.
        at = events.newestId;
        await events.next(stream.left);
        continue;
      }
      at = event.id;
      await stream.send(event.data, { event: event.name, id: String(event.id) });
      if (sessionId !== null && event.name === 'status' && (JSON.parse(event.data) as { ended: boolean }).ended) return;
    }
  } catch {
    // The client has gone, or reads too slowly.
  } finally {
    stream.end();
  }
}

/** The id after which a client's events come. Sends `gap` where some of them are dropped. */
async function startOf(
  lastId: number | null,
  { events, stream, sessionId }: Pick<WatcherOptions, 'events' | 'stream' | 'sessionId'>,
): Promise<number> {
  const before = events.oldestId - 1;
  if (lastId === null) return sessionId === null ? events.newestId : before;
  if (lastId >= before) return Math.min(lastId, events.newestId);
  await stream.send('{}', { event: 'gap' });
  return before;
}
