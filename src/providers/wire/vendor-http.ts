import { raceAbort } from '../../base/deadlines.js';
import type { Dispatcher, Pool } from 'undici';
import { ParleyError } from '../../base/errors.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { connectionReason, failed, messageIn, statusError, withoutSecrets } from './vendor-error.js';
import type { Clock } from '../../base/clock.js';
import { Deadlines } from '../deadlines.js';
import { type JsonObject, parseObject } from './json.js';

export interface VendorHttpOptions {
  /** The vendor's name in errors. */
  provider: string;
  /** API root, http or https, with a path if there is one. */
  baseUrl: string;
  /** Headers of every request, including keys. */
  headers: Readonly<Record<string, string>>;
  /** Keys to redact in errors. */
  secrets: readonly string[];
  /** Timeout for connecting. Default 5000 ms. */
  connectTimeoutMs?: number;
  /** Maximum number of connections. Default 64. */
  maxConnections?: number;
}

export interface VendorRequest {
  method: 'GET' | 'POST';
  /** Path below the root, with leading slash and query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** On abort the request fails with its reason, and the connection is closed. */
  signal: AbortSignal;
}

export interface VendorReply {
  /** 200 to 299. */
  status: number;
  /** Lower case, without parameters. */
  contentType: string;
  /** Fails with a ParleyError if it breaks off, with the signal's reason when that is aborted. */
  body: AsyncIterable<Buffer>;
}

const MAX_ERROR_BYTES = 65_536;

/**
 * A vendor's HTTP API over keep-alive connections. The operator configures vendors, so the address may be private. The
 * caller sets deadlines through the signal.
 */
export class VendorHttp {
  readonly #options: VendorHttpOptions;
  readonly #basePath: string;
  readonly #pool: Promise<Pool>;
  #closed = false;

  /** @throws ParleyError CONFIG_INVALID for an invalid address */
  constructor(options: VendorHttpOptions) {
    const { baseUrl, provider } = options;
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new ParleyError('CONFIG_INVALID', {
        reason: `the base URL of ${provider} must be an http or https address`,
      });
    }
    this.#options = options;
    this.#basePath = url.pathname.replace(/\/+$/, '');
    // The caller's signal covers every wait, so undici's own timeouts are off.
    const settings = {
      connections: options.maxConnections ?? 64,
      keepAliveTimeout: 60_000,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: options.connectTimeoutMs ?? 5000 },
    };
    this.#pool = import('../../base/undici.js').then(({ Pool }) => new Pool(url.origin, settings));
  }

  /**
   * Resolves when the reply's headers have arrived. A request on a dead keep-alive connection is retried once.
   * @throws ParleyError PROVIDER_REFUSED, PROVIDER_FAILED, SESSION_CLOSED; the signal's reason when it is aborted
   */
  async send(request: VendorRequest): Promise<VendorReply> {
    for (let isAgain = false; ; isAgain = true) {
      if (this.#closed) throw new ParleyError('SESSION_CLOSED');
      request.signal.throwIfAborted();
      try {
        // undici reacts to an abort only once it has a connection, so its answer is not waited for.
        return await this.#reply(await raceAbort(this.#dispatch(request), request.signal), request.signal);
      } catch (error) {
        const isDead = !isAgain && (error as { code?: unknown } | null)?.code === 'UND_ERR_SOCKET';
        if (!isDead || request.signal.aborted) throw this.#wrap(error, request.signal);
      }
    }
  }

  /** Aborts requests in flight. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await (await this.#pool).destroy();
  }

  async #dispatch({ method, path, headers = {}, body, signal }: VendorRequest): Promise<Dispatcher.ResponseData> {
    return (await this.#pool).request({
      method,
      path: this.#basePath + path,
      headers: { 'user-agent': 'parley', ...this.#options.headers, ...headers },
      body: body ?? null,
      signal,
    });
  }

  async #reply(response: Dispatcher.ResponseData, signal: AbortSignal): Promise<VendorReply> {
    const { statusCode: status, headers } = response;
    if (status < 200 || status > 299) {
      const text = await bounded(response.body);
      const reason = this.#clean(messageIn(text));
      throw statusError(this.#options.provider, status, reason, retryAfterMs(headers, nowUnixMs()));
    }
    const [contentType = ''] = String(headers['content-type'] ?? '').split(';');
    return { status, contentType: contentType.trim().toLowerCase(), body: this.#body(response.body, signal) };
  }

  async *#body(body: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of body) yield chunk;
    } catch (error) {
      throw this.#wrap(error, signal);
    }
  }

  #wrap(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof ParleyError) return error;
    if (this.#closed) return new ParleyError('SESSION_CLOSED');
    return failed(this.#options.provider, this.#clean(connectionReason(error)));
  }

  #clean(text: string): string {
    return withoutSecrets(text, this.#options.secrets);
  }
}

/** The start of an error body. */
async function bounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** `Date.parse` would also read a plain number as a year. */
const HTTP_DATE = /^[a-z]{3}, \d{2} [a-z]{3} \d{4} [\d:]{8} GMT$/i;

/**
 * How long a server asks its client to wait, in ms: `retry-after-ms` (OpenAI, Azure), or `retry-after` in seconds or as
 * a date (RFC 9110, section 10.2.3). Null = it does not say.
 * @param unixMs milliseconds since 1970, for dates
 */
export function retryAfterMs(headers: Headers, unixMs: number): number | null {
  const exact = numberIn(headers['retry-after-ms']);
  if (exact !== null) return exact;
  const seconds = numberIn(headers['retry-after']);
  if (seconds !== null) return seconds * 1000;
  const date = headers['retry-after'];
  if (typeof date !== 'string' || !HTTP_DATE.test(date)) return null;
  const atMs = Date.parse(date);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - unixMs);
}

function numberIn(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string' || !/^\s*\d+(\.\d+)?\s*$/.test(value)) return null;
  return Number(value);
}

export interface PostOptions {
  /** The vendor's name in errors. */
  provider: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: object;
  /** Timeout for the whole reply. */
  timeoutMs: number;
  /** Keys to redact in errors. */
  secrets: readonly string[];
  clock: Clock;
  signal: AbortSignal;
}

const MAX_REPLY_CHARS = 262_144;

/**
 * One small request to a vendor; the reply is a JSON object.
 * @throws ParleyError PROVIDER_TIMEOUT, PROVIDER_REFUSED, PROVIDER_FAILED; the signal's reason when it is aborted
 */
export async function postJson(options: PostOptions): Promise<JsonObject> {
  const { provider, url, headers, body, timeoutMs, secrets, clock, signal } = options;
  const deadlines = new Deadlines(clock, provider, signal);
  deadlines.within(timeoutMs);
  try {
    const { request } = await import('../../base/undici.js');
    const reply = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: JSON.stringify(body),
      headersTimeout: 0,
      bodyTimeout: 0,
      signal: deadlines.signal,
    });
    let text = '';
    for await (const chunk of reply.body.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MAX_REPLY_CHARS) throw failed(provider, 'its reply is too long');
    }
    if (reply.statusCode >= 300) {
      throw statusError(provider, reply.statusCode, withoutSecrets(messageIn(text), secrets));
    }
    const read = parseObject(text);
    if (read === null) throw failed(provider, 'its reply is not a JSON object');
    return read;
  } catch (error) {
    if (deadlines.signal.aborted) throw deadlines.signal.reason;
    throw error instanceof ParleyError
      ? error
      : failed(provider, withoutSecrets(connectionReason(error), secrets), error);
  } finally {
    deadlines.end();
  }
}
