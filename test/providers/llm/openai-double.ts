import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/**
 * A strict stand-in for an OpenAI-compatible server, written from the published wire protocol: it answers 400 to
 * bodies that a real server would refuse. What it answers to a good one is the test's to say.
 */
export interface DoubleRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
}

export type Answer = (response: ServerResponse, request: DoubleRequest) => void | Promise<void>;

export class OpenAiDouble {
  readonly requests: DoubleRequest[] = [];
  /** Sockets that are open now. */
  readonly sockets = new Set<Socket>();
  connections = 0;
  answer: Answer = (response) => {
    stream(response, [textChunk('Hello.'), finishChunk('stop')]);
  };
  /** Replies whose connection was closed before they had ended. */
  cutShort = 0;
  #closed: (() => void)[] = [];
  readonly #server = createServer((request, response) => {
    void this.#handle(request, response);
  });

  async listen(): Promise<string> {
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        for (const done of this.#closed.splice(0)) done();
      });
    });
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/v1`;
  }

  /** Resolves when no client is connected. */
  async allClosed(): Promise<void> {
    while (this.sockets.size > 0) await new Promise<void>((resolve) => this.#closed.push(resolve));
  }

  /** Resolves when the client has closed the connection of an unfinished reply. */
  async replyCut(): Promise<void> {
    while (this.cutShort === 0) await new Promise<void>((resolve) => this.#closed.push(resolve));
    this.cutShort--;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    const seen = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    this.requests.push(seen);
    response.on('close', () => {
      if (response.writableFinished) return;
      this.cutShort++;
      for (const done of this.#closed.splice(0)) done();
    });
    const problem = seen.method === 'POST' ? problemOf(seen) : null;
    if (problem === null) await this.answer(response, seen);
    else sendError(response, 400, problem);
  }
}

/** What a strict server finds wrong with a request, or null. */
function problemOf({ headers, path, body }: DoubleRequest): string | null {
  if (path !== '/v1/chat/completions') return `unknown path ${path}`;
  if (headers['content-type'] !== 'application/json') return 'content-type must be application/json';
  if (typeof body['model'] !== 'string') return 'model is required';
  if (body['stream'] !== true) return 'this double only streams';
  const known = ['model', 'messages', 'stream', 'stream_options', 'temperature', 'seed', 'tools', 'tool_choice'].concat(
    ['max_completion_tokens', 'response_format'],
  );
  const extra = Object.keys(body).find((key) => !known.includes(key));
  if (extra !== undefined) return `Unknown parameter: '${extra}'`;
  if (body['seed'] !== undefined && !Number.isInteger(body['seed'])) return 'seed must be an integer';
  const toolProblem = problemOfTools(body['tools'], body['tool_choice']);
  if (toolProblem !== null) return toolProblem;
  if (!Array.isArray(body['messages'])) return 'messages is required';
  const open = new Set<string>();
  for (const message of body['messages'] as Record<string, unknown>[]) {
    if (message['role'] === 'tool') {
      if (!open.delete(String(message['tool_call_id']))) return 'a tool message must follow its tool_calls';
      continue;
    }
    if (open.size > 0) return 'an assistant message with tool_calls must be followed by tool messages';
    const calls = message['tool_calls'] as { id: string; type: string; function: { arguments: string } }[] | undefined;
    if (calls === undefined && typeof message['content'] !== 'string') return 'content must be a string';
    for (const call of calls ?? []) {
      if (call.type !== 'function') return 'type must be function';
      JSON.parse(call.function.arguments);
      open.add(call.id);
    }
  }
  return open.size > 0 ? 'tool_calls without results' : null;
}

interface WireTool {
  type?: string;
  function?: { name?: string; parameters?: { type?: string } };
}

function problemOfTools(given: unknown, choice: unknown): string | null {
  const tools = (given ?? []) as WireTool[];
  if (given !== undefined && (!Array.isArray(given) || given.length === 0)) return 'tools must not be empty';
  for (const { type, function: { name = '', parameters } = {} } of tools) {
    if (type !== 'function') return 'tools: type must be function';
    if (!/^[\w-]{1,64}$/.test(name)) return `tools: invalid name '${name}'`;
    if (parameters?.type !== 'object') return `Invalid schema for function '${name}': type must be object`;
  }
  if (choice === undefined) return null;
  const chosen = choice as WireTool;
  if (chosen.type !== 'function') return 'tool_choice: type must be function';
  const isKnown = tools.some((tool) => tool.function?.name === chosen.function?.name);
  return isKnown ? null : 'tool_choice: no such function in tools';
}

export function textChunk(text: string): object {
  return chunk({ delta: { content: text }, finish_reason: null });
}

export function callChunk(...pieces: object[]): object {
  return chunk({ delta: { tool_calls: pieces }, finish_reason: null });
}

export function finishChunk(reason: string): object {
  return chunk({ delta: {}, finish_reason: reason });
}

export const usageChunk = {
  ...chunk(null),
  usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
};

function chunk(choice: object | null): Record<string, unknown> {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'double',
    choices: choice === null ? [] : [{ index: 0, ...choice }],
  };
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
}

export function sendEvent(response: ServerResponse, data: object | string): void {
  response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
}

/** A whole well-formed stream. */
export function stream(response: ServerResponse, events: readonly object[]): void {
  beginStream(response);
  for (const event of events) sendEvent(response, event);
  sendEvent(response, '[DONE]');
  response.end();
}

export function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }));
}
