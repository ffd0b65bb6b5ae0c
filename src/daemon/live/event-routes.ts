import * as z from 'zod';
import { queueFacts } from '../call-log/call-log-routes.js';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Cancel, Clock } from '../../base/clock.js';
import { parseWith } from '../../schema/issues.js';
import { ParleyError } from '../../base/errors.js';
import type { CallStore } from '../../store/calls.js';
import type { Api } from '../http/api.js';
import type { CallOwners } from '../nodes/call-owners.js';
import type { CheckedRequest, Shape } from '../http/endpoint.js';
import { EventStream } from '../http/event-stream.js';
import { type LiveEvents, statusOf, type Watched } from './live-events.js';
import { participantShape } from './participant-shape.js';

export interface EventRoutesOptions {
  events: LiveEvents;
  calls: Pick<CallStore, 'get'>;
  clock: Clock;
  owners: Pick<CallOwners, 'of'>;
  /** Brings the events of other nodes until it is canceled. */
  relayOthers: () => Cancel;
  app: FastifyInstance;
  /** The gate of endpoints for nodes. */
  nodesOnly: (request: IncomingMessage) => void;
}

/** The path of this node's events, for other nodes. */
export const NODE_EVENTS = '/nodes/self/events';

/** Maximum of concurrent watchers. */
const MOST_STREAMS = 100;
const RETRY_S = 10;

const headers = {
  'last-event-id': z
    .string()
    .regex(/^\d{1,16}$/, 'Input should be the id of an event')
    .optional()
    .describe(
      'The id of the last event that the client received. The stream continues after it if it is still stored.',
    ),
};

const eventShape = { session_id: z.string(), time: z.number().optional().describe('Unix seconds') };
const milliseconds = z.number().nullable();
const handedAgent = z.strictObject({ agent_id: z.string().nullable(), name: z.string() });
/** The data of each kind of event, see `LiveEvents`. */
const eventSchemas = {
  status: z
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
      queue: queueFacts.optional().describe('Only of a call that came to a queue.'),
    })
    .meta({ id: 'StatusEvent', description: 'Event `status`: the state of a call.' }),
  transcript: z
    .strictObject({
      ...eventShape,
      role: z.enum(['user', 'agent', 'participant']),
      text: z.string().nullable().describe('Null: the agent opts out of data collection'),
      is_final: z.boolean(),
      turn: z.int().optional(),
      participant_id: z.string().optional(),
      name: z.string().optional().describe('Of a participant'),
      whispered: z.boolean().optional().describe('The user does not hear it.'),
    })
    .meta({ id: 'TranscriptEvent', description: 'Event `transcript`: words of the user, the agent or a participant.' }),
  participant: z.strictObject({ ...eventShape, ...participantShape }).meta({
    id: 'ParticipantEvent',
    description: 'Event `participant`: somebody has joined the user and the agent, may do something else, or has left.',
  }),
  metrics: z
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
  tool: z
    .strictObject({
      ...eventShape,
      id: z.string(),
      name: z.string(),
      ok: z.boolean(),
      took_ms: z.number(),
      arguments: z.string().nullable(),
      result: z.string().nullable(),
    })
    .meta({ id: 'ToolEvent', description: 'Event `tool`: a tool call has ended.' }),
  speaking: z
    .strictObject({ ...eventShape, role: z.enum(['user', 'agent']), speaking: z.boolean() })
    .meta({ id: 'SpeakingEvent', description: 'Event `speaking`: a side starts or stops speaking.' }),
  interrupted: z.strictObject({ ...eventShape, by: z.enum(['user', 'program']) }).meta({
    id: 'InterruptedEvent',
    description: 'Event `interrupted`: the agent was stopped, by the user or by a command.',
  }),
  state: z
    .strictObject({
      ...eventShape,
      held: z.boolean().optional(),
      user_muted: z.boolean().optional(),
      agent_muted: z.boolean().optional(),
      agent_updated: z.boolean().optional(),
    })
    .meta({ id: 'StateEvent', description: 'Event `state`: what a command has changed.' }),
  step: z
    .strictObject({ ...eventShape, step: z.string() })
    .meta({ id: 'StepEvent', description: 'Event `step`: a step of the flow begins.' }),
  handover: z
    .strictObject({
      ...eventShape,
      from: handedAgent.describe('Who spoke so far.'),
      to: handedAgent.describe('Who speaks from now on.'),
      back: z.boolean().describe('It had the conversation before.'),
    })
    .meta({ id: 'HandoverEvent', description: 'Event `handover`: another agent goes on with the conversation.' }),
  tool_started: z
    .strictObject({ ...eventShape, id: z.string(), name: z.string(), arguments: z.string().nullable() })
    .meta({ id: 'ToolStartedEvent', description: 'Event `tool_started`: a tool call begins.' }),
  tool_progress: z
    .strictObject({ ...eventShape, id: z.string(), name: z.string(), text: z.string().nullable() })
    .meta({ id: 'ToolProgressEvent', description: 'Event `tool_progress`: a function in code reports progress.' }),
  gap: z
    .strictObject({})
    .meta({ id: 'GapEvent', description: 'Event `gap`: some events before this one are no longer stored.' }),
};
const eventSchema = z
  .union(Object.values(eventSchemas))
  .meta({ id: 'CallEvent', description: "An event of a call. The event's name gives its kind." });

const EXAMPLE: z.output<typeof eventSchema> = {
  session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
  time: 1_795_448_095.21,
  role: 'user',
  text: 'A table for four, please.',
  is_final: true,
  turn: 1,
};

/** Events of calls as server-sent events. */
export function eventRoutes(api: Api, options: EventRoutesOptions): void {
  const { events, calls, clock, owners, relayOthers, app, nodesOnly } = options;
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
    { reply, headers: { 'last-event-id': last } }: Pick<CheckedRequest<Shape, Shape, z.ZodType>, 'reply' | 'headers'>,
    watched: Watched,
  ) => {
    if (streams >= MOST_STREAMS) {
      throw new ParleyError('STREAMS_FULL', { limit: MOST_STREAMS, retryAfterS: RETRY_S });
    }
    streams++;
    const stream = new EventStream(reply, clock);
    const endRelay = watched === 'all' ? relayOthers() : (): void => undefined;
    void watch({ events, calls, stream, watched, lastId: last === undefined ? null : Number(last) }).finally(() => {
      streams--;
      endRelay();
    });
    return reply;
  };

  app.get(NODE_EVENTS, {
    onRequest: ({ raw }, _reply, done) => {
      nodesOnly(raw);
      done();
    },
    handler: (request, reply) => {
      const last = parseWith(z.object(headers), request.headers, ['header']);
      return open({ reply, headers: last }, 'this node');
    },
  });

  api.add({
    ...shared,
    id: 'watchCalls',
    path: '/events',
    summary: 'Watch the events of all calls',
    stream: { events: eventSchemas, last: null },
    description:
      'Events are `status`, `transcript`, `speaking`, `interrupted`, `metrics`, `tool_started`, `tool_progress`, `tool`, ' +
      '`state`, `step`, `handover`, `participant`, and `gap` if the client missed some. Those of all nodes.',
    handle: (call) => open(call, 'all'),
  });

  api.add({
    ...shared,
    id: 'watchCall',
    path: '/calls/{session_id}/events',
    summary: 'Watch the events of a call',
    stream: { events: eventSchemas, last: { member: 'ended', values: [true] } },
    description: 'Starts with the first stored event. The stream ends when the call has ended.',
    params: { session_id: z.string().min(1).max(200) },
    errors: ['STREAMS_FULL', 'NOT_FOUND', 'NODE_UNREACHABLE'],
    owner: ({ params }) => owners.of(params.session_id),
    handle: async (call) => {
      const { session_id: sessionId } = call.params;
      if ((await calls.get(sessionId)) === null) throw new ParleyError('NOT_FOUND', { what: 'call', id: sessionId });
      return open(call, { sessionId });
    },
  });
}

export interface WatcherOptions {
  events: LiveEvents;
  calls: Pick<CallStore, 'get'>;
  stream: EventStream;
  watched: Watched;
  /** The id of the last event that the client received; null = none. */
  lastId: number | null;
}

/**
 * Sends stored events to a client, then each new one. If the client reads so slowly that events are dropped before it
 * gets them, the stream ends; the client reconnects and receives a `gap`.
 */
export async function watch({ events, calls, stream, watched, lastId }: WatcherOptions): Promise<void> {
  try {
    stream.begin();
    const sessionId = typeof watched === 'string' ? null : watched.sessionId;
    let at = await startOf(lastId, { events, stream, watched });
    if (sessionId !== null && events.after(at, watched) === null) {
      const call = await calls.get(sessionId);
      if (call !== null && (lastId === null || call.endedUs !== null)) {
        await stream.send(JSON.stringify({ session_id: sessionId, ...statusOf(call) }), { event: 'status' });
      }
      if (call === null || call.endedUs !== null) return;
    }
    while (!stream.left.aborted && !events.closed.aborted) {
      if (events.oldestId > at + 1) return;
      const event = events.after(at, watched);
      if (event === null) {
        // Skips events of other sessions for good.
        at = events.newestId;
        await events.next(stream.left);
        continue;
      }
      at = event.id;
      await stream.send(event.data, { event: event.name, id: String(event.id) });
      if (sessionId !== null && event.name === 'status' && (JSON.parse(event.data) as { ended: boolean }).ended) return;
    }
  } catch {
    // The client has left or reads too slowly.
  } finally {
    stream.end();
  }
}

/** The id after which a client's events start. Sends `gap` if some of them were dropped. */
async function startOf(
  lastId: number | null,
  { events, stream, watched }: Pick<WatcherOptions, 'events' | 'stream' | 'watched'>,
): Promise<number> {
  const before = events.oldestId - 1;
  if (lastId === null) return typeof watched === 'string' ? events.newestId : before;
  // Ids of other nodes and of earlier processes begin at other times.
  if (lastId >= before && lastId <= events.newestId) return lastId;
  await stream.send('{}', { event: 'gap' });
  return before;
}
