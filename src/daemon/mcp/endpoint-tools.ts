import * as z from 'zod';
import { type ErrorCode, ParleyError } from '../../base/errors.js';
import { encodeUrlText } from '../../base/url-text.js';
import type { KeyScope } from '../../store/keys.js';
import { type AnyEndpoint, scopeOf } from '../http/endpoint.js';
import type { InnerAnswer } from '../http/inner-requests.js';
import type { ErrorReply } from '../http/replies.js';
import type { McpCaller } from './mcp-caller.js';
import { type ListedTool, TOOLS } from './tool-list.js';

type Json = Record<string, unknown>;

/** A tool as `tools/list` shows it. */
export interface McpToolEntry {
  name: string;
  title: string;
  description: string;
  inputSchema: Json;
  outputSchema: Json;
  annotations: {
    title: string;
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
}

/** The result of `tools/call`. */
export interface McpToolResult {
  content: readonly { type: 'text'; text: string }[];
  structuredContent?: Json;
  isError: boolean;
}

interface Made {
  entry: McpToolEntry;
  scope: KeyScope;
  listed: ListedTool;
  endpoint: AnyEndpoint;
}

/** Types of JSON Schema that are too large to repeat in each tool, and the resources that have them. */
const LARGE: Readonly<Record<string, string>> = {
  EvalCaseSummary: 'The figures of one case: its name, whether it passed, its runs and passes.',
  LineMetrics: 'Packet statistics of the line.',
  QueueFacts: 'How the call has fared in a queue.',
  AgentConfig:
    'The configuration of an agent. The resource parley://schemas/agent has its JSON Schema; parley://docs/configuration explains it.',
  AgentExtensions: 'What an agent has beside its configuration: extensions in the resource parley://schemas/agent.',
  FlowSteps:
    'The conversation as a graph of steps: extensions.flow in the resource parley://schemas/agent; parley://docs/flow-steps explains it.',
  Queue:
    'How inbound calls wait when no session is free: extensions.queue in the resource parley://schemas/agent; parley://docs/queues explains it.',
};

/** Endpoints as tools: their schemas, and calls that go the way of every request. */
export class EndpointTools {
  readonly #endpoints: readonly AnyEndpoint[];
  /** Made at the first request: most daemons never get one. */
  #tools: ReadonlyMap<string, Made> | null = null;

  constructor(endpoints: readonly AnyEndpoint[]) {
    this.#endpoints = endpoints;
  }

  /** The tools that a key may call. */
  list(scopes: readonly KeyScope[]): readonly McpToolEntry[] {
    return [...this.#all().values()].filter(({ scope }) => scopes.includes(scope)).map(({ entry }) => entry);
  }

  /** What a key must allow to call a tool; null = there is no such tool. */
  scopeOf(name: string): KeyScope | null {
    return this.#all().get(name)?.scope ?? null;
  }

  /** Calls a tool that exists. Rejects with the caller's signal. */
  async call(name: string, args: Readonly<Json>, caller: McpCaller): Promise<McpToolResult> {
    const made = this.#all().get(name);
    if (made === undefined) throw new ParleyError('NOT_FOUND', { what: 'tool', id: name });
    const { endpoint, listed } = made;
    const missing = Object.keys(endpoint.params ?? {}).find((param) => !isText(args[param]));
    if (missing !== undefined) return failed(`${missing} must be a text that is not empty`);
    return resultOf(await caller.send(requestOf(endpoint, args)), listed);
  }

  #all(): ReadonlyMap<string, Made> {
    this.#tools ??= new Map(
      TOOLS.map((listed) => {
        const endpoint = this.#endpoints.find(({ id }) => id === listed.operation);
        if (endpoint === undefined) throw new Error(`there is no endpoint ${listed.operation}`);
        const entry = entryOf(endpoint, listed);
        return [entry.name, { entry, endpoint, listed, scope: scopeOf(endpoint) }];
      }),
    );
    return this.#tools;
  }
}

function isText(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number';
}

function entryOf(endpoint: AnyEndpoint, listed: ListedTool): McpToolEntry {
  const { method, summary, description } = endpoint;
  const { operation, title, note, isDestructive = method === 'DELETE', isIdempotent = method !== 'POST' } = listed;
  return {
    name: operation.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    title,
    description: [`${summary}.`, description, note].filter(Boolean).join(' '),
    inputSchema: inputOf(endpoint),
    outputSchema: outputOf(endpoint, listed),
    annotations: {
      title,
      readOnlyHint: method === 'GET' || operation === 'checkAgent',
      destructiveHint: isDestructive,
      idempotentHint: isIdempotent || operation === 'checkAgent',
      openWorldHint: listed.isOutside ?? false,
    },
  };
}

/** All parts of a request as one object. */
function inputOf({ params = {}, query = {}, headers = {}, body }: AnyEndpoint): Json {
  const named = Object.entries(headers).map(([name, schema]) => [argumentOf(name), schema] as const);
  const parts = [
    z.object({ ...params, ...query, ...Object.fromEntries(named) }),
    ...(body === undefined ? [] : [body]),
  ];
  const all: Json = { type: 'object', properties: {}, additionalProperties: false };
  for (const part of parts) {
    const { properties = {}, required = [], $defs = {} } = jsonSchema(part, 'input');
    Object.assign(all['properties'] as Json, properties);
    all['required'] = [...((all['required'] ?? []) as string[]), ...(required as string[])];
    all['$defs'] = { ...(all['$defs'] as Json), ...($defs as Json) };
  }
  return used(all);
}

/** Answers that are arrays become the member `items`: the structured content of a tool is an object. */
function outputOf({ answer = z.unknown() }: AnyEndpoint, { without = [] }: ListedTool): Json {
  const schema = withoutMembers(jsonSchema(answer, 'output'), without) as Json;
  if (schema['type'] === 'object') return used(schema);
  const { $defs = {}, ...items } = schema;
  return used({ type: 'object', properties: { items }, required: ['items'], additionalProperties: false, $defs });
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12', override: tidy }) as Json;
  const { $schema: _version, $defs = {}, ...rest } = json;
  const definitions = Object.entries($defs as Record<string, Json>).map(([name, { id: _own, ...definition }]) => {
    const where = LARGE[name];
    return [name, where === undefined ? definition : { type: 'object', description: where }];
  });
  const all = Object.fromEntries(definitions) as Json;
  // The schema itself may be a definition, too.
  const { $ref: own, ...others } = rest;
  const named = typeof own === 'string' ? (all[own.slice('#/$defs/'.length)] as Json) : {};
  return { ...named, ...others, $defs: all };
}

/** Leaves out what says nothing: the limits of all integers. */
function tidy({ jsonSchema: schema }: { jsonSchema: Json }): void {
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
}

/** A schema with the definitions that it refers to, and no others. */
function used({ $defs = {}, ...schema }: Json): Json {
  const definitions = $defs as Json;
  const kept: Json = {};
  const follow = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/\$defs\/([^"]+)"/g)) {
      if (Object.hasOwn(kept, name)) continue;
      kept[name] = definitions[name];
      follow(kept[name]);
    }
  };
  follow(schema);
  return Object.keys(kept).length === 0 ? schema : { ...schema, $defs: kept };
}

/** Removes members of objects, or of the objects that a schema describes, at any depth. */
function withoutMembers(value: unknown, names: readonly string[]): unknown {
  if (names.length === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutMembers(item, names));
  const kept = Object.entries(value).filter(([name]) => !names.includes(name));
  return Object.fromEntries(
    kept.map(([name, item]) => {
      // The names of a schema's members.
      if (name === 'required' && Array.isArray(item)) return [name, item.filter((one) => !names.includes(String(one)))];
      return [name, withoutMembers(item, names)];
    }),
  );
}

/** The name of a header among the arguments. */
function argumentOf(header: string): string {
  return header.replaceAll('-', '_');
}

/** Splits arguments into the parts of a request. What the endpoint does not know, it refuses. */
function requestOf(
  { method, path, params = {}, query = {}, headers = {}, body }: AnyEndpoint,
  args: Readonly<Json>,
): Parameters<McpCaller['send']>[0] {
  const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
  const take = (name: string): unknown => {
    const value = rest.get(name);
    rest.delete(name);
    return value;
  };
  const url = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeUrlText(String(take(name))));
  const sent = new Map<string, string>();
  for (const header of Object.keys(headers)) {
    const value = take(argumentOf(header));
    if (value != null) sent.set(header, textOf(value));
  }
  const asked = new URLSearchParams();
  for (const name of body === undefined ? [...rest.keys()] : Object.keys(query)) {
    if (Object.hasOwn(params, name)) continue;
    const value = take(name);
    if (value != null) asked.set(name, textOf(value));
  }
  const search = asked.size === 0 ? '' : `?${String(asked)}`;
  const request = { method, url: url + search, headers: Object.fromEntries(sent) };
  return body === undefined ? request : { ...request, body: Object.fromEntries(rest) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function resultOf({ status, text }: InnerAnswer, { without = [] }: ListedTool): McpToolResult {
  const value: unknown = text === '' ? {} : JSON.parse(text);
  if (status < 200 || status > 299) return failed(faultOf(status, value));
  const kept = withoutMembers(value, without);
  const structuredContent = typeof kept === 'object' && !Array.isArray(kept) ? (kept as Json) : { items: kept };
  return {
    content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
    structuredContent,
    isError: false,
  };
}

function failed(text: string): McpToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** An error answer of an endpoint in words. */
function faultOf(status: number, value: unknown): string {
  const { detail = 'It failed', code = String(status) as ErrorCode } = value as Partial<ErrorReply>;
  if (typeof detail === 'string') return `${detail} [${code}]`;
  // "body" and "query" are parts of the request that the caller of a tool does not see.
  const lines = detail.map(({ loc, msg }) => [loc.slice(1).join('.'), msg].filter((text) => text !== '').join(': '));
  return `The arguments are not valid [${code}]\n${lines.join('\n')}`;
}
