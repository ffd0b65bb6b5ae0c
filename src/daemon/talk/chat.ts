import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { type AgentConfig, agentConfigSchema } from '../../agent/agent.js';
import {
  type AgentExtensions,
  agentExtensionsSchema,
  overriddenExtensions,
} from '../../agent/extensions/extensions.js';
import { movingSchema, REQUEST_NAMES } from '../../agent/extensions/old-place.js';
import { earlierMessages, messageSchema } from '../../agent/continuation.js';
import { faultOf, InvalidConfigError } from '../../schema/issues.js';
import { overriddenAgent } from '../../agent/override-agent.js';
import { restoreSecrets } from '../../agent/redact.js';
import type { ChatPiece } from '../../engine/chat.js';
import type { Engine } from '../../engine/engine.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import { wireMessage } from '../../session/record/call-history.js';
import type { AdmissionControl } from '../admission-control.js';
import type { AgentRegistry } from '../agents/agents.js';
import { callerOf, versionPinSchema } from '../agents/requested-agent.js';
import type { CallLog } from '../call-log/call-log.js';
import { agentFault } from '../agents/check-agent.js';
import { EventStream } from '../http/event-stream.js';
import type { Api } from '../http/api.js';

export const chatSchema = z.strictObject({
  agent: movingSchema(
    z
      .strictObject({
        agent_id: z.string().min(1).max(200).nullish(),
        agent_version: versionPinSchema.nullish(),
        agent_config: agentConfigSchema
          .nullish()
          .describe(
            "Overrides fields of the stored agent's configuration. Without an `agent_id` it is a temporary agent.",
          ),
        agent_extensions: agentExtensionsSchema.nullish().describe("Overrides the stored agent's extensions."),
        metadata: z.record(z.string(), z.unknown()).nullish(),
        include_metadata_in_prompt: z.boolean().nullish(),
      })
      .meta({ id: 'AgentCallData' }),
    REQUEST_NAMES,
  ),
  messages: z.array(messageSchema).max(10_000).describe('The conversation so far; [] = the agent starts it.'),
  end_of_session: z
    .boolean()
    .optional()
    .describe('Default false. True ends the conversation with this answer, or with its last message, and logs it.'),
});

export type ChatBody = z.output<typeof chatSchema>;

export interface ChatEndpointOptions {
  engine: Engine;
  agents: Pick<AgentRegistry, 'get' | 'forConversation'>;
  log: CallLog;
  admission: AdmissionControl;
  clock: Clock;
  nowUnixMs: () => number;
  places: ChatPlaces;
  onError: (error: Error) => void;
}

const CONFIG_PLACE = ['body', 'agent', 'agent_config'];
/** How long the stream of the last answer waits for the end of the session, so that the log has it when it closes. */
const LOG_MS = 1_000;

/** The answers in progress, of all endpoints for chats. */
export class ChatPlaces {
  readonly #max: number;
  #running = 0;

  /** @param max of concurrent answers */
  constructor(admission: AdmissionControl, max: number) {
    this.#max = max;
    admission.count({ chats: () => this.#running });
  }

  /** Returns a function that ends it, to be called once. @throws ParleyError SESSIONS_FULL */
  enter(): () => void {
    if (this.#running >= this.#max) throw new ParleyError('SESSIONS_FULL', { limit: this.#max });
    this.#running++;
    return () => void this.#running--;
  }
}

/** `POST /chat/completions`: an agent's answer as server-sent events. */
export class ChatEndpoint {
  readonly #options: ChatEndpointOptions;

  constructor(options: ChatEndpointOptions) {
    this.#options = options;
  }

  /** @throws ParleyError before anything has been sent. Later faults become events of the stream */
  async answer(body: ChatBody, reply: FastifyReply): Promise<FastifyReply> {
    const { admission, places, clock } = this.#options;
    admission.enter();
    const agent = await this.#agent(body.agent);
    const leave = places.enter();
    const id = randomUUID();
    const stream = new EventStream(reply, clock, { 'x-session-id': id });
    try {
      await this.#stream(id, body, agent, stream);
    } catch (error) {
      const fault = requestFault(error, body.agent);
      if (stream.left.aborted) reply.hijack();
      else if (stream.begun) await this.#sendError(stream, fault);
      else throw fault;
    } finally {
      leave();
      stream.end();
    }
    return reply;
  }

  async #stream(id: string, body: ChatBody, agent: Agent, stream: EventStream): Promise<void> {
    const { engine, nowUnixMs } = this.#options;
    const { agent: data, messages, end_of_session } = body;
    const { id: agentId, config, extensions, script } = agent;
    const created = unixSeconds(nowUnixMs());
    const metadata = data.metadata ?? {};
    const pieces = engine.chat({
      id,
      agent: config,
      extensions,
      metadata,
      signal: stream.left,
      endOfSession: end_of_session ?? false,
      messages: earlierMessages(messages),
      includeMetadataInPrompt: data.include_metadata_in_prompt ?? false,
      agentId,
      script,
    });
    let model = '';
    const chunk = (content: string, finish: 'stop' | null, more: object = {}): string => {
      const choices = [{ index: 0, delta: { content }, finish_reason: finish }];
      return JSON.stringify({
        id: `chatcmpl-${id}`,
        object: 'chat.completion.chunk',
        created,
        model,
        choices,
        ...more,
      });
    };
    try {
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
        const piece = next.value;
        if (piece.type === 'begun') {
          ({ model } = piece);
          if (end_of_session === true) await this.#log(id, agent, metadata);
        } else if (piece.type === 'text') {
          await stream.send(chunk(piece.text, null));
        } else if (piece.type === 'tools') stream.keepAlive();
        else if (piece.type === 'done') {
          await stream.send(chunk('', 'stop', { messages: piece.added.map(wireMessage) }));
          await stream.send('[DONE]');
          await this.#logged(pieces);
          return;
        }
      }
    } finally {
      // The client has left: does not wait for the work after the session.
      void pieces.return().catch(() => undefined);
    }
  }

  /** The work after the end of a session. It continues without the client if it takes longer. */
  async #logged(pieces: AsyncIterator<ChatPiece>): Promise<void> {
    await waitAtMost(this.#options.clock, LOG_MS, pieces.next());
  }

  async #log(
    sessionId: string,
    { id, version, config }: Agent,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const known = { sessionId, channel: 'chat' as const, agentId: id, agentVersion: version, agentConfig: config };
    await this.#options.log.begin({ ...known, metadata });
  }

  async #sendError(stream: EventStream, error: unknown): Promise<void> {
    const known = error instanceof ParleyError;
    if (!known) this.#options.onError(errorOf(error));
    const message = known ? error.message : 'An internal error occurred; the log of parley has details';
    const code = known ? error.code : 'INTERNAL';
    // The client may have left.
    await stream.send(JSON.stringify({ error: { message, code } })).catch(() => undefined);
  }

  /** @throws InvalidConfigError; ParleyError NOT_FOUND, AGENT_DISABLED */
  async #agent(asked: ChatBody['agent']): Promise<Agent> {
    const { agent_id: id, agent_config: given, agent_extensions: more, agent_version: version = null } = asked;
    if (id == null && given == null) {
      const msg = 'Field required: agent_id, agent_config or both';
      throw new InvalidConfigError([{ loc: ['body', 'agent', 'agent_id'], msg, type: 'missing' }]);
    }
    if (id == null && version !== null) {
      throw faultOf(['body', 'agent', 'agent_version'], 'Input should be null: only stored agents have versions');
    }
    const { agents } = this.#options;
    // Requests of one chat have nothing in common but what the client says of the person.
    const caller = id == null ? null : callerOf(agents.get(id).config, asked.metadata ?? {});
    const stored = id == null ? null : await agents.forConversation(id, { version, caller });
    if (stored?.config.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    const override = given == null ? null : restoreSecrets(given, stored?.config ?? null, CONFIG_PLACE);
    const config = overriddenAgent(stored?.config ?? {}, override);
    const extensions = overriddenExtensions(stored?.extensions, more);
    const [agentId, agentVersion] = [stored?.id ?? null, stored?.version ?? null];
    return { id: agentId, version: agentVersion, config, extensions, script: stored?.script };
  }
}

interface Agent {
  /** Null = a temporary agent. */
  id: string | null;
  version: number | null;
  config: AgentConfig;
  extensions: AgentExtensions | null;
  script: unknown;
}

/** An error about the request's configuration, with its place. */
function requestFault(error: unknown, { agent_config: given }: ChatBody['agent']): unknown {
  if (given == null || !(error instanceof ParleyError)) return error;
  const isConfig = error.httpStatus === 422 || error.code === 'NOT_FOUND';
  return isConfig ? agentFault(error, { config: CONFIG_PLACE }) : error;
}

const chunkSchema = z
  .strictObject({
    id: z.string().describe('`chatcmpl-` and the id of the session'),
    object: z.literal('chat.completion.chunk'),
    created: z.int().describe('Unix seconds'),
    model: z.string(),
    choices: z.array(
      z.strictObject({
        index: z.int(),
        delta: z.strictObject({ content: z.string() }),
        finish_reason: z.literal('stop').nullable(),
      }),
    ),
    messages: z
      .array(messageSchema)
      .optional()
      .describe('Only in the last chunk: the messages of the answer, including tool calls and their results'),
  })
  .meta({ id: 'ChatCompletionChunk', description: 'One event of an answer. The text `[DONE]` follows the last one.' });

/** `POST /chat/completions`: a text chat with an agent. */
export function chatRoutes(api: Api, chat: ChatEndpoint): void {
  api.add({
    id: 'createChatCompletion',
    method: 'POST',
    scope: 'calls',
    path: '/chat/completions',
    tag: 'chat',
    body: chatSchema,
    summary: "An agent's answer as a stream of text",
    description: 'Lines `data: {"choices": [{"delta": {"content": "…"}}]}`, then `data: [DONE]`. See docs/chat.md.',
    answer: chunkSchema,
    content: 'text/event-stream',
    errors: [
      ...(['NOT_FOUND', 'AGENT_DISABLED', 'SESSIONS_FULL', 'DAEMON_DRAINING'] as const),
      ...(['PROVIDER_FAILED', 'PROVIDER_REFUSED', 'PROVIDER_TIMEOUT'] as const),
    ],
    examples: () => ({
      body: {
        agent: { agent_id: 'the-crooked-fork' },
        messages: [{ role: 'user', content: 'When are you open?' }],
      },
      answer: {
        id: 'chatcmpl-703609b1-eb61-4def-b3b4-1d119c62140e',
        object: 'chat.completion.chunk',
        created: 1_795_448_092,
        model: 'scripted',
        choices: [{ index: 0, delta: { content: 'We are open' }, finish_reason: null }],
      },
    }),
    handle: ({ body, reply }) => chat.answer(body, reply),
  });
}
