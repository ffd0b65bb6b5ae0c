import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { boundedIssues, InvalidConfigError, type Location, type ValidationIssue } from '../../schema/issues.js';
import { type ErrorCode, ParleyError } from '../../base/errors.js';
import { storageFault } from '../../store/sqlite.js';
import { isOpenAiPath, openAiError } from './openai-error.js';

/** The body of an error answer. */
export interface ErrorReply {
  detail: string | readonly ValidationIssue[];
  code: ErrorCode;
  request_id: string;
  /** With COMMAND_REFUSED. */
  why?: unknown;
}

/**
 * Answers every error with `{detail: string}`, or with status 422 and `{detail: [{loc, msg, type}]}`. The body also has
 * the code of the catalogue and the id of the request.
 * @param onFault called for internal faults, of which the client gets no details
 */
export function errorReplies(
  onFault: (error: Error, requestId: string) => void,
): (error: FastifyError | ParleyError | Error, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, request, reply) => {
    const known = error instanceof ParleyError ? error : (diskFull(error) ?? requestFault(error, request));
    if (known.code === 'INTERNAL') onFault(error, request.id);
    if (known.httpStatus === 429) {
      void reply.header('retry-after', String(known.details['retryAfterS'] ?? known.details['seconds'] ?? 1));
    }
    refuse(reply, known);
  };
}

/** Sends an error as the answer. */
export function refuse(reply: FastifyReply, error: ParleyError): void {
  if (isOpenAiPath(reply.request.url)) {
    const refusal = openAiError(error);
    void reply.code(refusal.status).send({ error: refusal.error });
    return;
  }
  const { code } = error.cause instanceof ParleyError && error instanceof InvalidConfigError ? error.cause : error;
  const isInvalid = error instanceof InvalidConfigError || error.httpStatus === 422;
  const detail = isInvalid ? boundedIssues(issuesOf(error)) : error.message;
  const refusal: ErrorReply = { detail, code, request_id: reply.request.id, why: error.details['why'] };
  void reply.code(isInvalid ? 422 : error.httpStatus).send(refusal);
}

/** An error of status 422 with its place in the request. Other errors stay unchanged. */
export function faultAt(loc: Location, error: unknown): unknown {
  if (!(error instanceof ParleyError) || error instanceof InvalidConfigError || error.httpStatus !== 422) return error;
  return new InvalidConfigError(issuesOf(error, loc), error);
}

function issuesOf(error: ParleyError, loc: Location = ['body']): readonly ValidationIssue[] {
  if (error instanceof InvalidConfigError) return error.issues;
  const type = error.code === 'REQUEST_INVALID' ? 'request_invalid' : 'value_error';
  return [{ loc, msg: error.message, type }];
}

/** The error for a full disk, which a client may retry; null = the error has another cause. */
function diskFull(error: Error): ParleyError | null {
  const fault = storageFault(error, '');
  return fault?.code === 'DISK_FULL' ? fault : null;
}

/** The catalogue's error for a fault that the HTTP server itself found. */
function requestFault(error: FastifyError | Error, { routeOptions }: FastifyRequest): ParleyError {
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500;
  if (status === 413) return new ParleyError('BODY_TOO_LARGE', { limit: routeOptions.bodyLimit }, { cause: error });
  if ('code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new InvalidConfigError([{ loc: ['body'], msg: error.message, type: 'content_type_invalid' }]);
  }
  if (status >= 400 && status < 500) {
    return new ParleyError('REQUEST_INVALID', { reason: error.message }, { cause: error });
  }
  return new ParleyError('INTERNAL', {}, { cause: error });
}

/**
 * Answers requests without a route: 405 with the allowed methods if only the method is wrong (RFC 9110, 15.5.6), else
 * 404. Call it before the routes are added.
 * @param prefix the base path, as the client knows it
 */
export function answerUnknownRoutes(app: FastifyInstance, prefix: string): void {
  const routes: { segments: string[]; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ segments: url.split('/'), methods: [method].flat() });
  });
  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?')[0] ?? '';
    const allowed = new Set(routes.filter(({ segments }) => fits(path, segments)).flatMap(({ methods }) => methods));
    if (allowed.size === 0) {
      refuse(reply, new ParleyError('ROUTE_UNKNOWN', { method: request.method, path: `${prefix}${path}` }));
      return;
    }
    const methods = [...allowed].sort().join(', ');
    void reply.header('allow', methods);
    refuse(reply, new ParleyError('METHOD_NOT_ALLOWED', { method: request.method, allowed: methods }));
  });
}

/** Whether a path matches that of a route; `:name` matches any one segment. */
function fits(path: string, route: readonly string[]): boolean {
  const segments = path.split('/');
  return segments.length === route.length && route.every((part, at) => part.startsWith(':') || part === segments[at]);
}
