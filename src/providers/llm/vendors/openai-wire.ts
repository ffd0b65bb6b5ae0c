import type { ChatMessage, ToolCall } from '../../../agent/chat.js';
import type { LlmRequest, LlmUsage } from '../llm.js';

/**
 * The wire format of OpenAI's chat completions (POST /chat/completions with `stream: true`), as implemented by OpenAI,
 * Azure, vLLM, Ollama, llama.cpp's server, Groq and others. Pure; `openai.ts` does the I/O.
 */

/** Fields that some servers refuse. A refused field is never sent to that server again. */
export const OPTIONAL_FIELDS = ['stream_options', 'temperature', 'seed'] as const;
export type OptionalField = (typeof OPTIONAL_FIELDS)[number];

const MAX_CALLS = 64;
const MAX_ARGUMENT_CHARS = 262_144;

/** The request body. `model` is the vendor's own name for the model. */
export function requestBody(request: LlmRequest, model: string, without: ReadonlySet<OptionalField>): string {
  const body: Record<string, unknown> = { model, messages: wireMessages(request.messages), stream: true };
  if (!without.has('stream_options')) body['stream_options'] = { include_usage: true };
  if (!without.has('temperature')) body['temperature'] = request.temperature;
  if (request.seed !== undefined && !without.has('seed')) body['seed'] = request.seed;
  if (request.tools.length > 0) {
    body['tools'] = request.tools.map((tool) => ({
      type: 'function',
      function: { name: tool.name, description: tool.description, parameters: tool.parameters },
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
