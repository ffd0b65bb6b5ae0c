import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { ToolCall } from '../../agent/chat.js';
import type { Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { ChatPiece } from '../../engine/chat.js';
import type { Engine } from '../../engine/engine.js';
import type { ReplyShape } from '../../providers/llm/llm.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { AdmissionControl } from '../admission-control.js';
import type { VersionedAgent } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import { EventStream } from '../http/event-stream.js';
import { openAiError } from '../http/openai-error.js';
import type { ChatPlaces } from '../talk/chat.js';
import { type ChatCompletionRequest, parseChatRequest } from './chat-request.js';
import type { AgentModels } from './models.js';

export interface ChatCompletionsOptions {
  engine: Engine;
  models: AgentModels;
  log: CallLog;
  admission: AdmissionControl;
  places: ChatPlaces;
  clock: Clock;
  nowUnixMs: () => number;
  onError: (error: Error) => void;
}

/** How long the last answer waits for the end of the session, so that the log has it when the answer ends. */
const LOG_MS = 1_000;

/** One answer. */
interface Run {
  id: string;
  request: ChatCompletionRequest;
  agent: VersionedAgent;
  /** Of the answer, until it begins. */
  headers: Record<string, string>;
}

type FinishReason = 'stop' | 'length' | 'tool_calls';

/** `POST /v1/chat/completions`: an agent's answer in the form of OpenAI's. docs/openai-api.md has the details. */
export class ChatCompletions {
  readonly #options: ChatCompletionsOptions;

  constructor(options: ChatCompletionsOptions) {
    this.#options = options;
  }

  /** @throws ParleyError before anything has been sent. Later faults become events of the stream */
  async answer(body: unknown, reply: FastifyReply): Promise<FastifyReply> {
    const { admission, models, places, clock } = this.#options;
    admission.enter();
    const request = parseChatRequest(body);
    const agent = await models.find(request.model);
    const leave = places.enter();
    const id = randomUUID();
    const headers: Record<string, string> = { 'x-session-id': id };
    const stream = new EventStream(reply, clock, headers);
    const run = { id, request, agent, headers };
    try {
      if (request.isStream) await this.#stream(run, stream);
      else await this.#whole(run, stream.left, reply);
    } catch (error) {
      if (stream.left.aborted) reply.hijack();
      else if (stream.begun) await this.#sendError(stream, error);
      else throw placed(error);
    } finally {
      leave();
      stream.end();
    }
    return reply;
  }

  async #stream(run: Run, stream: EventStream): Promise<void> {
    const { request } = run;
    const base = this.#base(run, 'chat.completion.chunk');
    const send = (choices: object[], more: object = {}): Promise<void> =>
      stream.send(JSON.stringify({ ...base, choices, ...(request.includesUsage ? { usage: null } : {}), ...more }));
    const delta = (part: object, finish: FinishReason | null = null): Promise<void> =>
      send([{ index: 0, delta: part, logprobs: null, finish_reason: finish }]);
    let hasBegun = false;
    const begin = async (): Promise<void> => {
      if (!hasBegun) await delta({ role: 'assistant', content: '', refusal: null });
      hasBegun = true;
    };
    let finish: FinishReason = 'stop';
    await this.#pieces(run, stream.left, async (piece) => {
      if (piece.type === 'text') {
        await begin();
        await delta({ content: piece.text });
      } else if (piece.type === 'tools') stream.keepAlive();
      else if (piece.type === 'clientCalls') {
        await begin();
        finish = 'tool_calls';
        await delta({ tool_calls: piece.calls.map((call, index) => ({ index, ...wireCall(call) })) });
      } else if (piece.type === 'done') {
        await begin();
        await delta({}, piece.cutOff && finish === 'stop' ? 'length' : finish);
        if (request.includesUsage) await send([], { usage: usageOf(piece) });
        await stream.send('[DONE]');
      }
    });
  }

  async #whole(run: Run, left: AbortSignal, reply: FastifyReply): Promise<void> {
    let text = '';
    let calls: readonly ToolCall[] = [];
    let done: Extract<ChatPiece, { type: 'done' }> | null = null;
    await this.#pieces(run, left, (piece) => {
      if (piece.type === 'text') text += piece.text;
      else if (piece.type === 'clientCalls') calls = piece.calls;
      else if (piece.type === 'done') done = piece;
    });
    const finished = done as Extract<ChatPiece, { type: 'done' }> | null;
    const message = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      refusal: null,
      annotations: [],
      ...(calls.length > 0 ? { tool_calls: calls.map(wireCall) } : {}),
    };
    const finish: FinishReason = calls.length > 0 ? 'tool_calls' : finished?.cutOff === true ? 'length' : 'stop';
    void reply.headers(run.headers);
    await reply.send({
      ...this.#base(run, 'chat.completion'),
      choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
      usage: finished === null ? null : usageOf(finished),
    });
  }

  /** Passes on the pieces of the answer, one after the other. */
  async #pieces(
    { id, request, agent, headers }: Run,
    signal: AbortSignal,
    take: (piece: ChatPiece) => Promise<void> | void,
  ): Promise<void> {
    const { engine, log, clock } = this.#options;
    const { messages, context, form, metadata, endOfSession } = request;
    const { id: agentId, version: agentVersion, config, extensions = null, script } = agent;
    const pieces = engine.chat({
      id,
      agent: config,
      extensions,
      script,
      agentId,
      messages,
      context,
      form,
      metadata,
      endOfSession,
      signal,
    });
    try {
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
        const piece = next.value;
        if (piece.type === 'begun') Object.assign(headers, ignoredHeader(ignoredOf(request, piece.shapes)));
        if (piece.type === 'begun' && endOfSession) {
          const known = { agentId, agentVersion, agentConfig: config, metadata };
          await log.begin({ ...known, sessionId: id, channel: 'chat' });
        }
        await take(piece);
        if (piece.type !== 'done') continue;
        // The work after the end of a session. It continues without the client if it takes longer.
        await waitAtMost(clock, LOG_MS, pieces.next());
        return;
      }
    } finally {
      void pieces.return().catch(() => undefined);
    }
  }

  #base({ id, request: { model } }: Run, object: string): object {
    const created = unixSeconds(this.#options.nowUnixMs());
    return { id: `chatcmpl-${id}`, object, created, model, service_tier: 'default', system_fingerprint: null };
  }

  async #sendError(stream: EventStream, fault: unknown): Promise<void> {
    const known = fault instanceof ParleyError;
    if (!known) this.#options.onError(errorOf(fault));
    const { error } = openAiError(known ? fault : new ParleyError('INTERNAL'));
    // The client may have left.
    await stream.send(JSON.stringify({ error })).catch(() => undefined);
  }
}

/** Where the request has what the engine refuses. */
const PLACES: Readonly<Record<string, { name: string; type: string }>> = {
  clientTools: { name: 'tools', type: 'value_error' },
  responseFormat: { name: 'response_format', type: 'unsupported_value' },
};

function placed(error: unknown): unknown {
  const issue = error instanceof InvalidConfigError ? error.issues[0] : undefined;
  const place = issue?.loc[0] === 'form' ? PLACES[String(issue.loc[1])] : undefined;
  if (issue === undefined || place === undefined) return error;
  return new InvalidConfigError([{ loc: ['body', place.name], msg: issue.msg, type: place.type }]);
}

/** Members of the request without effect: also those that this agent's model cannot do. */
function ignoredOf({ ignored, form }: ChatCompletionRequest, shapes: readonly ReplyShape[]): readonly string[] {
  return form.maxTokens == null || shapes.includes('maxTokens') ? ignored : [...ignored, 'max_completion_tokens'];
}

function ignoredHeader(ignored: readonly string[]): Readonly<Record<string, string>> {
  const names = ignored.map((name) => name.replaceAll(/[^\w.-]/g, '?').slice(0, 64)).slice(0, 30);
  return names.length === 0 ? {} : { 'x-parley-ignored': names.join(', ') };
}

function wireCall({ id, name, arguments: args }: ToolCall): object {
  return { id, type: 'function', function: { name, arguments: args } };
}

function usageOf({ promptTokens, completionTokens }: Extract<ChatPiece, { type: 'done' }>): object {
  const total = promptTokens + completionTokens;
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total };
}
