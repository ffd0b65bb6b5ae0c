import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { errorCatalogue, type ErrorCode, type ErrorDetails, ParleyError } from '../../base/errors.js';
import { type AnyEndpoint, type EndpointExamples, scopeOf, type Shape, success } from './endpoint.js';
import type { Api } from './api.js';
import { packageFile } from '../../package-files.js';

type Json = Record<string, unknown>;

/** The version of the API. It is independent of the package's version. */
const INTERFACE_VERSION = '0.1.0';

/** The chapters of the document in order: tags, or values of `Endpoint.chapter`. */
const CHAPTERS: readonly string[] = [
  'operation',
  'sessions',
  'agents',
  'keys',
  'knowledge',
  'memories',
  'phones',
  'do-not-call',
  'events',
  'webhooks',
  'calls',
  'campaigns',
  'evals',
  'call logs',
  'privacy',
  'chat',
  'voices',
  'webrtc',
  'mcp',
];

const errorShape = {
  code: z
    .string()
    .meta({ description: 'A stable code for programs, see docs/errors.md', examples: Object.keys(errorCatalogue()) }),
  request_id: z.string().describe("Also in the header `x-request-id` and the daemon's log"),
};
const detail = z
  .strictObject({
    detail: z.string(),
    ...errorShape,
    why: z
      .string()
      .optional()
      .meta({
        description: 'With `COMMAND_REFUSED`: the reason for programs, see docs/library.md',
        examples: ['held', 'notStarted'],
      }),
  })
  .meta({ id: 'ErrorDetail', description: 'What is wrong, in a sentence.' });
const validation = z
  .strictObject({
    detail: z.array(
      z
        .strictObject({
          loc: z
            .array(z.union([z.string(), z.int()]))
            .describe('The place: `body`, `query` or `path`, then names and indexes'),
          msg: z.string(),
          type: z.string().describe('A stable code for programs'),
        })
        .meta({ id: 'ValidationError' }),
    ),
    ...errorShape,
  })
  .meta({ id: 'HTTPValidationError', description: 'All faults of the request.' });

/**
 * The OpenAPI 3.1 document of the endpoints.
 * @param server their address, absolute or relative to that of the document
 */
export function openApiDocument(endpoints: readonly AnyEndpoint[], server: string): Json {
  const schemas: Json = {};
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json => hoisted(schema, io, schemas);
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints.toSorted((a, b) => placeOf(a) - placeOf(b))) {
    (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(endpoint, schemaOf);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'parley',
      version: INTERFACE_VERSION,
      description: 'Voice agents: agents, calls, numbers, campaigns.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: server, description: 'This daemon' }],
    security: [{ key: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        key: {
          type: 'apiKey',
          in: 'header',
          name: 'authorization',
          description: 'A private key, with or without `Bearer`.',
        },
      },
    },
  };
}

/** The position of an endpoint's chapter. Within a chapter, endpoints keep the order in which they were added. */
function placeOf({ tag, chapter = tag }: AnyEndpoint): number {
  const at = CHAPTERS.indexOf(chapter);
  return at === -1 ? CHAPTERS.length : at;
}

type SchemaOf = (schema: z.ZodType, io: 'input' | 'output') => Json;

function operation(endpoint: AnyEndpoint, schemaOf: SchemaOf): Json {
  const { id, tag, summary, description, body, upload } = endpoint;
  const parameters = [
    ...named('path', endpoint.params ?? {}, schemaOf),
    ...named('query', endpoint.query ?? {}, schemaOf),
    ...named('header', endpoint.headers ?? {}, schemaOf),
  ];
  const file = {
    type: 'object',
    properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
  };
  const examples: EndpointExamples = endpoint.examples?.() ?? {};
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: securityOf(endpoint),
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody:
      upload === undefined
        ? body && {
            description: examples.refusal && refusalNote(examples.refusal),
            required: !body.safeParse(undefined).success,
            content: { 'application/json': { schema: schemaOf(body, 'input'), example: examples.body } },
          }
        : { required: true, content: { [upload]: { schema: file } } },
    responses: responses(endpoint, examples, schemaOf),
    'x-pagination': endpoint.pages,
    'x-stream': endpoint.stream && {
      events: mapped(endpoint.stream.events, (schema) => schemaOf(schema, 'output')),
      last: endpoint.stream.last,
    },
  };
}

/** The scope is a role of OpenAPI 3.1: what the key must allow. */
function securityOf(endpoint: AnyEndpoint): Json[] {
  const { gate = 'private' } = endpoint;
  const { security = gate === 'open' ? 'none' : 'key' } = endpoint;
  if (security === 'none') return [];
  const key = { key: [scopeOf(endpoint)] };
  return security === 'key' ? [key] : [key, {}];
}

function mapped(shape: Shape, map: (schema: z.ZodType) => Json): Json {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, map(schema)]));
}

/** Why the example of a body may be refused. */
function refusalNote(code: ErrorCode): string {
  const { httpStatus } = errorCatalogue()[code];
  return `The answer is ${String(httpStatus)} \`${code}\` until the operator has set up what the request needs.`;
}

function responses(endpoint: AnyEndpoint, examples: EndpointExamples, schemaOf: SchemaOf): Json {
  const { answer, content, gate = 'private', errors = [], statuses: others = {} } = endpoint;
  const good = answer === undefined ? {} : { schema: schemaOf(answer, 'output') };
  const example = answer === success ? { success: true } : examples.answer;
  const all: Json = {
    200: { description: 'OK', content: { [content ?? 'application/json']: { ...good, example } } },
    422: {
      description: 'The request is not valid',
      content: {
        'application/json': { schema: schemaOf(validation, 'output') },
      },
    },
  };
  const statuses = new Map<number, ReturnType<typeof errorExample>[]>();
  const note = (code: ErrorCode): void => {
    const { httpStatus } = errorCatalogue()[code];
    const error = errorExample(code, endpoint.path);
    if (httpStatus !== 422) statuses.set(httpStatus, [...(statuses.get(httpStatus) ?? []), error]);
  };
  if (gate !== 'open') for (const code of ['AUTH_REQUIRED', 'AUTH_FORBIDDEN', 'AUTH_SCOPE'] as const) note(code);
  for (const code of ['RATE_LIMITED', ...errors] as const) note(code);
  for (const [status, description] of Object.entries(others)) {
    all[status] = { description, content: { 'application/json': good } };
  }
  for (const [status, found] of statuses) {
    const schema = schemaOf(detail, 'output');
    const shown = Object.fromEntries(found.map((value) => [value.code, { value }]));
    const description = `For example: ${found.map(({ detail: text }) => text).join('. ')}`;
    all[status] = { description, content: { 'application/json': { schema, examples: shown } } };
  }
  return all;
}

function named(place: 'path' | 'query' | 'header', shape: Shape, schemaOf: SchemaOf): Json[] {
  return Object.entries(shape).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema, 'input');
    return {
      name,
      in: place,
      required: place === 'path' || !z.object({ schema }).safeParse({}).success,
      description,
      schema: rest,
    };
  });
}

/** A zod schema as JSON Schema. Schemas with an id go into `schemas`, and `$ref` names them. */
function hoisted(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' }) as Json;
  const { $schema: _version, $defs = {}, ...rest } = json;
  for (const [id, definition] of Object.entries($defs as Record<string, Json>)) {
    schemas[id] ??= referring(definition);
  }
  const whole = referring(rest) as Json;
  const id = z.globalRegistry.get(schema)?.id;
  if (id === undefined) return whole;
  schemas[id] ??= whole;
  return { $ref: `#/components/schemas/${id}` };
}

function referring(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(referring);
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json)
      .filter(([name]) => name !== 'id' || typeof (json as Json)['id'] !== 'string')
      .map(([name, value]) =>
        name === '$ref' && typeof value === 'string'
          ? [name, value.replace('#/$defs/', '#/components/schemas/')]
          : [name, referring(value)],
      ),
  );
}

const CAMPAIGN = { campaign: 'Spring offer' };
const NUMBER = { number: '+12025550123' };

/** Values for the placeholders of messages. */
const DETAILS: Partial<Record<ErrorCode, ErrorDetails>> = {
  AGENT_AMBIGUOUS: { count: 2, name: 'Baker', ids: 'baker, baker-2' },
  AGENT_CHANGED: { agent: 'baker', version: 5, expected: 4 },
  AGENT_DRAFT_OPEN: { agent: 'baker', version: 5 },
  AGENT_NOT_PUBLISHED: { reason: 'version 4 is published already' },
  AGENT_IN_USE: { agent: 'baker', phone: NUMBER.number },
  AUTH_FORBIDDEN: { reason: 'it is a public key' },
  AUTH_SCOPE: { scope: 'write' },
  CALLS_STOPPED: { reason: 'the operator has stopped them' },
  CALL_FORBIDDEN: { ...NUMBER, reason: 'it is an emergency number' },
  CALL_GOES_ON: { id: 'b0f1c2' },
  CALL_NOT_ALLOWED: { ...NUMBER, allowed: '+44, +49' },
  CAMPAIGN_FINISHED: CAMPAIGN,
  CAMPAIGN_NOT_READY: { ...CAMPAIGN, reason: 'it has no records' },
  CAMPAIGN_RUNNING: CAMPAIGN,
  CAMPAIGN_TOO_MANY_RECORDS: { limit: 10_000 },
  CARRIER_CLOSED: { carrier: 'twilio' },
  CARRIER_SILENT: { carrier: 'twilio', reason: 'nothing for 50 s' },
  DO_NOT_CALL: NUMBER,
  COMMAND_REFUSED: { command: 'say', reason: 'the user is on hold' },
  EVAL_QUEUE_FULL: { limit: 100 },
  EVAL_RESULT_MISSING: { id: 'unknown', status: 'running' },
  EVAL_RUN_GOES_ON: { id: 'unknown' },
  FILE_STORE_FAILED: { store: 's3://calls', reason: 'SlowDown (Please reduce your request rate)' },
  FILE_STORE_REFUSED: { store: 's3://calls', reason: 'AccessDenied (Access Denied)' },
  KEY_OF_ENVIRONMENT: { variable: 'PARLEY_API_KEY' },
  KNOWLEDGE_FILE_IN_USE: { agent: 'baker', id: 'f1' },
  KNOWLEDGE_FILE_TOO_LARGE: { name: 'menu.pdf', limit: 20_971_520 },
  KNOWLEDGE_FULL: { limit: 1_000 },
  LIMIT_CALLS_PER_MINUTE: { limit: 60, retryAfterS: 12 },
  LIMIT_CONCURRENT_CALLS: { limit: 50 },
  LIMIT_DESTINATION_PER_DAY: { limit: 10, retryAfterS: 3_600 },
  LIMIT_DESTINATION_PER_MINUTE: { limit: 2, retryAfterS: 30 },
  LIMIT_MINUTES_PER_DAY: { limit: 600, retryAfterS: 3_600 },
  LISTENING_REFUSED: { reason: 'its agent opts out of data collection' },
  LINK_INVALID: { reason: 'it has expired' },
  MCP_AUTHORIZATION: { server: 'stock', reason: 'access_denied' },
  NODE_UNREACHABLE: { what: 'call', reason: 'connect ECONNREFUSED 10.0.0.2:8080' },
  NUMBER_INACTIVE: NUMBER,
  NUMBER_NONE_FOR_SALE: { where: 'US 415' },
  NUMBER_NOT_OWNED: NUMBER,
  NUMBER_UNAVAILABLE: NUMBER,
  PUBLICATION_OPEN: { agent: 'baker', status: 'scheduled' },
  PARTICIPANT_UNREACHED: { reason: 'busy' },
  PROVIDER_FAILED: { provider: 'openai', reason: 'status 500' },
  PROVIDER_REFUSED: { provider: 'openai', reason: 'the key is not valid' },
  PROVIDER_TIMEOUT: { provider: 'openai', timeoutMs: 10_000 },
  RATE_LIMITED: { seconds: 3 },
  RECORD_BEING_CALLED: NUMBER,
  REGISTRATIONS_FULL: { limit: 1_000 },
  RTP_PORTS_FULL: { range: '40000 to 40100' },
  SESSIONS_FULL: { limit: 100 },
  STREAMS_FULL: { limit: 100 },
  TTS_ENGINE_MISSING: { provider: 'espeak', reason: 'there is no program espeak-ng on PATH' },
  VOICE_IN_USE: { agent: 'baker', voice: 'ann' },
};

/** An example of an error. @param path in the notation of OpenAPI; NOT_FOUND names its last parameter */
function errorExample(code: ErrorCode, path: string): { detail: string; code: ErrorCode; request_id: string } {
  const missing = [...path.matchAll(/\{(\w+?)(?:_id)?\}/g)].at(-1)?.[1] ?? 'agent';
  const details = code === 'NOT_FOUND' ? { what: missing, id: 'unknown' } : DETAILS[code];
  return { detail: new ParleyError(code, details ?? {}).message, code, request_id: 'req-1' };
}

/** `/openapi.json`: the description of all endpoints. @param server the address at which clients reach the daemon */
export function openApiRoutes(api: Api, server: string): void {
  // Made at the first request: most daemons never get one.
  let document: Record<string, unknown> | null = null;
  api.add({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'operation',
    gate: 'open',
    summary: 'This document',
    answer: z.record(z.string(), z.unknown()),
    examples: () => ({
      answer: { openapi: '3.1.0', info: { title: 'parley', version: INTERFACE_VERSION }, paths: {} },
    }),
    handle: () => (document ??= openApiDocument(api.endpoints, server)),
  });
  schemaRoute(api);
}

/** The JSON Schemas of the files that people write, by name. */
const SCHEMA_FILES: Readonly<Record<string, string>> = {
  agent: 'data/agent.schema.json',
  'eval-suite': 'data/eval-suite.schema.json',
  settings: 'data/settings.schema.json',
};

/** `/schemas/agent.json` and the others: editors complete and check a file whose `$schema` names one. */
function schemaRoute(api: Api): void {
  api.add({
    id: 'getSchema',
    method: 'GET',
    path: '/schemas/{file}',
    tag: 'operation',
    gate: 'open',
    summary: 'The JSON Schema of agent files, test suites or settings files',
    description:
      'For editors: `$schema` in a file is the address of `agent.json`, `eval-suite.json` or `settings.json`.',
    params: { file: z.string().max(100) },
    errors: ['NOT_FOUND'],
    answer: z.record(z.string(), z.unknown()),
    examples: () => ({ answer: { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'parley agent' } }),
    handle: ({ params: { file } }) => {
      const [, name = ''] = /^([\w-]+)\.json$/.exec(file) ?? [];
      const path = Object.hasOwn(SCHEMA_FILES, name) ? SCHEMA_FILES[name] : undefined;
      if (path === undefined) throw new ParleyError('NOT_FOUND', { what: 'schema', id: file });
      return JSON.parse(readFileSync(packageFile(path), 'utf8')) as Record<string, unknown>;
    },
  });
}
