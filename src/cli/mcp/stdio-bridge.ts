import { createInterface } from 'node:readline';
import { reasonOf } from '../../base/errors.js';
import { memberOf } from '../../tools/mcp/connection.js';
import type { CommandIo } from '../shared/command.js';

export interface BridgeOptions {
  /** Of the daemon, such as `http://127.0.0.1:8080`. */
  url: string;
  key: string;
  io: Pick<CommandIo, 'stdin' | 'stdout' | 'signal'>;
}

const INTERNAL_ERROR = -32_603;
const PARSE_ERROR = -32_700;
/** Above it, a client does not wait for an answer but floods the daemon. */
const MAX_PENDING = 64;
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

type Id = string | number;

/**
 * A server of the Model Context Protocol on standard input and output: each line is a message, which a daemon answers at
 * `POST /mcp` (specification 2026-07-28, basic/transports/stdio).
 */
export class StdioBridge {
  readonly #options: BridgeOptions;
  readonly #pending = new Map<Id, AbortController>();
  /** The version that `initialize` has agreed on; later requests name it. */
  #version: string | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Resolves when standard input has ended and all of its requests are answered, or when the command is interrupted. */
  async run(): Promise<void> {
    const { stdin, signal } = this.#options.io;
    const lines = createInterface({ input: stdin, crlfDelay: Infinity });
    const stop = (): void => lines.close();
    signal.addEventListener('abort', stop, { once: true });
    const work = new Set<Promise<void>>();
    for await (const line of lines) {
      if (line.trim() === '') continue;
      if (work.size >= MAX_PENDING) await Promise.race(work);
      const one: Promise<void> = this.#take(line).finally(() => work.delete(one));
      work.add(one);
    }
    signal.removeEventListener('abort', stop);
    if (signal.aborted) for (const pending of this.#pending.values()) pending.abort(signal.reason);
    await Promise.all(work);
  }

  async #take(line: string): Promise<void> {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch (error) {
      this.#write({ jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: reasonOf(error) } });
      return;
    }
    const [id, method, params] = ['id', 'method', 'params'].map((name) => memberOf(message, name));
    if (method === 'notifications/cancelled') {
      this.#pending.get(memberOf(params, 'requestId') as Id)?.abort(new Error('the client does not need it any more'));
      return;
    }
    const isRequest = typeof method === 'string' && (typeof id === 'string' || typeof id === 'number');
    const abort = new AbortController();
    if (isRequest) this.#pending.set(id, abort);
    try {
      const answer = await this.#ask(line, headersOf(method, params, this.#version), abort.signal);
      if (method === 'initialize') {
        const version = memberOf(memberOf(answer, 'result'), 'protocolVersion');
        this.#version = typeof version === 'string' ? version : null;
      }
      if (answer !== null) this.#write(answer);
    } catch (error) {
      // A canceled request has no answer.
      if (!isRequest || abort.signal.aborted) return;
      this.#write({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: reasonOf(error) } });
    } finally {
      if (isRequest) this.#pending.delete(id);
    }
  }

  /** The daemon's answer; null = there is none. */
  async #ask(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
    const { url, key } = this.#options;
    let response: Response;
    try {
      response = await fetch(new URL('mcp', url.endsWith('/') ? url : `${url}/`), {
        method: 'POST',
        headers: {
          ...headers,
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body,
        signal,
      });
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new Error(`no daemon answers at ${url}: ${reasonOf(cause)}`, { cause: error });
    }
    const text = await response.text();
    if (text === '') return null;
    const answer: unknown = JSON.parse(text);
    if (memberOf(answer, 'jsonrpc') === '2.0') return answer;
    // The daemon's own refusal, such as of a wrong key.
    const detail = memberOf(answer, 'detail');
    throw new Error(typeof detail === 'string' ? detail : `the daemon answered with status ${String(response.status)}`);
  }

  #write(message: unknown): void {
    this.#options.io.stdout.write(`${JSON.stringify(message)}\n`);
  }
}

/** The headers that repeat parts of a message (streamable HTTP, request metadata). */
function headersOf(method: unknown, params: unknown, agreed: string | null): Record<string, string> {
  const version = memberOf(memberOf(params, '_meta'), VERSION_KEY);
  const headers = new Map<string, string>();
  if (typeof version !== 'string' || typeof method !== 'string') {
    if (agreed !== null) headers.set('mcp-protocol-version', agreed);
    return Object.fromEntries(headers);
  }
  headers.set('mcp-protocol-version', version).set('mcp-method', method);
  const name = memberOf(params, method === 'resources/read' ? 'uri' : 'name');
  if (typeof name === 'string') headers.set('mcp-name', `=?base64?${Buffer.from(name).toString('base64')}?=`);
  return Object.fromEntries(headers);
}
