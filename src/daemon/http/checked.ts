import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { InvalidConfigError, parseWith, type ValidationIssue } from '../../schema/issues.js';
import { fromText } from '../../schema/text.js';
import type { AnyEndpoint, Shape } from './endpoint.js';

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/;

/**
 * The value of a request's JSON body; undefined = there is no body. Another content type, an encoding other than UTF-8
 * and invalid JSON are faults of the body.
 * @throws InvalidConfigError with one issue
 */
export function jsonBody({ body, headers }: FastifyRequest): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim());
  if (!JSON_TYPE.test(type.toLowerCase())) {
    throw fault(`The content type should be application/json${type === '' ? '' : `, not ${type.slice(0, 100)}`}`);
  }
  const charset = parameters.map((parameter) => /^charset="?([^"]*)"?$/i.exec(parameter)?.[1]).find(Boolean);
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw fault('JSON should be encoded in UTF-8');
  return parse(textOf(body));
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw fault('The body is not UTF-8', 'json_invalid');
  }
}

/** Includes the position of the fault if the parser reports it, as FastAPI does. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const place = /at position (\d+)/.exec(reason)?.[1];
    const loc = place === undefined ? ['body'] : ['body', Number(place)];
    throw new InvalidConfigError([{ loc, msg: `JSON decode error: ${reason}`, type: 'json_invalid' }]);
  }
}

function fault(msg: string, type = 'content_type_invalid'): InvalidConfigError {
  const issue: ValidationIssue = { loc: ['body'], msg, type };
  return new InvalidConfigError([issue]);
}

/** Clients usually send no body at all. */
const NO_BODY = z.strictObject({}).optional();

/** The schemas of all parts of a request, created once for each endpoint. */
export interface Checks {
  params: z.ZodType;
  query: z.ZodType;
  queryShape: Shape;
  headers: z.ZodObject;
  body: z.ZodType | null;
}

export function checksOf({
  method,
  params = {},
  query = {},
  headers = {},
  body = NO_BODY,
  upload,
}: AnyEndpoint): Checks {
  return {
    params: z.strictObject({ ...params }),
    query: z.strictObject({ ...query }),
    queryShape: query,
    headers: z.strictObject({ ...headers }),
    body: method === 'GET' || upload !== undefined ? null : body,
  };
}

/**
 * The parsed parts of a request.
 * @throws InvalidConfigError naming every fault of all parts
 */
export function checked(
  checks: Checks,
  request: FastifyRequest,
): { params: unknown; query: unknown; headers: unknown; body: unknown } {
  const issues: (readonly ValidationIssue[])[] = [];
  const collect = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof InvalidConfigError)) throw error;
      issues.push(error.issues);
      return undefined;
    }
  };
  const params = collect(() => parseWith(checks.params, request.params, ['path']));
  const query = collect(() => queryOf(checks, request.query as Record<string, unknown>));
  const headers = collect(() => parseWith(checks.headers, headersOf(checks, request), ['header']));
  const body = collect(() => (checks.body === null ? request.body : bodyOf(checks.body, request)));
  if (issues.length > 0) throw new InvalidConfigError(issues.flat());
  return { params, query, headers, body };
}

function headersOf({ headers }: Checks, request: FastifyRequest): Record<string, unknown> {
  const names = Object.keys(headers.shape).filter((name) => request.headers[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, request.headers[name]]));
}

function bodyOf(schema: z.ZodType, request: FastifyRequest): unknown {
  const value = jsonBody(request);
  if (value === undefined && !schema.safeParse(undefined).success) {
    throw new InvalidConfigError([{ loc: ['body'], msg: 'Field required', type: 'missing' }]);
  }
  return parseWith(schema, value, ['body']);
}

/** Ignores parameters with empty values, which some clients send. Errors of text that cannot be parsed end in `_parsing`. */
function queryOf({ query, queryShape }: Checks, texts: Record<string, unknown>): unknown {
  const values: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(texts)) {
    if (text === '') continue;
    const schema = Object.hasOwn(queryShape, name) ? queryShape[name] : undefined;
    values[name] = typeof text === 'string' && schema !== undefined ? fromText(text, schema) : text;
  }
  try {
    return parseWith(query, values, ['query']);
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    throw new InvalidConfigError(
      error.issues.map((issue) => ({ ...issue, type: issue.type.replace(/^(int|float|bool)_type$/, '$1_parsing') })),
    );
  }
}
