import type { Clock } from '../../base/clock.js';
import { abortAfter, raceAbort, withTimeout } from '../../base/deadlines.js';
import { errorOf } from '../../base/errors.js';
import { parseJson } from '../../base/json.js';

/** The protocol version to request; a server may answer with an older one. */
const PROTOCOL_VERSION = '2025-11-25';
const KNOWN_VERSIONS: ReadonlySet<string> = new Set([PROTOCOL_VERSION, '2025-06-18', '2025-03-26', '2024-11-05']);
const OPEN_MS = 10_000;
const METHOD_NOT_FOUND = -32_601;
/** Limit on a server's tools, in case its list is huge or endless. */
const MAX_TOOLS = 256;
const MAX_PAGES = 32;

/** A tool as a server lists it. */
export interface McpToolInfo {
  name: string;
  description: string;
  inputSchema: Readonly<Record<string, unknown>>;
}

interface McpConnectionOptions {
  clock: Clock;
  link: (events: LinkEvents) => McpLink;
  /** The connection is lost. Called once, not after `close`. */
  onClosed: (reason: string) => void;
  /** The server's list of tools has changed. */
  onToolsChanged: () => void;
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

/** A connection to one server: requests and replies. */
export class McpConnection {
  readonly #options: McpConnectionOptions;
  readonly #link: McpLink;
  readonly #pending = new Map<string | number, Pending>();
  readonly #abort = new AbortController();
  #ids = 0;

  constructor(options: McpConnectionOptions) {
    this.#options = options;
    this.#link = options.link({
      onMessage: (message) => this.#take(message),
      onClosed: (reason) => {
        this.#failAll(reason);
        options.onClosed(reason);
      },
    });
  }

  /** Performs the handshake. Rejects with an error text if the server is unusable. */
  async open(): Promise<void> {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'parley', version: '0.1.0' },
    };
    const answer = await this.request('initialize', params, OPEN_MS, this.#abort.signal);
    const version = memberOf(answer, 'protocolVersion');
    if (typeof version !== 'string' || !KNOWN_VERSIONS.has(version)) {
      throw new Error(`it speaks version ${String(version)} of the protocol`);
    }
    this.#link.agreed(version);
    await this.#notify('notifications/initialized', {});
  }

  /** All tools of the server. */
  async tools(): Promise<McpToolInfo[]> {
    const tools: McpToolInfo[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
      const params = typeof cursor === 'string' ? { cursor } : {};
      const answer = await this.request('tools/list', params, OPEN_MS, this.#abort.signal);
      const listed = memberOf(answer, 'tools');
      for (const tool of Array.isArray(listed) ? listed : []) {
        const info = toolInfo(tool);
        if (info !== null) tools.push(info);
      }
      cursor = memberOf(answer, 'nextCursor');
      if (typeof cursor !== 'string') break;
    }
    return tools.slice(0, MAX_TOOLS);
  }

  /** Sends one request. Rejects with the signal's reason, the server's error, or after `timeoutMs`. */
  async request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<unknown> {
    signal.throwIfAborted();
    const id = ++this.#ids;
    const deadline = abortAfter(this.#options.clock, timeoutMs, signal);
    const answer = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    // Aborts a stream that continues after the answer.
    const sending = new AbortController();
    const message: JsonRpcMessage = { jsonrpc: '2.0', id, method, params };
    const sent = this.#link.send(message, AbortSignal.any([deadline.signal, sending.signal])).then(
      () => undefined,
      (error: unknown) => this.#pending.get(id)?.reject(errorOf(error)),
    );
    try {
      return await raceAbort(answer, deadline.signal);
    } catch (error) {
      if (deadline.signal.aborted && method !== 'initialize') this.#cancel(id, deadline.signal.reason);
      throw error;
    } finally {
      this.#pending.delete(id);
      deadline.cancel();
      sending.abort();
      await sent;
    }
  }

  async close(): Promise<void> {
    this.#abort.abort(new Error('the connection has been closed'));
    this.#failAll('the connection has been closed');
    await this.#link.close();
  }

  #cancel(requestId: number, reason: unknown): void {
    const words = reason instanceof Error ? reason.message : 'it is not needed any more';
    void this.#notify('notifications/cancelled', { requestId, reason: words });
  }

  async #notify(method: string, params: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#send({ jsonrpc: '2.0', method, params });
  }

  /** Sends a notification. */
  async #send(message: JsonRpcMessage): Promise<void> {
    const send = (inTime: AbortSignal): Promise<void> => this.#link.send(message, inTime);
    try {
      await withTimeout(this.#options.clock, OPEN_MS, send, this.#abort.signal);
    } catch {
      // If the connection is broken, the next request fails.
    }
  }

  #take(message: JsonRpcMessage): void {
    const { id, method, result, error } = message;
    if (method !== undefined) {
      if (id !== undefined) void this.#send(replyTo(id, method));
      else if (method === 'notifications/tools/list_changed') this.#options.onToolsChanged();
      return;
    }
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (error !== undefined) pending?.reject(new Error(error.message));
    else pending?.resolve(result);
  }

  #failAll(reason: string): void {
    for (const { reject } of this.#pending.values()) reject(new Error(reason));
    this.#pending.clear();
  }
}

/** Answers pings; this client supports no other server requests. */
function replyTo(id: string | number, method: string): JsonRpcMessage {
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} };
  return { jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `${method} is not supported` } };
}

function toolInfo(value: unknown): McpToolInfo | null {
  const name = memberOf(value, 'name');
  const description = memberOf(value, 'description');
  const schema = memberOf(value, 'inputSchema');
  if (typeof name !== 'string' || typeof schema !== 'object' || schema === null) return null;
  return {
    name,
    description: typeof description === 'string' ? description : '',
    inputSchema: schema as Record<string, unknown>,
  };
}

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** JSON-RPC 2.0 messages as MCP uses them (specification 2025-06-18). */
export interface JsonRpcMessage {
  jsonrpc: '2.0';
  /** Set on a request and its reply, not on a notification. */
  id?: string | number;
  method?: string;
  params?: Readonly<Record<string, unknown>>;
  result?: unknown;
  error?: { code: number; message: string };
}

export interface LinkEvents {
  onMessage: (message: JsonRpcMessage) => void;
  /** The connection is lost and sends nothing more. Called once, not after `close`. */
  onClosed: (reason: string) => void;
}

/** The transport to one server. */
export interface McpLink {
  /**
   * Sends one message. Resolves when all messages in reply have arrived, if the transport can tell. Rejects if sending
   * fails, and with the signal's reason when it is aborted.
   */
  send(message: JsonRpcMessage, signal: AbortSignal): Promise<void>;
  /** The negotiated protocol version; sent with every later message. */
  agreed(protocolVersion: string): void;
  close(): Promise<void>;
}

/** Maximum size of a server message, in bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** Parses a server message; null if invalid. */
export function readMessage(text: string): JsonRpcMessage | null {
  try {
    const value: unknown = parseJson(text);
    const is = typeof value === 'object' && value !== null && 'jsonrpc' in value && value.jsonrpc === '2.0';
    return is ? (value as JsonRpcMessage) : null;
  } catch {
    return null;
  }
}
