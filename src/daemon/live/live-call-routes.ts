import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { type Cancel, type Clock, delay } from '../../base/clock.js';
import { abortAfter } from '../../base/deadlines.js';
import { ParleyError } from '../../base/errors.js';
import type { CallStore } from '../../store/calls.js';
import type { Api } from '../http/api.js';
import { EventStream } from '../http/event-stream.js';
import type { Forwarder } from '../http/forwarder.js';
import type { Nodes } from '../nodes/node-group.js';
import { type CallWatcher, liveCallOf, type LiveCalls } from './live-calls.js';
import { modeSchema } from './participant-shape.js';
import { CALL_STATES, type RunningCall, WARNINGS } from './running-call.js';

export interface LiveCallRoutesOptions {
  live: LiveCalls;
  calls: Pick<CallStore, 'open'>;
  nodes: Pick<Nodes, 'others'>;
  forwarder: Pick<Forwarder, 'ask'>;
  clock: Clock;
  /** Brings the calls of other nodes until it is canceled. */
  relayOthers: () => Cancel;
  app: FastifyInstance;
  /** The gate of endpoints for nodes. */
  nodesOnly: (request: IncomingMessage) => void;
}

/** This node's calls, for other nodes: the list, and as they change. */
const NODE_CALLS = '/nodes/self/live-calls';
export const NODE_CALLS_EVENTS = `${NODE_CALLS}/events`;

/** Maximum of concurrent watchers. */
const MOST_STREAMS = 100;
const RETRY_S = 10;
/** Changes of a call within this time are sent once. */
const PACE_MS = 250;
/** How long a list waits for another node. */
const NODE_MS = 2_000;

const activitySchema = z
  .strictObject({
    state: z.enum(CALL_STATES),
    state_since: z.number().describe('Unix seconds'),
    user_muted: z.boolean(),
    agent_muted: z.boolean(),
    participants: z
      .array(z.strictObject({ id: z.string(), name: z.string(), mode: modeSchema, held: z.boolean() }))
      .describe('People who have joined the user and the agent'),
    step: z.string().nullable().describe('The step of the flow; null = none'),
    tool: z.string().nullable().describe('The tool that runs'),
    topic: z
      .strictObject({
        tool: z.string().nullable().describe('The tool that was called last'),
        words: z.array(z.string()).nullable().describe("Key words of the user's latest turns"),
      })
      .describe('By rules, without a model. Null words: the agent opts out of data collection.'),
    user_said: z.string().nullable().describe('Their latest words; null with an agent that opts out'),
    agent_said: z.string().nullable(),
    sentiment: z
      .strictObject({ score: z.number().describe('-1 to 1'), label: z.enum(['negative', 'neutral', 'positive']) })
      .nullable()
      .describe("Of the user's last turn, by an English word list. Null for other languages and agents that opt out."),
    turns: z.int().describe("The user's turns so far"),
    response_ms: z.number().nullable().describe('Of the last answer'),
    median_response_ms: z.number().nullable().describe('Of the latest 50 answers'),
    warnings: z.array(
      z.strictObject({
        kind: z.enum(WARNINGS),
        since: z.number().describe('Unix seconds'),
        detail: z.string().nullable().describe('The tool, or the fault'),
      }),
    ),
  })
  .meta({ id: 'CallActivity', description: 'What goes on in a running call.' });

const liveCall = z
  .strictObject({
    session_id: z.string(),
    call_id: z.string().nullable(),
    call_status: z.string(),
    channel: z.enum(['phone', 'talk', 'webrtc', 'chat']),
    direction: z.enum(['inbound', 'outbound']),
    agent_id: z.string().nullable(),
    campaign_id: z.string().nullable(),
    from: z.string().nullable(),
    to: z.string().nullable(),
    ts: z.number().describe('The start in Unix seconds'),
    live: activitySchema.nullable().describe('Null: the node of the call does not answer'),
  })
  .meta({ id: 'LiveCall' });
const liveCalls = z.strictObject({ calls: z.array(liveCall) }).meta({ id: 'LiveCalls' });

/** The data of each kind of event. */
const eventSchemas = {
  calls: liveCalls,
  call: liveCall,
  ended: z
    .strictObject({ session_id: z.string() })
    .meta({ id: 'LiveCallEnded', description: 'Event `ended`: the call has ended.' }),
};
const eventSchema = z
  .union(Object.values(eventSchemas))
  .meta({ id: 'LiveCallEvent', description: "The event's name gives its kind: `calls`, `call` or `ended`." });

const EXAMPLE: RunningCall = {
  session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
  call_id: 'a2b0e0fc-ae46-44a6-a213-d55ac4341882',
  call_status: 'in-progress',
  channel: 'phone',
  direction: 'outbound',
  agent_id: 'the-crooked-fork',
  campaign_id: null,
  from: '+12025550100',
  to: '+12025550101',
  ts: 1_795_448_092.172,
  live: {
    state: 'agent_speaking',
    state_since: 1_795_448_120.4,
    user_muted: false,
    agent_muted: false,
    participants: [],
    step: null,
    tool: null,
    topic: { tool: 'book_table', words: ['table', 'tomorrow', 'seven'] },
    user_said: 'No, tomorrow at seven. That is ridiculous.',
    agent_said: 'A table for two on Sunday at seven?',
    sentiment: { score: -0.61, label: 'negative' },
    turns: 4,
    response_ms: 640,
    median_response_ms: 585,
    warnings: [{ kind: 'repeats', since: 1_795_448_119.7, detail: null }],
  },
};

/** Running calls with what goes on in them: a list, and a stream of all that changes. */
export function liveCallRoutes(api: Api, options: LiveCallRoutesOptions): void {
  const { live, calls, nodes, clock, relayOthers, app, nodesOnly } = options;
  let streams = 0;

  const open = (stream: EventStream, onlyOwn: boolean): void => {
    if (streams >= MOST_STREAMS) {
      throw new ParleyError('STREAMS_FULL', { limit: MOST_STREAMS, retryAfterS: RETRY_S });
    }
    streams++;
    const endRelay = onlyOwn ? (): void => undefined : relayOthers();
    void watch(stream, live.watch(onlyOwn), clock).finally(() => {
      streams--;
      endRelay();
    });
  };

  /** For other nodes. */
  const guarded = {
    onRequest: ({ raw }: FastifyRequest, _reply: unknown, done: () => void) => {
      nodesOnly(raw);
      done();
    },
  };
  app.get(NODE_CALLS, guarded, () => ({ calls: live.own() }));
  app.get(NODE_CALLS_EVENTS, guarded, (_request, reply) => {
    open(new EventStream(reply, clock), true);
    return reply;
  });

  api.add({
    id: 'listLiveCalls',
    method: 'GET',
    path: '/calls/live',
    tag: 'calls',
    summary: 'Calls that go on, of all nodes, oldest first',
    description: 'With what goes on in each: who speaks, the latest words, response times and warnings.',
    answer: liveCalls,
    examples: () => ({ answer: { calls: [EXAMPLE] } }),
    handle: async () => {
      const [stored, ...others] = await Promise.all([
        calls.open(),
        ...(await nodes.others()).map((nodeId) => callsOf(nodeId, options)),
      ]);
      const activities = new Map([...live.own(), ...others.flat()].map((call) => [call.session_id, call.live]));
      return { calls: stored.map((call) => liveCallOf(call, activities.get(call.sessionId) ?? null)) };
    },
  });

  api.add({
    id: 'watchLiveCalls',
    method: 'GET',
    path: '/calls/live/events',
    tag: 'events',
    summary: 'Watch what goes on in all running calls',
    description:
      'First `calls` with all of them, then `call` whenever one begins or changes, and `ended`. A call that changes often ' +
      'is sent at most four times a second. Those of all nodes. A client that connects again gets all calls again.',
    content: 'text/event-stream',
    stream: { events: eventSchemas, last: null },
    answer: eventSchema,
    examples: () => ({ answer: EXAMPLE }),
    errors: ['STREAMS_FULL'],
    handle: ({ reply }) => {
      open(new EventStream(reply, clock), false);
      return reply;
    },
  });
}

/** The calls of another node. None where it does not answer. */
async function callsOf(
  nodeId: string,
  { forwarder, clock }: Pick<LiveCallRoutesOptions, 'forwarder' | 'clock'>,
): Promise<readonly RunningCall[]> {
  const { signal, cancel } = abortAfter(clock, NODE_MS);
  try {
    const answer = await forwarder.ask(nodeId, { method: 'GET', url: NODE_CALLS }, signal);
    if (answer?.statusCode !== 200) return [];
    return ((await answer.body.json()) as { calls: RunningCall[] }).calls;
  } catch {
    return [];
  } finally {
    cancel();
  }
}

/** Sends all calls, then each that changes, to one client. */
async function watch(stream: EventStream, watcher: CallWatcher, clock: Clock): Promise<void> {
  const signal = AbortSignal.any([stream.left, watcher.closed]);
  try {
    await stream.send(JSON.stringify({ calls: watcher.all() }), { event: 'calls' });
    while (!signal.aborted) {
      await watcher.next(signal);
      for (const { id, call } of watcher.changes()) {
        if (call === null) await stream.send(JSON.stringify({ session_id: id }), { event: 'ended' });
        else await stream.send(JSON.stringify(call), { event: 'call' });
      }
      await delay(clock, PACE_MS, signal);
    }
  } catch {
    // The client has left or reads too slowly, or the daemon closes.
  } finally {
    watcher.close();
    stream.end();
  }
}
