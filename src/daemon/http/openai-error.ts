import type { Location } from '../../schema/issues.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { ErrorCode, ParleyError } from '../../base/errors.js';

/** The error of OpenAI's interfaces: the body of an answer, and the `error` of an event. */
export interface OpenAiError {
  message: string;
  type: OpenAiErrorType;
  /** The member of the request that is wrong. */
  param: string | null;
  code: string;
}

type OpenAiErrorType = 'invalid_request_error' | 'authentication_error' | 'rate_limit_error' | 'server_error';

/** Paths whose answers follow OpenAI's interface. */
export function isOpenAiPath(url: string): boolean {
  return url.startsWith('/v1/');
}

/** OpenAI's codes, which clients compare. All others are those of the catalogue in lower case. */
const CODES: Partial<Record<ErrorCode, string>> = {
  AUTH_REQUIRED: 'invalid_api_key',
  RATE_LIMITED: 'rate_limit_exceeded',
  SESSIONS_FULL: 'rate_limit_exceeded',
  ROUTE_UNKNOWN: 'unknown_url',
};
/** Codes of a fault's place by the type of the fault. */
const ISSUE_CODES: Readonly<Record<string, string>> = {
  missing: 'missing_required_parameter',
  unsupported_parameter: 'unsupported_parameter',
  unsupported_value: 'unsupported_value',
  extra_forbidden: 'unknown_parameter',
};

/** The status of the answer and its `error`. The first fault of an invalid request stands for all. */
export function openAiError(error: ParleyError): { status: number; error: OpenAiError } {
  if (error instanceof InvalidConfigError) {
    const [issue] = error.issues;
    const others = error.issues.length - 1;
    const more = others > 0 ? ` (and ${String(others)} more)` : '';
    return {
      status: 400,
      error: {
        message: `${issue?.msg ?? error.message}${more}`,
        type: 'invalid_request_error',
        param: issue === undefined ? null : paramOf(issue.loc),
        code: ISSUE_CODES[issue?.type ?? ''] ?? 'invalid_value',
      },
    };
  }
  const { httpStatus, code, message, details } = error;
  const status = httpStatus === 422 ? 400 : httpStatus;
  const isModel = code === 'NOT_FOUND' && details['what'] === 'agent';
  const name = isModel ? 'model_not_found' : (CODES[code] ?? code.toLowerCase());
  const param = isModel || code === 'AGENT_AMBIGUOUS' ? 'model' : null;
  return { status, error: { message, type: typeOf(status), param, code: name } };
}

function typeOf(status: number): OpenAiErrorType {
  if (status === 401) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** `messages[0].content`, as OpenAI names members; null = the request as a whole. */
function paramOf(loc: Location): string | null {
  const [first, ...rest] = loc[0] === 'body' ? loc.slice(1) : loc;
  if (first === undefined || typeof first === 'number') return null;
  return rest.reduce<string>(
    (path, part) => (typeof part === 'number' ? `${path}[${String(part)}]` : `${path}.${part}`),
    first,
  );
}
