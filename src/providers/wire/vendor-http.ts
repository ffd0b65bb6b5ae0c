import type { Dispatcher, Pool } from 'undici';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { failed, messageIn, statusError, withoutSecrets } from './vendor-error.js';

export interface VendorHttpOptions {
  /** The vendor's name in errors. */
  provider: string;
  /** Root of the API, http or https, with a path where it has one. */
  baseUrl: string;
  /** Go with every request; keys are among them. */
  headers: Readonly<Record<string, string>>;
  /** Keys: they are taken out of all that is told of an error. */
  secrets: readonly string[];
  /** Until a connection stands. Default 5000 ms. */
  connectTimeoutMs?: number;
  /** Connections at once. Default 64. */
  maxConnections?: number;
}

export interface VendorRequest {
  method: 'GET' | 'POST';
  /** Below the root, with its slash and its query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Aborted = the request fails with its reason, and the connection is closed. */
  signal: AbortSignal;
}

export interface VendorReply {
  /** 200 to 299. */
  status: number;
  /** In lower case, without its parameters. */
  contentType: string;
  /** Fails with a ParleyError where it breaks off, with the signal's reason where that is aborted. */
  body: AsyncIterable<Buffer>;
}

const MAX_ERROR_BYTES = 65_536;

/**
 * A vendor's HTTP API over connections that are kept. A vendor is configured by the operator: its address may be
 * private. Deadlines are the caller's, by the signal.
 */
export class VendorHttp {
  readonly #options: VendorHttpOptions;
  readonly #basePath: string;
  readonly #pool: Promise<Pool>;
  #closed = false;

  /** @throws ParleyError CONFIG_INVALID for an address that is none */
  constructor(options: VendorHttpOptions) {
    const { baseUrl, provider } = options;
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new ParleyError('CONFIG_INVALID', { reason: `the address of ${provider} is no http(s) address` });
    }
    this.#options = options;
    this.#basePath = url.pathname.replace(/\/+$/, '');
    // Every wait has its deadline in the caller's signal; undici's timers would only be second ones.
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
   * The reply to a request, once its head is there. A request that found its kept connection dead is sent once more.
   * @throws ParleyError PROVIDER_REFUSED, PROVIDER_FAILED, SESSION_CLOSED; the signal's reason when it is aborted
   */
  async send(request: VendorRequest): Promise<VendorReply> {
    for (let isAgain = false; ; isAgain = true) {
      if (this.#closed) throw new ParleyError('SESSION_CLOSED');
      request.signal.throwIfAborted();
      try {
        return await this.#reply(await untilAborted(this.#dispatch(request), request.signal), request.signal);
      } catch (error) {
        const isDead = !isAgain && (error as { code?: unknown } | null)?.code === 'UND_ERR_SOCKET';
        if (!isDead || request.signal.aborted) throw this.#wrap(error, request.signal);
      }
    }
  }

  /** Breaks off what is under way. May be called twice. */
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
      throw statusError(this.#options.provider, status, this.#clean(messageIn(text)));
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
    return failed(this.#options.provider, this.#clean(reasonOf(error)));
  }

  #clean(text: string): string {
    return withoutSecrets(text, this.#options.secrets);
  }
}

/** undici reacts to an abort only once it has a connection, so its answer is not waited for. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** The beginning of an error's text. */
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
