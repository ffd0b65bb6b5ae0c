import { errorOf, isParleyError, ParleyApiError, ParleyConnectionError } from './errors.js';
import { Pages, type PageShape } from './pages.js';
import { eventsOf, type ServerSentEvent } from './server-sent-events.js';
import { either, pause } from './waiting.js';

/** Where the daemon is and how to ask it. */
export interface ParleyOptions {
  /** The daemon's address, such as `https://calls.example.com`; a path before its endpoints may follow. */
  baseUrl: string;
  /** A private key, or a token where an endpoint takes one. */
  apiKey?: string | undefined;
  /** Takes the place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** How long an answer may take to begin, in milliseconds. Default 60 000. 0 = for ever. */
  timeoutMs?: number | undefined;
  /** How often a request is sent again after a failure that may pass. Default 2. */
  maxRetries?: number | undefined;
  /** Headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Options of one request. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  maxRetries?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Requests with the same key have one effect. Default a new key, at the endpoints that take one. */
  idempotencyKey?: string | undefined;
}

/** Options of a stream of events. */
export interface StreamOptions extends RequestOptions {
  /** The id of the last event that was received: the stream goes on behind it. */
  lastEventId?: string | undefined;
}

/** An event of a stream with several kinds of events. */
export interface NamedEvent<E extends string, T> {
  event: E;
  data: T;
  /** For `lastEventId`; null = the event has none. */
  id: string | null;
}

/** What a method asks. @internal */
export interface Parts {
  query?: object | undefined;
  /** Sent as JSON. */
  body?: unknown;
  file?: Blob;
  /** Whether the endpoint takes an `idempotency-key`. */
  isIdempotent?: boolean;
}

/** What a stream sends. @internal */
export interface StreamShape {
  /** Whether it sends events of several kinds. */
  isNamed: boolean;
  /** The member of an event and its values behind which nothing comes; null = it never ends. */
  last: { member: string; values: readonly unknown[] } | null;
}

const TIMEOUT_MS = 60_000;
const MAX_RETRIES = 2;
/** How often a stream is opened again without an event in between: long enough for a restart of the daemon. */
const REOPENINGS = 8;
/** A stream sends a comment after 10 s without an event: one that is silent for this long is broken. */
const SILENCE_MS = 45_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const SAFE = new Set(['GET', 'PUT', 'DELETE']);

/** The path of an endpoint: values between slashes are escaped. @internal */
export function path(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return texts.reduce((whole, text, at) => `${whole}${encodeURIComponent(String(values[at - 1] ?? ''))}${text}`);
}

/** Sends requests, again where that is safe, and reads answers. @internal */
export class Http {
  readonly #options: ParleyOptions;
  readonly #base: string;

  constructor(options: ParleyOptions) {
    let url: URL | null = null;
    try {
      url = new URL(options.baseUrl);
    } catch {
      // Refused below.
    }
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new TypeError(`baseUrl is the daemon's address, such as http://127.0.0.1:8080, not ${options.baseUrl}`);
    }
    this.#options = options;
    this.#base = url.href.replace(/[?#].*$/, '').replace(/\/+$/, '');
  }

  json<T>(method: string, at: string, parts: Parts = {}, options: RequestOptions = {}): Promise<T> {
    return this.#send(method, at, parts, options, (response) => response.json() as Promise<T>);
  }

  text(method: string, at: string, parts: Parts = {}, options: RequestOptions = {}): Promise<string> {
    return this.#send(method, at, parts, options, (response) => response.text());
  }

  blob(method: string, at: string, parts: Parts = {}, options: RequestOptions = {}): Promise<Blob> {
    return this.#send(method, at, parts, options, (response) => response.blob());
  }

  pages<T, P>(at: string, shape: PageShape, query: object = {}, options: RequestOptions = {}): Pages<T, P> {
    return new Pages((cursor) => {
      const next = cursor === null ? query : { ...query, [shape.cursor]: cursor };
      return this.json<P>('GET', at, { query: next }, options);
    }, shape);
  }

  /** The data of one answer's events, up to `[DONE]`. */
  async *answer<T>(method: string, at: string, parts: Parts, options: RequestOptions = {}): AsyncGenerator<T, void> {
    const connection = new AbortController();
    const signal = either(connection.signal, options.signal);
    try {
      const response = await this.#send(method, at, parts, { ...options, signal }, asItIs);
      for await (const { data } of this.#events(response, connection, signal)) {
        if (data === '[DONE]') return;
        const { error } = JSON.parse(data) as { error?: { code: string; message: string } };
        if (error !== undefined) throw errorWithin(response, error);
        yield JSON.parse(data) as T;
      }
      throw new ParleyConnectionError('The answer broke off', undefined);
    } finally {
      connection.abort();
    }
  }

  /** The events of a stream. A stream that breaks off is opened again behind the last event. */
  async *events<T>(at: string, shape: StreamShape, options: StreamOptions = {}): AsyncGenerator<T, void> {
    const { maxRetries = REOPENINGS } = options;
    let lastId = options.lastEventId ?? null;
    let failures = 0;
    for (let isFirst = true; ; isFirst = false) {
      const connection = new AbortController();
      const signal = either(connection.signal, options.signal);
      let fault: Error | null = null;
      try {
        const headers = lastId === null ? options.headers : { ...options.headers, 'last-event-id': lastId };
        const again = isFirst ? options.maxRetries : 0;
        const request = { ...options, headers, maxRetries: again, signal };
        const response = await this.#send('GET', at, {}, request, asItIs);
        for await (const { event, data: text, id } of this.#events(response, connection, signal)) {
          failures = 0;
          if (id !== null) lastId = id;
          const data = JSON.parse(text) as unknown;
          yield (shape.isNamed ? { event, data, id } : data) as T;
          if (isLast(data, shape)) return;
        }
      } catch (error) {
        // What it told of has been deleted meanwhile.
        if (!isFirst && isParleyError(error) && error.status === 404) return;
        if ((isFirst && isParleyError(error)) || !mayPass(error, true)) throw error;
        fault = error as Error;
      } finally {
        connection.abort();
      }
      if (failures >= maxRetries) throw fault ?? new ParleyConnectionError('The stream ends too early', undefined);
      failures++;
      await pause(pauseMs(failures, isParleyError(fault) ? fault.retryAfterMs : null, Math.random()), options.signal);
    }
  }

  /** The events of an answer, until it ends. Aborts the connection when it is silent for too long. */
  async *#events(
    response: Response,
    connection: AbortController,
    signal: AbortSignal,
  ): AsyncGenerator<ServerSentEvent, void> {
    if (response.body === null) return;
    const silence = new ParleyConnectionError('The stream is silent', undefined, true);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(silence), SILENCE_MS);
    };
    try {
      heard();
      yield* eventsOf(response.body, heard);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new ParleyConnectionError('The stream broke off', error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #send<T>(
    method: string,
    at: string,
    parts: Parts,
    options: RequestOptions,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    const { maxRetries = this.#options.maxRetries ?? MAX_RETRIES, signal } = options;
    const key = options.idempotencyKey ?? (parts.isIdempotent === true ? newKey() : null);
    const headers = this.#headers(parts, options, key);
    const isRepeatable = SAFE.has(method) || key !== null;
    const url = this.#base + at + queryOf(parts.query);
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(url, { method, headers, body: bodyOf(parts) }, options, read);
      } catch (error) {
        const wait = isParleyError(error) ? error.retryAfterMs : null;
        // A wait of minutes is the caller's to decide.
        const isTooLong = wait !== null && wait > LONGEST_PAUSE_MS;
        if (tries > maxRetries || isTooLong || !mayPass(error, isRepeatable)) throw error;
        await pause(pauseMs(tries, wait, Math.random()), signal);
      }
    }
  }

  #headers({ body }: Parts, options: RequestOptions, key: string | null): Headers {
    const headers = new Headers(this.#options.headers);
    if (this.#options.apiKey !== undefined) headers.set('authorization', `Bearer ${this.#options.apiKey}`);
    if (body !== undefined) headers.set('content-type', 'application/json');
    if (key !== null) headers.set('idempotency-key', key);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    return headers;
  }

  /** @throws ParleyApiError, ParleyConnectionError, or the reason of the caller's signal */
  async #once<T>(
    url: string,
    init: RequestInit,
    options: RequestOptions,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    const { timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS } = options;
    const deadline = new AbortController();
    const late = new ParleyConnectionError(`No answer within ${String(timeoutMs)} ms`, undefined, true);
    const timer = timeoutMs > 0 ? setTimeout(() => deadline.abort(late), timeoutMs) : undefined;
    const signal = either(deadline.signal, options.signal);
    // The global one is looked up at each request, so that tests and tracers can replace it.
    const send = this.#options.fetch ?? globalThis.fetch;
    try {
      const response = await send(url, { ...init, signal });
      if (!response.ok) throw await errorOf(response);
      return await read(response);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw isParleyError(error) ? error : new ParleyConnectionError(`No answer of ${this.#base}`, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Leaves the body to the caller. */
function asItIs(response: Response): Response {
  return response;
}

function isLast(data: unknown, { last }: StreamShape): boolean {
  return last !== null && last.values.includes((data as Record<string, unknown>)[last.member]);
}

/**
 * Whether the same request may succeed later. One that may have had an effect is sent again only if that does no harm:
 * 429 and 503 with a time to wait come before any effect.
 */
function mayPass(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof ParleyConnectionError) return isRepeatable;
  if (!isParleyError(error)) return false;
  const isEarly = error.status === 429 || (error.status === 503 && error.retryAfterMs !== null);
  return isEarly || (isRepeatable && [502, 503, 504].includes(error.status));
}

/** The wait before the next try: doubles each time, up to 30 s, with a random half. @param random 0..1 */
export function pauseMs(tries: number, askedMs: number | null, random: number): number {
  if (askedMs !== null) return Math.min(askedMs, LONGEST_PAUSE_MS);
  return Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS) * (0.5 + random / 2);
}

function bodyOf({ body, file }: Parts): string | FormData | null {
  if (file === undefined) return body === undefined ? null : JSON.stringify(body);
  const form = new FormData();
  form.append('file', file);
  return form;
}

function queryOf(query: object = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as [string, string | number | boolean | null | undefined][]) {
    if (value != null) search.append(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** An error in the middle of a stream. */
function errorWithin(
  { status, headers }: Response,
  { code, message }: { code: string; message: string },
): ParleyApiError {
  return new ParleyApiError({ status, code, detail: message, requestId: headers.get('x-request-id') });
}
