import type { Agent } from 'undici';
import type { Clock } from '../base/clock.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { AddressGuard, type AddressGuardOptions } from './address-guard.js';

export interface GuardedClientOptions extends AddressGuardOptions {
  /** Clock for deadlines. The network is real: pass a real clock even if the session's time is virtual. */
  clock: Clock;
  /** Default of a request's `maxBytes`. Default 65,536. */
  maxBytes?: number | null | undefined;
  /** Maximum number of connections per origin. Default 64. */
  connectionsPerOrigin?: number;
}

export interface GuardedRequest {
  url: string;
  /** Upper case. Default GET. */
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array | undefined;
  /** Timeout for the whole reply. */
  timeoutMs: number;
  /** Maximum reply body in bytes. Default: the client's. */
  maxBytes?: number | undefined;
  signal: AbortSignal;
}

export interface GuardedReply {
  status: number;
  /** Names in lower case; repeated headers are joined by commas. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/**
 * The HTTP client for customer-configured addresses. Calls only what its AddressGuard allows, connects to the DNS
 * answer that was checked, does not follow redirects (a 3xx is the reply) and limits size and time.
 */
export class GuardedClient {
  readonly guard: AddressGuard;
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #connections: number;
  #agents: Promise<Agents> | null = null;
  readonly #running = new Set<AbortController>();
  #closed = false;

  constructor(options: GuardedClientOptions) {
    this.guard = new AddressGuard(options);
    this.#clock = options.clock;
    this.#maxBytes = options.maxBytes ?? 65_536;
    this.#connections = options.connectionsPerOrigin ?? 64;
  }

  /** Loads in advance what the first request needs. */
  async warmUp(): Promise<void> {
    await this.#open();
  }

  /**
   * Sends one request. Rejects with the signal's reason when it is aborted.
   * @throws ParleyError NET_ADDRESS_REFUSED, NET_TIMEOUT, NET_TOO_LARGE or NET_FAILED
   */
  async request(request: GuardedRequest): Promise<GuardedReply> {
    request.signal.throwIfAborted();
    if (this.#closed) throw closedError();
    const { url, exempt } = this.guard.check(request.url);
    const deadline = new AbortController();
    const cancel = this.#clock.schedule(this.#clock.nowMs() + request.timeoutMs, () => {
      deadline.abort(new ParleyError('NET_TIMEOUT', { timeoutMs: request.timeoutMs }));
    });
    const onAbort = (): void => {
      deadline.abort(request.signal.reason);
    };
    request.signal.addEventListener('abort', onAbort, { once: true });
    this.#running.add(deadline);
    try {
      const { exempt: anywhere, guarded } = await this.#open();
      return await this.#send(exempt ? anywhere : guarded, url, request, deadline.signal);
    } catch (error) {
      if (deadline.signal.aborted) throw deadline.signal.reason;
      throw asNetError(error);
    } finally {
      cancel();
      this.#running.delete(deadline);
      request.signal.removeEventListener('abort', onAbort);
    }
  }

  /** Aborts requests in flight and closes all connections. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const running of this.#running) running.abort(closedError());
    const agents = await this.#agents;
    await Promise.all([agents?.guarded.destroy(), agents?.exempt.destroy()]);
  }

  #open(): Promise<Agents> {
    this.#agents ??= import('../base/undici.js').then(({ Agent }) => {
      // undici's own timeouts are off: the request's deadline covers them.
      const shared = { connections: this.#connections, headersTimeout: 0, bodyTimeout: 0 };
      return {
        guarded: new Agent({ ...shared, connect: { lookup: this.guard.lookup, timeout: 10_000 } }),
        exempt: new Agent({ ...shared, connect: { timeout: 10_000 } }),
      };
    });
    return this.#agents;
  }

  async #send(agent: Agent, url: URL, request: GuardedRequest, signal: AbortSignal): Promise<GuardedReply> {
    const reply = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method ?? 'GET',
      headers: { 'user-agent': 'parley', ...request.headers },
      body: request.body ?? null,
      signal,
    });
    const headers = flatten(reply.headers);
    const body = await readBody(reply.body, request.maxBytes ?? this.#maxBytes);
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw new ParleyError('NET_FAILED', { reason: `the reply is encoded (${encoding})` });
    return { status: reply.statusCode, headers, body };
  }
}

interface Agents {
  guarded: Agent;
  /** For addresses that the guard exempts. */
  exempt: Agent;
}

function closedError(): ParleyError {
  return new ParleyError('NET_FAILED', { reason: 'the client has been closed' });
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** Passes a ParleyError of the guard's lookup through; other network errors are reported without addresses. */
function asNetError(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  if (error instanceof Error && error.cause instanceof ParleyError) return error.cause;
  const code = (error as { code?: unknown } | null)?.code;
  const reason =
    (typeof code === 'string' ? REASONS[code] : undefined) ?? (typeof code === 'string' ? code : reasonOf(error));
  return new ParleyError('NET_FAILED', { reason }, { cause: error });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name cannot be resolved',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed early',
  UND_ERR_SOCKET: 'the connection was closed early',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_HEADERS_OVERFLOW: 'the reply has too many headers',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the reply does not have its declared length',
  UND_ERR_INVALID_ARG: 'the request cannot be sent: a header or the address is malformed',
};

/**
 * Reads a whole response body. Stops at `maxBytes`, which destroys the body and its connection.
 * @throws ParleyError NET_TOO_LARGE
 */
export async function readBody(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new ParleyError('NET_TOO_LARGE', { maxBytes });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
