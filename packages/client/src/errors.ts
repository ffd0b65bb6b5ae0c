import type { ErrorCode } from './generated/codes.js';

/** A fault of the request, as answers with status 422 list them. */
export interface ValidationFault {
  /** The place: `body`, `query` or `path`, then names and indexes. */
  loc: readonly (string | number)[];
  msg: string;
  /** A stable code. */
  type: string;
}

/** What an error is made of. */
export interface ApiErrorParts {
  status: number;
  code: string;
  detail: string;
  faults?: readonly ValidationFault[];
  requestId?: string | null;
  retryAfterMs?: number | null;
}

/** The daemon refuses a request or fails. `code` tells programs why; docs/errors.md explains each one. */
export class ParleyApiError extends Error {
  override readonly name = 'ParleyApiError';
  /** The HTTP status. An error in the middle of a stream has 200, the status of the stream. */
  readonly status: number;
  /** A code of parley, or `HTTP_` and the status if the answer comes from something else, such as a proxy. */
  readonly code: ErrorCode;
  /** What is wrong, in a sentence. */
  readonly detail: string;
  /** Each fault of a request that is not valid; [] with other errors. */
  readonly faults: readonly ValidationFault[];
  /** The request's id in the daemon's log; null = the answer has none. */
  readonly requestId: string | null;
  /** How long the daemon asks to wait; null = it does not say. */
  readonly retryAfterMs: number | null;

  constructor({ status, code, detail, faults = [], requestId = null, retryAfterMs = null }: ApiErrorParts) {
    super(`${detail} (${code}, status ${String(status)})`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.faults = faults;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer: the daemon cannot be reached, does not answer in time, or the connection breaks. See `cause`. */
export class ParleyConnectionError extends Error {
  override readonly name = 'ParleyConnectionError';
  /** Whether `timeoutMs` is over. */
  readonly isTimeout: boolean;

  constructor(message: string, cause: unknown, isTimeout = false) {
    super(message, { cause });
    this.isTimeout = isTimeout;
  }
}

/**
 * Whether an error is an answer of the daemon, with one of the codes if any are given.
 *
 *     catch (error) {
 *       if (isParleyError(error, 'NOT_FOUND', 'AGENT_DISABLED')) …
 *     }
 */
export function isParleyError<C extends ErrorCode>(
  error: unknown,
  ...codes: readonly C[]
): error is ParleyApiError & { readonly code: C } {
  return error instanceof ParleyApiError && (codes.length === 0 || (codes as readonly string[]).includes(error.code));
}

/** The error that an answer tells of. Reads its body. */
export async function errorOf(response: Response): Promise<ParleyApiError> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const parts: ApiErrorParts = {
    status,
    code: `HTTP_${String(status)}`,
    detail: text.slice(0, 500) || response.statusText || `The answer has status ${String(status)}`,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterOf(headers.get('retry-after'), Date.now()),
  };
  try {
    const { detail, code, request_id: requestId } = JSON.parse(text) as Record<string, unknown>;
    if (typeof code === 'string') parts.code = code;
    if (typeof requestId === 'string') parts.requestId = requestId;
    if (typeof detail === 'string') parts.detail = detail;
    if (Array.isArray(detail)) {
      parts.faults = detail as ValidationFault[];
      parts.detail = parts.faults.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
    }
  } catch {
    // It is not of the daemon.
  }
  return new ParleyApiError(parts);
}

/** The header `retry-after` in milliseconds: seconds or a date (RFC 9110, 10.2.3). */
export function retryAfterOf(header: string | null, nowUnixMs: number): number | null {
  if (header === null || header.trim() === '') return null;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowUnixMs;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
