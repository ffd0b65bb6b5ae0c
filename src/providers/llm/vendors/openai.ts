import { raceAbort } from '../../../base/deadlines.js';
import type { Dispatcher, Pool } from 'undici';
import type { Clock } from '../../../base/clock.js';
import { nowUnixMs, RealClock } from '../../../base/real-clock.js';
import { parseJson } from '../../../base/json.js';
import { ParleyError } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import { retryAfterMs } from '../../wire/vendor-http.js';
import { serverSentEvents } from '../../wire/server-sent-events.js';
import { connectionReason, failed, statusError, withoutSecrets } from '../../wire/vendor-error.js';
import type { LlmPiece, LlmProvider, LlmRequest, LlmUsage } from '../llm.js';
import { vendorParameters } from '../tool-schema.js';
import type { ChatMessage, ToolCall } from '../../../agent/chat.js';

export interface OpenAiOptions {
  /** The API's root, with its version: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`. */
  baseUrl: string;
  /** Sent as a bearer token. Local servers need none. */
  apiKey?: string | null | undefined;
  /** Further request headers. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** The vendor's name of a model id; an id without an entry is sent unchanged. */
  modelName?: (modelId: string) => string;
  /** Name in messages and traces. Default `openai`. */
  name?: string;
  /** Timeout for connecting, in milliseconds. Default 5000. */
  connectTimeoutMs?: number;
  /** Milliseconds from the request being sent to the first event of the reply. Default 15000. */
  firstByteTimeoutMs?: number;
  /** Milliseconds between two pieces of the reply. Default 10000. */
  idleTimeoutMs?: number;
  /** Connections to the server at once. Default 128. */
  maxConnections?: number;
  /** Clock for `warmUp`; requests bring their own. Default: real time. */
  clock?: Clock;
}

/** Maximum length of an error body and of a reply, in characters. */
const MAX_ERROR_CHARS = 65_536;
const MAX_REPLY_CHARS = 4_194_304;
/** A shorter key is a placeholder for a local server and need not be redacted. */
const MIN_SECRET_CHARS = 8;
/** How long to wait for the end of a finished reply so that its connection can be reused. */
const DRAIN_MS = 100;

/** Called when a request is written to its connection. */
const SENT = Symbol('sent');
type SentHook = { [SENT]?: () => void };

/** A model behind an OpenAI-compatible HTTP server. All sessions share keep-alive connections. */
export class OpenAiProvider implements LlmProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly shapes = ['maxTokens', 'responseFormat'] as const;
  readonly #options: Required<Pick<OpenAiOptions, 'connectTimeoutMs' | 'firstByteTimeoutMs' | 'idleTimeoutMs'>>;
  readonly #modelName: (modelId: string) => string;
  readonly #headers: Record<string, string>;
  readonly #secrets: readonly string[];
  readonly #basePath: string;
  readonly #pool: Promise<Pool>;
  readonly #dispatcher: Promise<Dispatcher>;
  readonly #clock: Clock;
  readonly #refusedFields = new Map<string, Set<OptionalField>>();

  constructor(options: OpenAiOptions) {
    const url = parseBaseUrl(options.baseUrl);
    this.name = options.name ?? 'openai';
    this.#options = {
      connectTimeoutMs: options.connectTimeoutMs ?? 5000,
      firstByteTimeoutMs: options.firstByteTimeoutMs ?? 15_000,
      idleTimeoutMs: options.idleTimeoutMs ?? 10_000,
    };
    this.#modelName = options.modelName ?? ((id) => id);
    this.#clock = options.clock ?? new RealClock();
    this.#headers = { ...options.headers };
    if (options.apiKey != null) this.#headers['authorization'] = `Bearer ${options.apiKey}`;
    // The operator's headers may contain a key too.
    const held = [options.apiKey ?? '', ...Object.values(options.headers ?? {})];
    this.#secrets = held.filter((value) => value.length >= MIN_SECRET_CHARS);
    this.#basePath = url.pathname.replace(/\/+$/, '');
    // Each request has its deadlines on its own clock; undici's timer only frees a dead connection.
    const settings = {
      connections: options.maxConnections ?? 128,
      keepAliveTimeout: 60_000,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: this.#options.connectTimeoutMs },
    };
    this.#pool = import('../../../base/undici.js').then(({ Pool }) => new Pool(url.origin, settings));
    this.#dispatcher = this.#pool.then((pool) => pool.compose(reportSent));
  }

  /** Opens a connection in advance. Rejects if the key is refused. */
  async warmUp(): Promise<void> {
    const deadlines = new Deadlines(this.#clock, this.name, new AbortController().signal);
    try {
      const response = await this.#send('GET', '/models', null, deadlines);
      const body = await readText(response.body, MAX_ERROR_CHARS);
      if (response.statusCode === 401 || response.statusCode === 403) throw this.#refusal(response, body);
    } catch (error) {
      throw this.#wrap(error, deadlines.signal);
    } finally {
      deadlines.end();
    }
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    request.signal.throwIfAborted();
    const deadlines = new Deadlines(request.clock, this.name, request.signal);
    try {
      const response = await this.#open(request, deadlines);
      const reply = new OpenAiReply(`call_${String(request.messages.length)}_`);
      const isStream = String(response.headers['content-type'] ?? '').includes('event-stream');
      const body = keepOpen(response.body);
      const events = isStream ? readEvents(body, reply) : readWhole(body, reply);
      yield* this.#pieces(events, reply, deadlines, request.pieceTimeoutMs);
      deadlines.within(DRAIN_MS);
      await drain(body);
    } catch (error) {
      throw this.#wrap(error, deadlines.signal);
    } finally {
      deadlines.end();
    }
  }

  async close(): Promise<void> {
    await (await this.#pool).destroy();
  }

  async *#pieces(
    events: AsyncIterable<OpenAiEvent>,
    reply: OpenAiReply,
    deadlines: Deadlines,
    idleTimeoutMs = this.#options.idleTimeoutMs,
  ): AsyncGenerator<LlmPiece, void, undefined> {
    let finishReason: string | undefined;
    let usage: OpenAiEvent['usage'];
    let chars = 0;
    for await (const event of events) {
      if (event.error !== undefined) throw this.#failure(event.error);
      finishReason = event.finishReason ?? finishReason;
      // Only the server's silence counts, not the time the reader takes between two pieces.
      deadlines.pause();
      chars += event.text.length;
      if (chars > MAX_REPLY_CHARS) throw this.#failure('the reply is too long');
      if (event.text !== '') yield { type: 'text', text: event.text };
      usage = event.usage ?? usage;
      deadlines.within(idleTimeoutMs);
    }
    if (usage !== undefined) yield { type: 'usage', ...usage };
    if (finishReason === 'content_filter' && chars === 0) throw this.#failure('the content filter withheld the reply');
    for (const call of reply.calls) yield { type: 'toolCall', call };
  }

  /** Sends the request; on a refusal retries without the refused optional fields. Resolves to a 2xx reply. */
  async #open(request: LlmRequest, deadlines: Deadlines): Promise<Dispatcher.ResponseData> {
    const model = this.#modelName(request.model);
    const refused = this.#refusedFields.get(model) ?? new Set<OptionalField>();
    for (;;) {
      const body = requestBody(request, model, refused);
      const response = await this.#send('POST', '/chat/completions', body, deadlines, request.pieceTimeoutMs);
      if (response.statusCode >= 200 && response.statusCode < 300) return response;
      const text = await readText(response.body, MAX_ERROR_CHARS);
      const sent = OPTIONAL_FIELDS.filter((name) => isSent(name, request));
      const field = sent.find((name) => !refused.has(name) && text.includes(name));
      if ((response.statusCode !== 400 && response.statusCode !== 422) || field === undefined) {
        throw this.#refusal(response, text);
      }
      refused.add(field);
      this.#refusedFields.set(model, refused);
    }
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    deadlines: Deadlines,
    firstByteTimeoutMs = this.#options.firstByteTimeoutMs,
  ): Promise<Dispatcher.ResponseData> {
    const dispatcher = await this.#dispatcher;
    deadlines.within(this.#options.connectTimeoutMs);
    const options: Dispatcher.RequestOptions & SentHook = {
      method,
      path: this.#basePath + path,
      headers: {
        accept: 'text/event-stream, application/json',
        'content-type': body === null ? undefined : 'application/json',
        ...this.#headers,
      },
      body,
      signal: deadlines.signal,
      [SENT]: () => {
        deadlines.within(firstByteTimeoutMs);
      },
    };
    // undici reacts to an abort only after it has a connection, so this does not wait for its answer.
    return raceAbort(dispatcher.request(options), deadlines.signal);
  }

  #refusal({ statusCode, headers }: Dispatcher.ResponseData, body: string): ParleyError {
    const reason = this.#clean(errorMessage(jsonOrUndefined(body) ?? body));
    return statusError(this.name, statusCode, reason, retryAfterMs(headers, nowUnixMs()));
  }

  #failure(reason: string, cause?: unknown): ParleyError {
    return failed(this.name, this.#clean(reason), cause);
  }

  /** Redacts the key: some servers repeat a key that they refuse. */
  #clean(text: string): string {
    return withoutSecrets(text, this.#secrets);
  }

  /** The error for the caller: the signal's reason if it is aborted, else a ParleyError. */
  #wrap(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    return error instanceof ParleyError ? error : this.#failure(connectionReason(error), error);
  }
}

/** Calls the request's hook when the request is written to a connection. */
const reportSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const sent = (options as SentHook)[SENT];
  if (sent === undefined) return dispatch(options, handler);
  return dispatch(options, {
    onRequestStart: (controller, context) => {
      sent();
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  });
};

/** The events of a stream up to `[DONE]`. Throws if the stream breaks off or contains invalid JSON. */
async function* readEvents(body: AsyncIterable<Buffer>, reply: OpenAiReply): AsyncGenerator<OpenAiEvent> {
  let finished = false;
  for await (const data of serverSentEvents(body)) {
    if (data.trim() === '[DONE]') return;
    // Skips the keep-alive text of some proxies; a broken object, however, is a lost part of the reply.
    if (!data.trimStart().startsWith('{')) continue;
    const event = reply.read(jsonOrUndefined(data));
    if (event === null) throw new Error('unreadable event in the stream');
    finished ||= event.finishReason !== undefined;
    yield event;
  }
  if (!finished) throw new Error('the stream broke off');
}

/** A non-streamed reply. */
async function* readWhole(
  body: AsyncIterable<Buffer>,
  reply: OpenAiReply,
): AsyncGenerator<OpenAiEvent, void, undefined> {
  const event = reply.read(jsonOrUndefined(await readText(body, MAX_REPLY_CHARS)));
  if (event === null) throw new Error('the reply is neither an event stream nor JSON');
  yield event;
}

/** Iterates without destroying the body when the loop ends early: the rest can still be drained. */
function keepOpen(body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const iterator = body[Symbol.asyncIterator]();
  return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) };
}

/** Reads to the end of a body so that its connection returns to the pool; stops when the body is aborted. */
async function drain(body: AsyncIterable<Buffer>): Promise<void> {
  try {
    for await (const chunk of body) void chunk;
  } catch {
    // The reply was complete: only its connection is lost.
  }
}

async function readText(body: AsyncIterable<Buffer>, maxChars: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxChars) throw new Error('the reply is too long');
  }
  return text;
}

function jsonOrUndefined(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function parseBaseUrl(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ParleyError('CONFIG_INVALID', {
      reason: `the base URL of a language model must be an http or https address, not "${baseUrl}"`,
    });
  }
  return url;
}

/**
 * The wire format of OpenAI's chat completions (POST /chat/completions with `stream: true`), as implemented by OpenAI,
 * Azure, vLLM, Ollama, llama.cpp's server, Groq and others. Pure; `openai.ts` does the I/O.
 */

/** Fields that some servers refuse. A refused field is never sent to that server again. */
export const OPTIONAL_FIELDS = ['stream_options', 'temperature', 'seed', 'max_completion_tokens'] as const;
export type OptionalField = (typeof OPTIONAL_FIELDS)[number];

const MAX_CALLS = 64;
const MAX_ARGUMENT_CHARS = 262_144;

function isSent(field: OptionalField, { seed, maxTokens }: LlmRequest): boolean {
  if (field === 'seed') return seed !== undefined;
  return field !== 'max_completion_tokens' || maxTokens !== undefined;
}

/** The request body. `model` is the vendor's own name for the model. */
export function requestBody(request: LlmRequest, model: string, without: ReadonlySet<OptionalField>): string {
  const body: Record<string, unknown> = { model, messages: wireMessages(request.messages), stream: true };
  if (!without.has('stream_options')) body['stream_options'] = { include_usage: true };
  if (!without.has('temperature')) body['temperature'] = request.temperature;
  if (request.seed !== undefined && !without.has('seed')) body['seed'] = request.seed;
  const { maxTokens, responseFormat } = request;
  // Older servers know the former name only.
  const limit = without.has('max_completion_tokens') ? 'max_tokens' : 'max_completion_tokens';
  if (maxTokens !== undefined) body[limit] = maxTokens;
  if (responseFormat !== undefined) body['response_format'] = responseFormat;
  if (request.tools.length > 0) {
    body['tools'] = request.tools.map((tool) => ({
      type: 'function',
      function: { name: tool.name, description: tool.description, parameters: vendorParameters(tool) },
    }));
  }
  if (request.requiredTool !== undefined) {
    body['tool_choice'] = { type: 'function', function: { name: request.requiredTool } };
  }
  return JSON.stringify(body);
}

/**
 * Messages in a form that servers accept. Servers answer 400 to a call without a result (it was interrupted), a result
 * without a call (truncated by a history limit) or arguments that are not valid JSON, so this repairs them.
 */
export function wireMessages(messages: readonly ChatMessage[]): object[] {
  const results = new Map<string, string>();
  for (const message of messages) if (message.role === 'tool') results.set(message.toolCallId, message.content);
  const wire: object[] = [];
  for (const message of messages) {
    if (message.role === 'tool') continue;
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    if (calls.length === 0) {
      wire.push({ role: message.role, content: message.content });
      continue;
    }
    wire.push({
      role: 'assistant',
      content: message.content === '' ? null : message.content,
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: isJsonObject(call.arguments) ? call.arguments : '{}' },
      })),
    });
    for (const call of calls) {
      wire.push({
        role: 'tool',
        tool_call_id: call.id,
        content: results.get(call.id) ?? 'Interrupted before its result was known.',
      });
    }
  }
  return wire;
}

/** What one stream event (or one complete reply) contains. */
export interface OpenAiEvent {
  text: string;
  /** Totals for the reply so far: some servers repeat them with every event. */
  usage?: Omit<LlmUsage, 'type' | 'by'>;
  /** `stop`, `length`, `tool_calls`, `content_filter`, or a server-specific value. */
  finishReason?: string;
  /** The server reports an error in mid-stream. */
  error?: string;
}

/** A reply as its events arrive: parses them and collects the tool calls. */
export class OpenAiReply {
  readonly #calls: ToolCall[] = [];
  readonly #byIndex = new Map<number, ToolCall>();
  readonly #idPrefix: string;

  /** `idPrefix` starts the ids of calls that the server left unnamed; it has to be unique in the conversation. */
  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix;
  }

  /** The calls collected so far, in the order they began. */
  get calls(): readonly ToolCall[] {
    return this.#calls;
  }

  /** Takes a parsed event. Null if it is not an object; ignores members of unexpected types. */
  read(value: unknown): OpenAiEvent | null {
    if (!isRecord(value)) return null;
    const event: OpenAiEvent = { text: '' };
    if (value['error'] !== undefined && value['error'] !== null) event.error = errorMessage(value);
    const usage = value['usage'];
    if (isRecord(usage)) {
      const details = isRecord(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
      event.usage = {
        promptTokens: count(usage['prompt_tokens']),
        // DeepSeek uses its own field.
        cachedTokens: count(details['cached_tokens'] ?? usage['prompt_cache_hit_tokens']),
        cacheWriteTokens: count(details['cache_write_tokens']),
        completionTokens: count(usage['completion_tokens']),
      };
    }
    const choice: unknown = Array.isArray(value['choices']) ? value['choices'][0] : undefined;
    if (!isRecord(choice)) return event;
    if (typeof choice['finish_reason'] === 'string') event.finishReason = choice['finish_reason'];
    const delta = choice['delta'] ?? choice['message'];
    if (!isRecord(delta)) return event;
    if (typeof delta['content'] === 'string') event.text = delta['content'];
    // OpenAI's models refuse in a field of its own.
    if (typeof delta['refusal'] === 'string') event.text += delta['refusal'];
    if (Array.isArray(delta['tool_calls'])) for (const piece of delta['tool_calls']) this.#takeCallPiece(piece);
    return event;
  }

  #takeCallPiece(piece: unknown): void {
    if (!isRecord(piece)) return;
    const details = isRecord(piece['function']) ? piece['function'] : {};
    const id = typeof piece['id'] === 'string' ? piece['id'] : '';
    const name = typeof details['name'] === 'string' ? details['name'] : '';
    const call = this.#callFor(piece['index'], id, name);
    if (call === undefined) return;
    const text = details['arguments'];
    // Some servers send the arguments as an object instead of JSON text.
    const added = typeof text === 'string' ? text : isRecord(text) ? JSON.stringify(text) : '';
    if (call.arguments.length + added.length > MAX_ARGUMENT_CHARS) throw new Error('a tool call is too long');
    call.arguments += added;
  }

  /**
   * The call that a piece belongs to. The index identifies it; but Ollama gives index 0 to every call and older builds
   * give none, so a new id with a name starts a new call whatever the index.
   */
  #callFor(index: unknown, id: string, name: string): ToolCall | undefined {
    const open = typeof index === 'number' ? this.#byIndex.get(index) : this.#calls.at(-1);
    const begins = open === undefined || (name !== '' && id !== '' && id !== open.id);
    if (!begins) {
      if (open.name === '') open.name = name;
      return open;
    }
    if (name === '' && id === '') return undefined;
    if (this.#calls.length >= MAX_CALLS) throw new Error('too many tool calls in one reply');
    const call = { id: id === '' ? `${this.#idPrefix}${String(this.#calls.length)}` : id, name, arguments: '' };
    this.#calls.push(call);
    if (typeof index === 'number') this.#byIndex.set(index, call);
    return call;
  }
}

/** The message in an error body: `{error: {message}}`, `{error: text}`, `{message}`, `{detail}` or the text itself. */
export function errorMessage(body: unknown): string {
  if (typeof body === 'string') return body.trim().slice(0, 300);
  if (!isRecord(body)) return 'no message';
  const inner = body['error'] ?? body['message'] ?? body['detail'];
  if (typeof inner === 'string') return inner.slice(0, 300);
  if (isRecord(inner)) {
    const message = inner['message'];
    return (typeof message === 'string' ? message : JSON.stringify(inner)).slice(0, 300);
  }
  return JSON.stringify(body).slice(0, 300);
}

function isJsonObject(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0;
}
