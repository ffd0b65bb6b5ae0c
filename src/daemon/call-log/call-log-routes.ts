import * as z from 'zod';
import { agentConfigSchema } from '../../agent/agent.js';
import { wholeAgentConfig } from '../../agent/whole-agent.js';
import { type CallHistoryItem, QUEUE_EXITS } from '../../session/record/call-history.js';
import { fileNameOf } from '../../session/record/file-name.js';
import type { Access } from '../http/access.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { CallArchive } from './call-archive.js';
import { callFilter, callQuery } from './call-filter.js';
import { dispositionOf, fileReply } from '../http/file-reply.js';
import type { Clients } from '../http/clients.js';
import type { CallOwners } from '../nodes/call-owners.js';
import { type SignedUrls, signedQuery } from '../http/signed-urls.js';

export interface CallLogRoutesOptions {
  archive: CallArchive;
  access: Access;
  clients: Clients;
  links: SignedUrls;
  /** The node of a call has its files. */
  owners: Pick<CallOwners, 'of'>;
}

const mode = z.enum(['listen', 'whisper', 'barge_in', 'take_over']);
const percentiles = z
  .strictObject({ avg: z.number(), p50: z.number(), p95: z.number(), p99: z.number() })
  .meta({ id: 'Percentiles', description: 'Milliseconds.' });
const cost = z.union([
  z.strictObject({
    type: z.literal('stt'),
    provider: z.string(),
    credit: z.number(),
    model: z.string().nullable(),
    seconds: z.number(),
  }),
  z.strictObject({
    type: z.literal('llm'),
    provider: z.string(),
    credit: z.number(),
    model: z.string(),
    prompt_tokens: z.int(),
    cached_tokens: z.int().describe("Prompt tokens that were read from the vendor's cache"),
    cache_write_tokens: z.int().describe('Prompt tokens that were written to the cache'),
    completion_tokens: z.int(),
  }),
  z.strictObject({
    type: z.literal('tts'),
    provider: z.string(),
    credit: z.number(),
    model: z.string().nullable(),
    chars: z.int(),
  }),
  z.strictObject({ type: z.literal('voip'), provider: z.string(), credit: z.number(), minutes: z.number() }),
]);
const line = z
  .strictObject({
    received: z.int(),
    lost: z.int(),
    late: z.int(),
    duplicate: z.int(),
    reordered: z.int(),
    jitter_ms: z.number(),
    patience_ms: z.number(),
    sent: z.int(),
    reported_loss: z.number().nullable(),
    codec: z.string().nullable(),
    concealed_ms: z.number().nullable(),
    round_trip_ms: z.number().nullable(),
  })
  .meta({ id: 'LineMetrics', description: 'Packet statistics of the line; times in milliseconds.' });
const anything = z.record(z.string(), z.unknown());

/** How a call fares in a queue. */
export const queueFacts = z
  .strictObject({
    id: z.string(),
    position: z.int().describe('Its place when it came; 0 = it did not wait.'),
    priority: z.number(),
    waited: z.number().nullable().describe('Seconds; null = it still waits.'),
    left: z.enum(QUEUE_EXITS).nullable().describe('How it has left; null = it still waits.'),
  })
  .meta({ id: 'QueueFacts', description: 'How a call has fared in a queue.' });
const callHistory = z
  .strictObject({
    agent_id: z.string().nullable(),
    agent_version: z.int().exactOptional().describe('Only a call of a stored agent has it.'),
    agent_config: agentConfigSchema.describe(
      'The configuration of the call, with secrets as ***. Unset members are null, unset arrays []',
    ),
    duration: z.number().describe('Seconds'),
    ts: z.number().describe('Unix seconds; no two calls have the same'),
    chat: z.string().meta({ description: 'JSON text of an array of messages', contentMediaType: 'application/json' }),
    chars_used: z.int().describe('Characters sent to the text-to-speech provider'),
    session_id: z.string(),
    call_id: z.string().nullable(),
    cost_breakdown: z.array(cost),
    voip: anything.nullable().describe('`from`, `to`, `direction`, `transfer`'),
    recording: z.strictObject({ recording_url: z.string() }).nullable().describe('A link that is valid for an hour'),
    metadata: anything,
    function_calls: z.array(
      z.strictObject({ name: z.string(), params: z.unknown(), result: z.string(), run_after_call: z.boolean() }),
    ),
    call_status: z.string(),
    campaign_id: z.string().nullable(),
    error_message: z.string().nullable(),
    call_metrics: z.strictObject({
      utterance_latency: percentiles.nullable(),
      end_of_turn: percentiles.nullable(),
      llm_first: percentiles.nullable(),
      first_sentence: percentiles.nullable(),
      tts_first: percentiles.nullable(),
      turns: z.int(),
      interruptions: z.int().exactOptional().describe('Answers that the user has interrupted'),
      tool_errors: z.int().exactOptional().describe('Functions that failed'),
      line: line.nullable(),
    }),
    carrier_call_log: anything.nullable(),
    queue: queueFacts.exactOptional().describe('Only a call that came to a queue has it.'),
    listeners: z
      .array(
        z.strictObject({
          key_id: z.string(),
          name: z.string().exactOptional().describe('Calls of earlier versions have none.'),
          from: z.number(),
          to: z.number(),
        }),
      )
      .exactOptional()
      .describe('Who has listened in: the id of their key, their name, and seconds since the line opened.'),
    participants: z
      .array(
        z.strictObject({
          participant_id: z.string(),
          name: z.string(),
          channel: z.string(),
          key_id: z.string().nullable(),
          mode: mode.describe('The last one.'),
          modes: z
            .array(z.strictObject({ mode, from: z.number() }))
            .exactOptional()
            .describe('All that they have had, in order. Calls of earlier versions have none.'),
          from: z.number(),
          to: z.number(),
          left: z.enum(['left', 'removed', 'lost']).nullable().describe('`null`: the call ended with them.'),
        }),
      )
      .exactOptional()
      .describe('Who has joined the user and the agent: `from` and `to` in seconds since the line opened.'),
    steps: z
      .array(
        z.strictObject({
          step: z.string(),
          from: z.number(),
          to: z.number(),
          next: z.string().nullable().describe('`null`: the call ended in it.'),
        }),
      )
      .exactOptional()
      .describe('The steps of the flow that it was in: `from` and `to` in seconds since the line opened.'),
    agents: z
      .array(
        z.strictObject({
          agent_id: z.string().nullable(),
          name: z.string(),
          from: z.number(),
          to: z.number(),
          cost_breakdown: z.array(cost).describe("A part of the call's."),
        }),
      )
      .exactOptional()
      .describe('Which agent spoke when, in seconds since the line opened. Only a call that was handed over has it.'),
    eval: z
      .strictObject({
        run_id: z.string(),
        suite_id: z.string(),
        suite_version: z.int(),
        case: z.string(),
        mode: z.enum(['text', 'voice']),
        run: z.int(),
        passed: z.boolean(),
      })
      .exactOptional()
      .describe('Only a test call has it. Lists of calls have no test calls.'),
  })
  .meta({ id: 'CallHistory', description: 'The current state of a call, a session or a chat.' });

function exampleCall(): z.output<typeof callHistory> {
  const latency = (avg: number): z.output<typeof percentiles> => ({ avg, p50: avg, p95: avg, p99: avg });
  return {
    agent_id: 'the-crooked-fork',
    agent_version: 3,
    agent_config: wholeAgentConfig({ prompt: 'You take table bookings.', llm: { model: 'scripted' } }),
    duration: 38.2,
    ts: 1_795_448_092.172,
    chat: '[{"role":"assistant","content":"Good evening."},{"role":"user","content":"A table for four, please."}]',
    chars_used: 13,
    session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
    call_id: 'a2b0e0fc-ae46-44a6-a213-d55ac4341882',
    cost_breakdown: [
      { type: 'stt', provider: 'embedded', credit: 0, model: null, seconds: 38.2 },
      { type: 'tts', provider: 'flite', credit: 0, model: null, chars: 13 },
      { type: 'voip', provider: 'twilio', credit: 1.4, minutes: 1 },
    ],
    voip: { from: '+12025550100', to: '+12025550101', direction: 'outbound', transfer: null },
    recording: {
      recording_url:
        'https://calls.example.com/call-logs/007750c3-70b3-468b-8ed2-58d80e641cf6/recording?expires=1795451693&signature=gBd32dZy',
    },
    metadata: { name: 'Ann' },
    function_calls: [],
    call_status: 'user-ended',
    campaign_id: null,
    error_message: null,
    call_metrics: {
      utterance_latency: latency(640),
      end_of_turn: latency(410),
      llm_first: latency(420),
      first_sentence: latency(430),
      tts_first: latency(560),
      turns: 1,
      line: null,
    },
    carrier_call_log: null,
  };
}

const params = { session_id: z.string().min(1).max(200) };
const pageQuery = {
  limit: z.int().min(1).max(100).default(20),
  start_after_ts: z.number().min(0).max(1e12).exactOptional().describe('`next_cursor` of the previous page'),
  ...callQuery,
};
const linkQuery = {
  expires: signedQuery.expires.exactOptional(),
  signature: signedQuery.signature.exactOptional(),
  redirect: z
    .literal('0')
    .exactOptional()
    .describe(
      'The recording itself, also where the setting `files` has `redirect=1`; for pages that may not load others.',
    ),
};

const tag = 'call logs';

/** Past and current calls, with their recordings and traces. */
export function callLogRoutes(api: Api, options: CallLogRoutesOptions): void {
  callRoutes(api, options);
  fileRoutes(api, options);
}

/** Lists, reads and deletes calls. */
function callRoutes(api: Api, { archive, clients, links, owners }: CallLogRoutesOptions): void {
  api.add({
    id: 'listCallLogs',
    method: 'GET',
    path: '/call-logs',
    tag,
    summary: 'Calls, newest first',
    query: pageQuery,
    description: 'Pages neither skip nor repeat a call, even while calls are added. `next_cursor` is 0 at the end.',
    pages: { cursor: 'start_after_ts', items: 'histories', next: 'next_cursor' },
    answer: z.strictObject({ histories: z.array(callHistory), next_cursor: z.number() }).meta({ id: 'CallHistories' }),
    examples: () => ({ answer: { histories: [exampleCall()], next_cursor: 0 } }),
    handle: async ({ query: { limit, start_after_ts: after = 0, ...query }, request, reply }) => {
      const beforeUs = after === 0 ? null : Math.round(after * 1e6);
      const page = await archive.page(callFilter(query), limit, beforeUs, links.baseOf(clients.of(request.raw)));
      return reply.type('application/json; charset=utf-8').send(page);
    },
  });

  api.add({
    id: 'getCallLog',
    method: 'GET',
    path: '/call-logs/{session_id}',
    tag,
    summary: 'A call',
    params,
    answer: callHistory,
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: exampleCall() }),
    handle: async ({ params: { session_id: id }, request }) =>
      replyOf(archive.shown(await archive.get(id), links.baseOf(clients.of(request.raw)))),
  });

  api.add({
    id: 'deleteCallLog',
    method: 'DELETE',
    scope: 'admin',
    path: '/call-logs/{session_id}',
    tag,
    params,
    summary: 'Delete a call with its recording and its trace',
    answer: success,
    errors: ['NOT_FOUND', 'CALL_GOES_ON'],
    owner: ({ params: { session_id: id } }) => owners.of(id),
    handle: async ({ params: { session_id: id } }) => {
      await archive.remove(id);
      return { success: true };
    },
  });
}

/** Lifetime of a link to the store that a client is redirected to, in seconds: a player asks for ranges again and again. */
const REDIRECT_S = 3600;

/** The files of a call: its recording and its event log. */
function fileRoutes(api: Api, { archive, access, links, owners }: CallLogRoutesOptions): void {
  api.add({
    id: 'getRecording',
    method: 'GET',
    path: '/call-logs/{session_id}/recording',
    tag,
    params,
    query: linkQuery,
    summary: 'The recording of a call: the user left, the agent right',
    description:
      'Needs a private key, or the link in the call, which is signed and expires. Supports range requests. With ' +
      '`redirect=1` in the setting `files`, the answer for a recording in the store is a redirect to it.',
    gate: (request) => {
      if (/[?&]signature=/.test(request.url)) links.check(request.url);
      else access.privateKey(request, 'read');
    },
    security: 'optional',
    content: 'audio/wav',
    errors: ['NOT_FOUND', 'LINK_INVALID', 'FILE_STORE_FAILED', 'FILE_STORE_REFUSED', 'NODE_UNREACHABLE'],
    owner: ({ params: { session_id: id } }) => owners.of(id),
    handle: async ({ params: { session_id: id }, query, request, reply }) => {
      const call = await archive.get(id);
      const [contentType, name] = ['audio/wav', `${fileNameOf(id)}.wav`];
      const link =
        request.method === 'GET' && query.redirect === undefined
          ? await archive.files.redirect(call, { contentType, disposition: dispositionOf(name) }, REDIRECT_S)
          : null;
      if (link !== null) return reply.header('cache-control', 'private, no-store').redirect(link, 307);
      const file = await archive.files.recording(call);
      return fileReply(request, reply, { file, contentType, name, what: 'recording of the session', id });
    },
  });

  api.add({
    id: 'getTrace',
    method: 'GET',
    path: '/call-logs/{session_id}/trace',
    tag,
    params,
    summary: 'The event log of a session, for parley replay',
    description: 'Lines of JSON. For a running session, the events so far.',
    content: 'application/x-ndjson',
    errors: ['NOT_FOUND', 'FILE_STORE_FAILED', 'FILE_STORE_REFUSED', 'NODE_UNREACHABLE'],
    owner: ({ params: { session_id: id } }) => owners.of(id),
    handle: async ({ params: { session_id: id }, request, reply }) =>
      fileReply(request, reply, {
        file: await archive.trace(id),
        contentType: 'application/x-ndjson',
        name: `${fileNameOf(id)}.jsonl`,
        what: 'trace of the session',
        id,
      }),
  });
}

/** The item with the type of the schema. */
function replyOf(item: CallHistoryItem): z.output<typeof callHistory> {
  return { ...item, cost_breakdown: [...item.cost_breakdown], function_calls: [...item.function_calls] };
}
