import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import * as z from 'zod';

/**
 * Anthropic's messages, `POST /v1/messages` with `stream: true`, strict about what it is sent. Written from
 * platform.claude.com/docs/en/api/messages, …/build-with-claude/streaming and …/build-with-claude/prompt-caching by the
 * types of the official SDK @anthropic-ai/sdk 1.12.0 (resources/messages, read 2026-11-21): four places for caching at
 * most, turns that begin with the user, results right behind their calls. What the version 2026-10-21 refuses is from
 * platform.claude.com/docs/en/api/migration-2026-10-21; what models refuse from …/models/sonnet-5-5/whats-new-sonnet-5-5,
 * …/models/opus-5-5/overview and …/models/haiku-5-5/migration-guide (read 2026-11-22).
 */
export const KEY = 'sk-ant-0123456789';

const cache_control = z.strictObject({ type: z.literal('ephemeral') }).exactOptional();
const text = z.strictObject({ type: z.literal('text'), text: z.string().regex(/\S/), cache_control });
const toolId = z.string().regex(/^[\w-]{1,64}$/);
const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: toolId,
  name: z.string().regex(/^[\w-]{1,128}$/),
  input: z.record(z.string(), z.unknown()),
});
const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: toolId,
  content: z.string(),
  cache_control,
});
const bodySchema = z.strictObject({
  model: z.string().regex(/^claude-/),
  max_tokens: z.int().positive(),
  stream: z.literal(true),
  system: z.array(text).min(1).exactOptional(),
  messages: z.array(
    z.discriminatedUnion('role', [
      z.strictObject({ role: z.literal('user'), content: z.array(z.union([text, toolResult])).min(1) }),
      z.strictObject({ role: z.literal('assistant'), content: z.array(z.union([text, toolUse])).min(1) }),
    ]),
  ),
  temperature: z.number().min(0).max(1).exactOptional(),
  thinking: z.strictObject({ type: z.enum(['disabled', 'between_tools']) }).exactOptional(),
  output_config: z.strictObject({ effort: z.enum(['low', 'medium', 'high']) }).exactOptional(),
  tools: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[\w-]{1,128}$/),
        description: z.string(),
        input_schema: z.looseObject({ type: z.literal('object') }),
        cache_control,
      }),
    )
    .exactOptional(),
  tool_choice: z.strictObject({ type: z.literal('tool'), name: z.string() }).exactOptional(),
});

const VERSIONS = ['2023-06-01', '2026-10-21'];

export type AnthropicBody = z.infer<typeof bodySchema>;
export type Answer = (response: ServerResponse, body: AnthropicBody) => void;

export class AnthropicDouble {
  readonly bodies: AnthropicBody[] = [];
  readonly violations: string[] = [];
  /** What was asked of a model that it does not take. */
  readonly refusals: string[] = [];
  connections = 0;
  /** Replies whose connection was closed before they had ended. */
  cutShort = 0;
  answer: Answer = (response) => reply(response, [textBlock('Hello.')]);
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((request, response) => void this.#handle(request, response));
  #cut: () => void = () => undefined;

  async open(): Promise<string> {
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Resolves when the client has closed the connection of an unfinished reply. */
  async replyCut(): Promise<void> {
    if (this.cutShort === 0) await new Promise<void>((resolve) => (this.#cut = resolve));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let sent = '';
    for await (const chunk of request.setEncoding('utf8')) sent += String(chunk);
    response.on('close', () => {
      if (response.writableFinished) return;
      this.cutShort++;
      this.#cut();
    });
    const { headers, method, url } = request;
    // The documentation names the first header; the SDK sends the second.
    const key = headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, '');
    if (key !== KEY) {
      refuse(response, 401, 'authentication_error', `invalid x-api-key ${String(key)}`);
    } else if (!VERSIONS.includes(String(headers['anthropic-version'])))
      refuse(response, 400, 'invalid_request_error', 'version');
    else if (method === 'GET' && url?.startsWith('/v1/models') === true) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
    } else if (method !== 'POST' || url !== '/v1/messages') refuse(response, 404, 'not_found_error', String(url));
    else {
      const parsed = bodySchema.safeParse(JSON.parse(sent));
      const isLate = headers['anthropic-version'] === '2026-10-21';
      const fault = parsed.success ? faultOf(parsed.data, isLate) : parsed.error.message;
      const refusal = parsed.success && fault === null ? refusalOf(parsed.data) : null;
      if (refusal !== null) {
        this.refusals.push(refusal);
        refuse(response, 400, 'invalid_request_error', refusal);
      } else if (parsed.success && fault === null) {
        this.bodies.push(parsed.data);
        this.answer(response, parsed.data);
      } else {
        this.violations.push(`${fault ?? ''} in ${sent.slice(0, 500)}`);
        refuse(response, 400, 'invalid_request_error', fault ?? '');
      }
    }
  }
}

/** What the model itself does not take. */
function refusalOf({ model, temperature = 1, thinking, tool_choice }: AnthropicBody): string | null {
  if (!/^claude-((haiku|sonnet|opus)-5|fable|mythos)/.test(model)) return null;
  if (temperature !== 1) return `temperature: sampling parameters are not supported by ${model}`;
  const isSonnet = model.startsWith('claude-sonnet-5-5');
  const isAlwaysThinking = /^claude-(opus-5-5|fable|mythos)/.test(model);
  if (tool_choice !== undefined && (isSonnet || isAlwaysThinking)) return 'tool_choice: forced tool use, with thinking';
  if (isSonnet && thinking?.type === 'disabled') return 'thinking.type: use "between_tools" in place of "disabled"';
  const isUnknown = thinking?.type === 'between_tools' && !isSonnet;
  return isUnknown || (isAlwaysThinking && thinking !== undefined) ? 'thinking.type: not with this model' : null;
}

function faultOf({ messages, system = [], tools = [], temperature }: AnthropicBody, isLate: boolean): string | null {
  if (isLate && temperature !== undefined) return 'temperature: Extra inputs are not permitted';
  const blocks = messages.flatMap(({ content }): object[] => content);
  const marked = [...blocks, ...system, ...tools].filter((block) => 'cache_control' in block).length;
  if (marked > 4) return 'more than 4 places for caching';
  let open: string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== (index % 2 === 0 ? 'user' : 'assistant')) return `messages.${String(index)}: roles must alternate`;
    const results = content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
    if (results.toSorted().join() !== open.toSorted().join())
      return `messages.${String(index)}: results ${results.join()}`;
    open = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  }
  return messages.at(-1)?.role === 'user' ? null : 'the last message must be from the user';
}

export function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ type: 'error', error: { type, message } }));
}

/** A block of the reply, in the pieces that it comes in. */
export interface ReplyBlock {
  content_block: object;
  deltas: object[];
}

export function textBlock(...pieces: string[]): ReplyBlock {
  return {
    content_block: { type: 'text', text: '' },
    deltas: pieces.map((piece) => ({ type: 'text_delta', text: piece })),
  };
}

export function toolCall(id: string, name: string, ...pieces: string[]): ReplyBlock {
  return {
    content_block: { type: 'tool_use', id, name, input: {} },
    deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  };
}

const USAGE = { input_tokens: 12, cache_read_input_tokens: 100, cache_creation_input_tokens: 8, output_tokens: 1 };

/** The events of a whole message. */
export function events(blocks: readonly ReplyBlock[], stop_reason = 'end_turn'): object[] {
  return [
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: USAGE } },
    { type: 'ping' },
    ...blocks.flatMap(({ content_block, deltas }, index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
}

/** Written cut anywhere, within characters too. */
export function reply(response: ServerResponse, blocks: readonly ReplyBlock[], stop_reason?: string): void {
  begin(response);
  for (const event of events(blocks, stop_reason)) send(response, event);
  response.end();
}

export function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
}

export function send(response: ServerResponse, event: object): void {
  const bytes = Buffer.from(`event: ${String((event as { type?: unknown }).type)}\ndata: ${JSON.stringify(event)}\n\n`);
  for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
}
