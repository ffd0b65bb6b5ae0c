import type { Clock } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import { parseObject, type JsonObject, numberOf, objectOf, textOf } from '../../wire/json.js';
import { serverSentEvents } from '../../wire/server-sent-events.js';
import { failed, refused, withoutSecrets } from '../../wire/vendor-error.js';
import { VendorHttp, type VendorReply } from '../../wire/vendor-http.js';
import type { LlmPiece, LlmProvider, LlmRequest, LlmUsage } from '../llm.js';
import { vendorParameters } from '../tool-schema.js';
import type { ChatMessage, ToolCall } from '../../../agent/chat.js';
import { parseJson } from '../../../base/json.js';

export interface AnthropicOptions {
  apiKey: string;
  /** The API's root. Default `https://api.anthropic.com`. */
  baseUrl?: string;
  /** The vendor's name of a model id. Default: the id. */
  modelName?: (modelId: string) => string;
  /** From the request to the first event of the reply, connecting included. Default 15,000 ms. */
  firstByteTimeoutMs?: number;
  /** Maximum gap between two events of the reply, keep-alive events included. Default 10,000 ms. */
  idleTimeoutMs?: number;
  /** Clock for `warmUp`; requests bring their own. Default: real time. */
  clock?: Clock;
}

/** The later version 2026-10-21 does not accept a temperature, which agents set. */
const API_VERSION = '2023-06-01';
/** Maximum length of a reply, in characters. */
const MAX_REPLY_CHARS = 4_194_304;
/** Stream errors that a retry would repeat. */
const REFUSALS = new Set([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
]);

/** A model behind Anthropic's Messages API. All sessions share keep-alive connections. */
export class AnthropicProvider implements LlmProvider {
  readonly name = 'anthropic';
  readonly virtualTime = false;
  readonly shapes = ['maxTokens'] as const;
  readonly #options: AnthropicOptions & { clock: Clock };
  readonly #http: VendorHttp;
  /** What models take that have refused a parameter. */
  readonly #support = new Map<string, ModelSupport>();

  /** @throws ParleyError CONFIG_INVALID for an invalid address */
  constructor(options: AnthropicOptions) {
    this.#options = { clock: new RealClock(), ...options };
    const { apiKey, baseUrl = 'https://api.anthropic.com' } = options;
    this.#http = new VendorHttp({
      provider: this.name,
      baseUrl,
      secrets: [apiKey],
      headers: { 'x-api-key': apiKey, 'anthropic-version': API_VERSION },
    });
  }

  /** Opens a connection in advance. Rejects if the key is refused. */
  async warmUp(): Promise<void> {
    const { clock, firstByteTimeoutMs = 15_000 } = this.#options;
    const deadlines = new Deadlines(clock, this.name, new AbortController().signal);
    deadlines.within(firstByteTimeoutMs);
    try {
      const reply = await this.#http.send({ method: 'GET', path: '/v1/models?limit=1', signal: deadlines.signal });
      for await (const chunk of reply.body) void chunk;
    } catch (error) {
      const status = error instanceof ParleyError ? error.details['status'] : undefined;
      // A server without a model list is reachable all the same.
      if (status === undefined || status === 401 || status === 403) throw error;
    } finally {
      deadlines.end();
    }
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    request.signal.throwIfAborted();
    const { firstByteTimeoutMs = 15_000, idleTimeoutMs = 10_000 } = this.#options;
    const deadlines = new Deadlines(request.clock, this.name, request.signal);
    try {
      deadlines.within(request.pieceTimeoutMs ?? firstByteTimeoutMs);
      const { body } = await this.#open(request, deadlines.signal);
      const reply = new AnthropicReply();
      let chars = 0;
      for await (const event of readEvents(body, reply)) {
        if (event.error !== undefined) throw this.#failure(event.error);
        // Only the server's silence counts, not the time the reader takes between two pieces.
        deadlines.pause();
        chars += event.text.length;
        if (chars > MAX_REPLY_CHARS) throw failed(this.name, 'the reply is too long');
        if (event.text !== '') yield { type: 'text', text: event.text };
        if (event.usage !== undefined) yield { type: 'usage', ...event.usage };
        deadlines.within(request.pieceTimeoutMs ?? idleTimeoutMs);
      }
      if (reply.stopReason === 'refusal' && chars === 0) throw failed(this.name, 'the model refused to answer');
      // A call truncated by the token limit is dropped.
      if (reply.stopReason !== 'max_tokens') for (const call of reply.calls) yield { type: 'toolCall', call };
    } catch (error) {
      if (deadlines.signal.aborted) throw deadlines.signal.reason;
      throw error instanceof ParleyError ? error : failed(this.name, reasonOf(error), error);
    } finally {
      deadlines.end();
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  /** Sends the request; on a refusal retries without the refused parameter. */
  async #open(request: LlmRequest, signal: AbortSignal): Promise<VendorReply> {
    const model = this.#options.modelName?.(request.model) ?? request.model;
    for (;;) {
      const support = this.#support.get(model) ?? supportOf(model);
      try {
        return await this.#http.send({
          method: 'POST',
          path: '/v1/messages',
          signal,
          headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
          body: requestBody(request, model, support),
        });
      } catch (error) {
        const isRefusal = error instanceof ParleyError && error.details['status'] === 400;
        const next = isRefusal ? withoutRefused(support, error.message) : null;
        if (next === null) throw error;
        this.#support.set(model, next);
      }
    }
  }

  #failure({ type, message }: { type: string; message: string }): ParleyError {
    const reason = withoutSecrets(`${type}: ${message}`, [this.#options.apiKey]);
    return REFUSALS.has(type) ? refused(this.name, reason) : failed(this.name, reason);
  }
}

/** The events of a stream up to the end of the message. Throws if the stream breaks off or contains invalid JSON. */
async function* readEvents(body: AsyncIterable<Buffer>, reply: AnthropicReply): AsyncGenerator<AnthropicEvent> {
  let ended = false;
  // Reads to the end so that the connection can be reused.
  for await (const data of serverSentEvents(body)) {
    const object = parseObject(data);
    if (object === null) throw new Error('unreadable event in the stream');
    const event = reply.read(object);
    ended ||= event.ended === true;
    yield event;
  }
  if (!ended) throw new Error('the stream broke off');
}

/**
 * The wire format of Anthropic's Messages API (POST /v1/messages with `stream: true`). Pure; `anthropic.ts` does the
 * I/O. Source: platform.claude.com/docs/en/api/messages and …/build-with-claude/streaming and
 * …/build-with-claude/prompt-caching, with the types of the official SDK 1.12.0.
 */

/** Cap on output tokens: no caller listens to more. */
const MAX_TOKENS = 4096;
const MAX_CALLS = 64;
const MAX_ARGUMENT_CHARS = 262_144;
const CACHED = { cache_control: { type: 'ephemeral' } } as const;
/** Placeholders for an empty user turn: a request has to begin and end with a user message. */
const BEGINNING = '[The conversation begins.]';
const SILENCE = '[The user says nothing.]';

type Block = Record<string, unknown>;
interface WireMessage {
  role: 'user' | 'assistant';
  content: Block[];
}

/** The request body. Marks tools, system prompt and history for caching: the next turn has the same prefix. */
export function requestBody(request: LlmRequest, model: string, support: ModelSupport): string {
  const { messages, tools, temperature, requiredTool } = request;
  const { system, conversation } = wireMessages(messages);
  const last = conversation.at(-1)?.content.at(-1);
  if (last !== undefined) Object.assign(last, CACHED);
  const body: Block = { model, max_tokens: request.maxTokens ?? MAX_TOKENS, messages: conversation, stream: true };
  if (system !== '') body['system'] = [{ type: 'text', text: system, ...CACHED }];
  // Anthropic's range ends at 1.
  if (support.temperature) body['temperature'] = Math.min(1, temperature);
  if (support.thinking === 'low') body['output_config'] = { effort: 'low' };
  else if (support.thinking !== 'default') body['thinking'] = { type: support.thinking };
  if (tools.length > 0) {
    body['tools'] = tools.map((tool, index) => ({
      name: tool.name,
      description: tool.description,
      input_schema: vendorParameters(tool),
      cache_control: index === tools.length - 1 ? CACHED.cache_control : undefined,
    }));
  }
  if (requiredTool !== undefined && support.requiredTool) body['tool_choice'] = { type: 'tool', name: requiredTool };
  return JSON.stringify(body);
}

/**
 * Messages in the API's form: the leading system messages are separate, later ones join the user's; turns alternate and
 * are not empty; each tool call is directly followed by its result, and each result has a call.
 */
export function wireMessages(messages: readonly ChatMessage[]): { system: string; conversation: WireMessage[] } {
  const begins = messages.findIndex(({ role }) => role !== 'system');
  const opening = begins < 0 ? messages : messages.slice(0, begins);
  const rest = begins < 0 ? [] : messages.slice(begins);
  const results = new Map<string, string>();
  for (const message of rest) if (message.role === 'tool') results.set(message.toolCallId, message.content);
  const conversation: WireMessage[] = [];
  const add = (role: WireMessage['role'], blocks: readonly Block[]): void => {
    if (blocks.length === 0) return;
    const last = conversation.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else conversation.push({ role, content: [...blocks] });
  };
  for (const message of rest) {
    if (message.role === 'tool') continue;
    if (message.role !== 'assistant') {
      add('user', textBlocks(message.content));
      continue;
    }
    const calls = message.toolCalls ?? [];
    if (conversation.length === 0) add('user', textBlocks(BEGINNING));
    add('assistant', [...textBlocks(message.content), ...calls.map(callBlock)]);
    add(
      'user',
      calls.map(({ id }) => ({
        type: 'tool_result',
        tool_use_id: wireId(id),
        content: results.get(id) ?? 'Interrupted before its result was known.',
      })),
    );
  }
  if (conversation.length === 0) add('user', textBlocks(BEGINNING));
  if (conversation.at(-1)?.role === 'assistant') add('user', textBlocks(SILENCE));
  return {
    system: opening
      .map(({ content }) => content)
      .join('\n\n')
      .trim(),
    conversation,
  };
}

function textBlocks(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function callBlock({ id, name, arguments: text }: ToolCall): Block {
  let input: JsonObject | null = null;
  try {
    input = objectOf(parseJson(text));
  } catch {
    // The model produced invalid JSON; the result shows it the consequence.
  }
  return { type: 'tool_use', id: wireId(id), name, input: input ?? {} };
}

/** Call ids of other models may contain characters that the API refuses. */
function wireId(id: string): string {
  return id.replace(/[^\w-]/g, '_').slice(0, 64) || '_';
}

/** What one stream event contains. */
export interface AnthropicEvent {
  text: string;
  /** Usage since the last event. */
  usage?: Omit<LlmUsage, 'type' | 'by'>;
  /** The message is complete. */
  ended?: boolean;
  /** The server reports an error in mid-stream. */
  error?: { type: string; message: string };
}

/** A reply as its events arrive: parses them and collects the tool calls. */
export class AnthropicReply {
  readonly #calls = new Map<number, ToolCall>();
  #counted = NOTHING;
  /** Why the message ended, in the API's term. */
  stopReason: string | null = null;

  /** The calls collected so far, in the order they began. */
  get calls(): readonly ToolCall[] {
    return [...this.#calls.values()].map((call) => ({ ...call, arguments: call.arguments || '{}' }));
  }

  /** Takes a parsed event. Ignores unknown events and members of unexpected types. */
  read(event: JsonObject): AnthropicEvent {
    switch (event['type']) {
      case 'message_start':
        return { text: '', ...this.#count(objectOf(objectOf(event['message'])?.['usage'])) };
      case 'content_block_start':
        return { text: this.#begin(numberOf(event['index']) ?? 0, objectOf(event['content_block'])) };
      case 'content_block_delta':
        return { text: this.#take(numberOf(event['index']) ?? 0, objectOf(event['delta'])) };
      case 'message_delta':
        this.stopReason = textOf(objectOf(event['delta'])?.['stop_reason']) ?? this.stopReason;
        return { text: '', ...this.#count(objectOf(event['usage'])) };
      case 'message_stop':
        return { text: '', ended: true };
      case 'error': {
        const error = objectOf(event['error']);
        const type = textOf(error?.['type']) ?? 'error';
        return { text: '', error: { type, message: textOf(error?.['message']) ?? type } };
      }
      default: // ping, content_block_stop
        return { text: '' };
    }
  }

  #begin(index: number, block: JsonObject | null): string {
    if (block?.['type'] === 'text') return textOf(block['text']) ?? '';
    if (block?.['type'] !== 'tool_use') return '';
    if (this.#calls.size >= MAX_CALLS) throw new Error('too many tool calls in one reply');
    const [id, name] = [textOf(block['id']) ?? `call_${String(index)}`, textOf(block['name']) ?? ''];
    this.#calls.set(index, { id, name, arguments: '' });
    return '';
  }

  #take(index: number, delta: JsonObject | null): string {
    if (delta?.['type'] === 'text_delta') return textOf(delta['text']) ?? '';
    const call = this.#calls.get(index);
    if (delta?.['type'] !== 'input_json_delta' || call === undefined) return '';
    call.arguments += textOf(delta['partial_json']) ?? '';
    if (call.arguments.length > MAX_ARGUMENT_CHARS) throw new Error('a tool call is too long');
    return '';
  }

  /**
   * Reported counts are totals and arrive in parts: input tokens come before the answer, so a cancelled answer has them
   * too. Cache reads and writes are part of the input.
   */
  #count(usage: JsonObject | null): Pick<AnthropicEvent, 'usage'> {
    const before = this.#counted;
    const total = (name: string, known: number): number => Math.max(known, numberOf(usage?.[name]) ?? 0);
    const now = {
      uncached: total('input_tokens', before.uncached),
      cached: total('cache_read_input_tokens', before.cached),
      written: total('cache_creation_input_tokens', before.written),
      completion: total('output_tokens', before.completion),
    };
    this.#counted = now;
    const cachedTokens = now.cached - before.cached;
    const cacheWriteTokens = now.written - before.written;
    const promptTokens = now.uncached - before.uncached + cachedTokens + cacheWriteTokens;
    const completionTokens = now.completion - before.completion;
    if (promptTokens === 0 && completionTokens === 0) return {};
    return { usage: { promptTokens, cachedTokens, cacheWriteTokens, completionTokens } };
  }
}

const NOTHING = { uncached: 0, cached: 0, written: 0, completion: 0 };

/** What a model takes: newer models refuse parameters that older ones accept. */
export interface ModelSupport {
  temperature: boolean;
  /**
   * The least thinking the model allows, to keep latency low: none, none before the first words, little, or the model's
   * default.
   */
  thinking: 'disabled' | 'between_tools' | 'low' | 'default';
  /** Whether a tool can be required. If not, the prompt asks for it. */
  requiredTool: boolean;
}

const EVERYTHING: ModelSupport = { temperature: true, thinking: 'disabled', requiredTool: true };

/**
 * By prefix of the model name, which saves a refused request on the first call. Source:
 * platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5, …/opus-5-5/overview, …/haiku-5-5/migration-guide
 * (November 2026).
 */
const KNOWN: readonly (readonly [RegExp, ModelSupport])[] = [
  [/^claude-(3|haiku-4|sonnet-4|opus-4)/, EVERYTHING],
  [/^claude-sonnet-5-5/, { temperature: false, thinking: 'between_tools', requiredTool: false }],
  [/^claude-(opus-5-5|fable|mythos)/, { temperature: false, thinking: 'low', requiredTool: false }],
  [/^claude-(haiku|sonnet|opus)-5/, { temperature: false, thinking: 'disabled', requiredTool: true }],
];

/** What a model of this name takes, as far as is known. */
export function supportOf(model: string): ModelSupport {
  return KNOWN.find(([name]) => name.test(model))?.[1] ?? EVERYTHING;
}

/** What to retry with after this refusal; null = the refusal has another reason. */
export function withoutRefused(support: ModelSupport, refusal: string): ModelSupport | null {
  const { temperature, thinking, requiredTool } = support;
  if (temperature && /temperature|sampling/i.test(refusal)) return { ...support, temperature: false };
  // Checked before thinking, which such a refusal may name as its reason.
  if (requiredTool && /tool_choice|forced tool/i.test(refusal)) return { ...support, requiredTool: false };
  if (thinking === 'disabled' && /between_tools/.test(refusal)) return { ...support, thinking: 'between_tools' };
  if ((thinking === 'disabled' || thinking === 'between_tools') && /thinking/i.test(refusal)) {
    return { ...support, thinking: 'low' };
  }
  return thinking === 'low' && /output_config|effort/i.test(refusal) ? { ...support, thinking: 'default' } : null;
}
