import type { Agent } from 'undici';
import type { Readable } from 'node:stream';
import { type Clock, delay } from '../../../base/clock.js';
import { abortAfter } from '../../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { Random } from '../../../base/random.js';
import type { FileLocation } from '../../../settings/file-location.js';
import type { Payload } from './payload.js';
import { type AccessKey, EMPTY_PAYLOAD, encoded, presignedQuery, queryText, signed } from './signature.js';
import { textIn } from './xml.js';

export interface S3ClientOptions {
  location: FileLocation;
  key: AccessKey;
  /** A real-time clock. */
  clock: Clock;
  nowUnixMs: () => number;
  /** Of the jitter between attempts. */
  seed: number;
  /** The wait before the second attempt, in milliseconds; doubled before each further one. Default 200. */
  retryMs?: number;
}

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Without the prefix; null = the bucket. */
  key: string | null;
  query?: Readonly<Record<string, string>>;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  body?: Payload;
  /** For the whole request with its answer. Default 30 s. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface S3Reply {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  text: string;
}

const ATTEMPTS = 3;
const RETRY_MS = 200;
const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;
/** A store that sends nothing for this long is given up. */
const SILENT_MS = 30_000;
const CONNECTIONS = 32;
/** Largest answer that is not a file: a page of a listing. */
const MAX_TEXT_BYTES = 8_388_608;

/** Codes of refusals that pass: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const PASSING = new Set(['RequestTimeout', 'SlowDown', 'InternalError', 'ServiceUnavailable', 'OperationAborted']);
const SKEWED = 'RequestTimeTooSkewed';
/** S3 accepts signatures of 15 minutes ago. */
const MAX_SKEW_MS = 600_000;

/** Sends signed requests to a bucket. Each has a deadline and, unless it streams, up to three attempts. */
export class S3Client {
  /** Names the store in errors. */
  readonly name: string;
  readonly #options: S3ClientOptions;
  readonly #host: string;
  readonly #origin: string;
  readonly #base: string;
  readonly #random: Random;
  readonly #closed = new AbortController();
  #agent: Promise<Agent> | null = null;
  /** The store's time minus ours, once it refused a request for that. */
  #skewMs = 0;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    const { bucket, endpoint, pathStyle, prefix } = options.location;
    const url = new URL(endpoint);
    if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
    this.#host = url.host;
    this.#origin = url.origin;
    this.#base = pathStyle ? `/${bucket}` : '';
    this.name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  }

  /** A key with the prefix. */
  keyOf(key: string): string {
    const { prefix } = this.#options.location;
    return prefix === '' ? key : `${prefix}/${key}`;
  }

  /**
   * Sends a request and reads its answer, of which each status below 300 is a success; 404 is an answer, too.
   * @throws ParleyError FILE_STORE_FAILED if another attempt may succeed later; FILE_STORE_REFUSED. Details `code` and
   *   `status` are the store's
   */
  async send(request: S3Request): Promise<S3Reply> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(request);
      } catch (error) {
        if (!(error instanceof ParleyError) || request.signal?.aborted === true || this.#closed.signal.aborted) {
          throw error;
        }
        const isSkewed = error.details['code'] === SKEWED;
        if (attempt === ATTEMPTS || !(error.retryable || (isSkewed && attempt === 1))) throw error;
        if (!isSkewed) await this.#wait(attempt, request.signal);
      }
    }
  }

  /**
   * The body of a file, as it arrives.
   * @throws as `send`; errors of the connection come from the stream
   */
  async stream(key: string, headers: Readonly<Record<string, string>>): Promise<Readable> {
    const reply = await this.#dispatch({ method: 'GET', key, headers }, this.#closed.signal);
    if (reply.statusCode < 300) return reply.body;
    throw this.#refusal({ status: reply.statusCode, headers: flat(reply.headers), text: await textOf(reply.body) });
  }

  /** A link to a file that needs no key. @param query changes the headers of the answer */
  link(key: string, query: Readonly<Record<string, string>>, lifeS: number): string {
    const path = this.#pathOf(key);
    const request = { method: 'GET', host: this.#host, path, query };
    const signature = presignedQuery(request, this.#scope, { unixMs: this.#unixMs, lifeS });
    return `${this.#origin}${path}?${signature}`;
  }

  /** Ends all requests. May be called twice. */
  async close(): Promise<void> {
    this.#closed.abort(this.#failure('the daemon is closing'));
    await (await this.#agent)?.destroy();
  }

  get #unixMs(): number {
    return this.#options.nowUnixMs() + this.#skewMs;
  }

  get #scope(): { key: AccessKey; region: string; service: string } {
    return { key: this.#options.key, region: this.#options.location.region, service: 's3' };
  }

  async #once(request: S3Request): Promise<S3Reply> {
    const { timeoutMs = TIMEOUT_MS, signal } = request;
    const either = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    const deadline = abortAfter(this.#options.clock, timeoutMs, either);
    let reply: S3Reply;
    try {
      const { statusCode, headers, body } = await this.#dispatch(request, deadline.signal);
      reply = { status: statusCode, headers: flat(headers), text: await textOf(body) };
    } catch (error) {
      if (error instanceof ParleyError) throw error;
      throw this.#failure(reasonOf(deadline.signal.aborted ? deadline.signal.reason : error), error);
    } finally {
      deadline.cancel();
    }
    // A long request answers 200 before it knows whether it will succeed.
    if ((reply.status < 300 && !/<Error[\s>]/.test(reply.text.slice(0, 500))) || reply.status === 404) return reply;
    throw this.#refusal(reply);
  }

  async #dispatch(request: Omit<S3Request, 'timeoutMs'>, signal: AbortSignal): ReturnType<Agent['request']> {
    const { method, key, query = {}, headers = {}, body } = request;
    this.#closed.signal.throwIfAborted();
    const path = key === null ? `${this.#base}/` : this.#pathOf(key);
    const payload = body?.sha256 ?? EMPTY_PAYLOAD;
    const all: Record<string, string> = { ...headers, 'x-amz-content-sha256': payload };
    // Buckets with Object Lock ask for it, and the deletion of several files.
    if (body !== undefined) all['content-md5'] = body.md5.toString('base64');
    const signable = { method, host: this.#host, path, query, headers: all, payload };
    const sent = signed(signable, this.#scope, this.#unixMs);
    if (body !== undefined) sent['content-length'] = String(body.bytes);
    const agent = await this.#open();
    const text = queryText(query);
    return agent.request({
      origin: this.#origin,
      path: text === '' ? path : `${path}?${text}`,
      method,
      headers: { ...sent, 'user-agent': 'parley' },
      body: body?.open() ?? null,
      signal,
    });
  }

  #open(): Promise<Agent> {
    this.#agent ??= import('../../../base/undici.js').then(
      ({ Agent: Client }) =>
        new Client({
          connections: CONNECTIONS,
          headersTimeout: SILENT_MS,
          bodyTimeout: SILENT_MS,
          connect: { timeout: CONNECT_MS },
        }),
    );
    return this.#agent;
  }

  #pathOf(key: string): string {
    return `${this.#base}/${this.keyOf(key).split('/').map(encoded).join('/')}`;
  }

  async #wait(attempt: number, signal?: AbortSignal): Promise<void> {
    const { retryMs = RETRY_MS, clock } = this.#options;
    const most = retryMs * 2 ** (attempt - 1);
    const either = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    await delay(clock, most * (0.5 + this.#random.next() / 2), either);
  }

  #refusal({ status, headers, text }: S3Reply): ParleyError {
    const code = textIn(text, 'Code') ?? `status ${String(status)}`;
    const isSkewed = this.#adjustClock(status, code, headers['date'] ?? '');
    const region = headers['x-amz-bucket-region'];
    const message = textIn(text, 'Message');
    const place = region === undefined || region === this.#options.location.region ? '' : `; its region is ${region}`;
    const reason = `${code}${message === null ? '' : ` (${message})`}${place}`;
    const isPassing = status >= 500 || status === 429 || status === 408 || PASSING.has(code);
    return new ParleyError(isPassing && status !== 501 ? 'FILE_STORE_FAILED' : 'FILE_STORE_REFUSED', {
      store: this.name,
      reason,
      code: isSkewed ? SKEWED : code,
      status,
    });
  }

  /** Learns the store's time from a refusal for ours. Answers to HEAD have no code. */
  #adjustClock(status: number, code: string, date: string): boolean {
    const aheadMs = Date.parse(date) - this.#options.nowUnixMs();
    const isSkewed = code === SKEWED || (status === 403 && Math.abs(aheadMs - this.#skewMs) > MAX_SKEW_MS);
    if (isSkewed && !Number.isNaN(aheadMs)) this.#skewMs = aheadMs;
    return isSkewed;
  }

  #failure(reason: string, cause?: unknown): ParleyError {
    return new ParleyError('FILE_STORE_FAILED', { store: this.name, reason }, { cause });
  }
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

async function textOf(body: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece as Buffer);
    bytes += (piece as Buffer).length;
    if (bytes > MAX_TEXT_BYTES) throw new Error('the answer is too long');
  }
  return Buffer.concat(pieces).toString('utf8');
}
