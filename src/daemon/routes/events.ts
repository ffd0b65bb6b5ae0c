import * as z from 'zod';
import type { Clock } from '../../clock/clock.js';
import { ParleyError } from '../../errors.js';
import type { CallStore } from '../../store/calls.js';
import type { Api } from '../api/api.js';
import type { Call, Shape } from '../api/endpoint.js';
import { EventStream } from '../event-stream.js';
import type { LiveEvents } from '../live/live-events.js';
import { watch } from '../live/watcher.js';

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

/** What happens in calls, as server-sent events. */
export function eventRoutes(api: Api, { events, calls, clock }: EventRoutesOptions): void {
  const shared = {
    method: 'GET',
    tag: 'events',
    headers,
    content: 'text/event-stream',
    errors: ['STREAMS_FULL'],
  } as const;
  let streams = 0;

  const open = (
    { reply, headers: { 'last-event-id': last } }: Call<Shape, Shape, z.ZodType>,
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
    ...{ ...shared, path: '/events', summary: 'What happens in all calls, as it happens' },
    description: 'Events are `status`, `transcript`, `metrics`, `tool`, and `gap` where some were missed.',
    handle: (call) => open(call, null),
  });

  api.add({
    ...{ ...shared, path: '/calls/{session_id}/events', summary: 'What happens in a call, as it happens' },
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
