import { Pool } from 'undici';
import { type Clock, delay } from '../../../base/clock.js';
import { parseJson } from '../../../base/json.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';

/** A request to a carrier's API. */
export interface RestRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with query, below the root of the API. */
  path: string;
  /** Form fields in order; names may repeat. */
  form?: readonly (readonly [name: string, value: string])[];
  json?: object;
}

export interface RestReply {
  status: number;
  /** The JSON object of the body; empty if it is not one. */
  body: Readonly<Record<string, unknown>>;
}

/**
 * Sends a request exactly once, because a repetition could place a second call. Rejects with CARRIER_UNREACHABLE if it
 * was not sent, with CARRIER_SILENT if that is unknown.
 */
export type Rest = (request: RestRequest, signal: AbortSignal) => Promise<RestReply>;

export interface RestOptions {
  carrier: string;
  /** http or https, with an optional path. */
  baseUrl: string;
  headers: Readonly<Record<string, string>>;
}

const CONNECT_MS = 5_000;
const MOST_BYTES = 4_000_000;
/** Errors of a connection that was never established. */
const NEVER_STOOD = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A carrier's API over HTTP, with keep-alive. @throws ParleyError CONFIG_INVALID for an invalid address */
export function openRest({ carrier, baseUrl, headers }: RestOptions): { rest: Rest; close: () => Promise<void> } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ParleyError('CONFIG_INVALID', { reason: `the address of ${carrier}'s API is not an http(s) address` });
  }
  const root = url.pathname.replace(/\/+$/, '');
  // The caller sets deadlines by the signal.
  const timeouts = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 30_000, connect: { timeout: CONNECT_MS } };
  const pool = new Pool(url.origin, { connections: 16, ...timeouts });
  const rest: Rest = async ({ method, path, form, json }, signal) => {
    signal.throwIfAborted();
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const body = form === undefined ? (json === undefined ? null : JSON.stringify(json)) : formBody(form);
    try {
      const reply = await pool.request({
        method,
        path: root + path,
        body,
        signal,
        headers: {
          'user-agent': 'parley',
          accept: 'application/json',
          ...headers,
          'content-type': body === null ? undefined : type,
        },
      });
      return { status: reply.statusCode, body: await objectIn(reply.body) };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const code = String((error as { code?: unknown } | null)?.code);
      const what = NEVER_STOOD.has(code) ? 'CARRIER_UNREACHABLE' : 'CARRIER_SILENT';
      throw new ParleyError(what, { carrier, reason: reasonOf(error) }, { cause: error });
    }
  };
  return { rest, close: () => pool.destroy() };
}

/** A request with its own deadline, after which it fails with CARRIER_SILENT. */
export async function restWithin(
  { rest, clock, carrier }: { rest: Rest; clock: Clock; carrier: string },
  request: RestRequest,
  timeoutMs: number,
  outer?: AbortSignal,
): Promise<RestReply> {
  const controller = new AbortController();
  const cancel = clock.schedule(clock.nowMs() + timeoutMs, () =>
    controller.abort(
      new ParleyError('CARRIER_SILENT', { carrier, reason: `no answer within ${String(timeoutMs)} ms` }),
    ),
  );
  const signal = outer === undefined ? controller.signal : AbortSignal.any([outer, controller.signal]);
  try {
    return await rest(request, signal);
  } finally {
    cancel();
  }
}

/** Undefined values are left out. */
export function formOf(fields: Readonly<Record<string, string | readonly string[] | undefined>>): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined
      ? []
      : typeof value === 'string'
        ? [[name, value]]
        : value.map((one): [string, string] => [name, one]),
  );
}

function formBody(form: readonly (readonly [string, string])[]): string {
  const params = new URLSearchParams();
  for (const [name, value] of form) params.append(name, value);
  return params.toString();
}

async function objectIn(body: AsyncIterable<Uint8Array>): Promise<Record<string, unknown>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error('its answer is too long');
  }
  try {
    const value: unknown = parseJson(Buffer.concat(chunks).toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

interface RestApiOptions {
  clock: Clock;
  carrier: string;
  rest: Rest;
  /** Prefix of every path. Default none. */
  root?: string;
  /** Extracts the carrier's message and error code from a refusal. */
  refusal: (body: RestReply['body']) => { words: string; code?: string | number | undefined };
}

const REQUEST_MS = 10_000;
/** Carriers accept about one call a second by default, and answer 429 to more. */
const BUSY_MS = 1_000;
const BUSY_TRIES = 5;

/**
 * A carrier's API. Answers are bodies or errors: CARRIER_UNREACHABLE; CARRIER_SILENT if it is unknown whether the
 * request was executed (also for 5xx); CARRIER_REFUSED with the carrier's message. The details of a refusal have
 * `status` and, if there is one, the carrier's `vendorCode`.
 */
export class RestApi {
  readonly #options: RestApiOptions;

  constructor(options: RestApiOptions) {
    this.#options = options;
  }

  /** Asks once. */
  async ask(request: RestRequest, signal: AbortSignal): Promise<RestReply> {
    const { clock, rest, carrier, root = '', refusal } = this.#options;
    const whole = { ...request, path: root + request.path };
    const reply = await restWithin({ rest, clock, carrier }, whole, REQUEST_MS, signal);
    if (reply.status < 300) return reply;
    const { status, body } = reply;
    const { words, code } = refusal(body);
    const details: Record<string, string | number> = {
      carrier,
      status,
      reason: `HTTP ${String(status)}${words === '' ? '' : `: ${words.slice(0, 300)}`}`,
    };
    if (code !== undefined) details['vendorCode'] = code;
    throw new ParleyError(status >= 500 ? 'CARRIER_SILENT' : 'CARRIER_REFUSED', details);
  }

  /** Like `ask`, but retries after 429, which has no effect at the carrier. */
  async patiently(request: RestRequest, signal: AbortSignal): Promise<RestReply> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.ask(request, signal);
      } catch (error) {
        if (!isRefusal(error) || error.details['status'] !== 429 || tries >= BUSY_TRIES) throw error;
      }
      await delay(this.#options.clock, BUSY_MS * tries, signal);
    }
  }

  /** @throws ParleyError CARRIER_SILENT if it is missing: the answer does not match the request */
  textIn(body: Readonly<Record<string, unknown>>, name: string): string {
    const value = body[name];
    if (typeof value === 'string' && value !== '') return value;
    throw new ParleyError('CARRIER_SILENT', { carrier: this.#options.carrier, reason: `its answer has no ${name}` });
  }
}

export function isRefusal(error: unknown): error is ParleyError {
  return error instanceof ParleyError && error.code === 'CARRIER_REFUSED';
}

/** The objects of a list; none if it is not a list. */
export function objectsIn(body: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>>[] {
  const value = body[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
