import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { readBody } from '../../net/body.js';
import { type JsonRpcMessage, type LinkEvents, MAX_MESSAGE_BYTES, type McpLink, readMessage } from './link.js';

export interface HttpLinkOptions extends LinkEvents {
  /** The operator's URL: it may be private. */
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** Timeout for the request that ends a session. */
const GOODBYE_MS = 2_000;

/** A server behind a URL: each message is a POST (MCP 2025-06-18, transports: streamable HTTP). */
export class HttpLink implements McpLink {
  readonly #options: HttpLinkOptions;
  readonly #url: URL;
  readonly #agent = import('../../base/undici.js').then(
    ({ Agent }) => new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } }),
  );
  readonly #abort = new AbortController();
  #session: string | null = null;
  #version: string | null = null;
  #over = false;
  #closing: Promise<void> | null = null;

  constructor(options: HttpLinkOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
  }

  async send(message: JsonRpcMessage, signal: AbortSignal): Promise<void> {
    const all = AbortSignal.any([signal, this.#abort.signal]);
    all.throwIfAborted();
    const reply = await this.#request('POST', JSON.stringify(message), all);
    const { statusCode, headers, body } = reply;
    const session = headers['mcp-session-id'];
    if (typeof session === 'string') this.#session = session;
    const type = String(headers['content-type'] ?? '');
    if (statusCode === 404 && this.#session !== null) this.#gone('its session has ended');
    if (statusCode < 200 || statusCode > 299) {
      await body.dump();
      throw new Error(`it answered with status ${String(statusCode)}`);
    }
    if (type.includes('text/event-stream')) await this.#readEvents(body);
    else this.#take((await readBody(body, MAX_MESSAGE_BYTES)).toString('utf8'));
  }

  agreed(protocolVersion: string): void {
    this.#version = protocolVersion;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#over = true;
    this.#abort.abort(new Error('the connection has been closed'));
    if (this.#session !== null) {
      // A server that does not let clients end a session answers 405.
      const bye = this.#request('DELETE', null, AbortSignal.timeout(GOODBYE_MS)).then(({ body }) => body.dump());
      await bye.catch(() => undefined);
    }
    await (await this.#agent).destroy();
  }

  async #request(
    method: 'POST' | 'DELETE',
    body: string | null,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const lower = Object.entries(this.#options.headers).map(([name, value]) => [name.toLowerCase(), value]);
    return (await this.#agent).request({
      origin: this.#url.origin,
      path: this.#url.pathname + this.#url.search,
      method,
      body,
      signal,
      headers: {
        'user-agent': 'parley',
        ...(Object.fromEntries(lower) as Record<string, string>),
        accept: 'application/json, text/event-stream',
        ...(body !== null && { 'content-type': 'application/json' }),
        ...(this.#version !== null && { 'mcp-protocol-version': this.#version }),
        ...(this.#session !== null && { 'mcp-session-id': this.#session }),
      },
    });
  }

  async #readEvents(body: AsyncIterable<Uint8Array>): Promise<void> {
    const parser = createParser({ onEvent: ({ data }) => this.#take(data), maxBufferSize: MAX_MESSAGE_BYTES });
    const decoder = new TextDecoder();
    for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
  }

  #take(text: string): void {
    const message = this.#over ? null : readMessage(text);
    if (message !== null) this.#options.onMessage(message);
  }

  #gone(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.onClosed(reason);
  }
}
