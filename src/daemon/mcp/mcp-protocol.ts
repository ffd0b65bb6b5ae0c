import type { KeyScope } from '../../store/keys.js';
import type { JsonRpcMessage } from '../../tools/mcp/connection.js';
import type { EndpointTools } from './endpoint-tools.js';
import type { McpCaller } from './mcp-caller.js';
import { listedPrompts, promptMessages } from './mcp-prompts.js';
import { type McpResources, RESOURCE_TEMPLATES } from './mcp-resources.js';

/** Versions with a request's version and capabilities in each request, newest first. */
const MODERN_VERSIONS: readonly string[] = ['2026-07-28'];
/** Versions that begin with `initialize`, newest first. */
const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18'];
/** The versions of the protocol that are spoken, newest first. */
export const MCP_VERSIONS: readonly string[] = [...MODERN_VERSIONS, ...LEGACY_VERSIONS];

const META = 'io.modelcontextprotocol/';
const CODES = {
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  resourceNotFound: -32_002,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const;
/** Entries of one page of a list. */
const PAGE = 100;
/** How long clients may keep lists, which depend on the key: agents come and go. */
const TTL_MS = 60_000;
/** Methods whose parameter is also in the header `Mcp-Name`. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
const BASE64_VALUE = /^=\?base64\?(.*)\?=$/;

const INSTRUCTIONS =
  'parley runs voice agents on the phone and on the web. Find agents with list_agents and calls with list_call_logs. ' +
  'Check a configuration with check_agent before you store it. start_outbound_call and start_campaign call real people: ' +
  'ask your user first. The resources parley://docs/* explain everything.';

/** What the server answers to one message. */
export interface McpAnswer {
  /** Of the HTTP response. */
  status: number;
  /** Null = no body. */
  body: JsonRpcMessage | null;
  /** The scope that the key lacks; null = the answer has another cause. */
  lacks: KeyScope | null;
}

/** The headers that repeat parts of a message; undefined = the message came without. */
export interface McpHeaders {
  version: string | undefined;
  method: string | undefined;
  name: string | undefined;
}

type Json = Record<string, unknown>;

/** An error of the protocol. */
class McpError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly status: number,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** A request of a tool that the key does not allow. */
class ScopeMissing extends Error {
  constructor(readonly scope: KeyScope) {
    super(`The key lacks the scope "${scope}"`);
  }
}

export interface McpProtocolOptions {
  tools: EndpointTools;
  resources: McpResources;
  /** Of this parley. */
  version: string;
}

/**
 * A server of the Model Context Protocol without state: each message is answered from itself. It speaks the versions with
 * a handshake and those without (specification 2026-07-28, basic/versioning).
 */
export class McpProtocol {
  readonly #tools: EndpointTools;
  readonly #resources: McpResources;
  readonly #server: { name: string; title: string; version: string };

  constructor({ tools, resources, version }: McpProtocolOptions) {
    this.#tools = tools;
    this.#resources = resources;
    this.#server = { name: 'parley', title: 'parley', version };
  }

  /** The answer to one message. */
  async answer(message: unknown, headers: McpHeaders, caller: McpCaller): Promise<McpAnswer> {
    const { id, method, params = {} } = isObject(message) ? (message as unknown as JsonRpcMessage) : {};
    if (!isObject(message) || message['jsonrpc'] !== '2.0' || !isObject(params)) {
      return refusal(undefined, new McpError(CODES.invalidRequest, 'The body is not one JSON-RPC 2.0 message', 400));
    }
    // Answers to requests of the server, of which there are none, and notifications.
    if (method === undefined || id === undefined) return { status: 202, body: null, lacks: null };
    if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) {
      return refusal(undefined, new McpError(CODES.invalidRequest, 'The id or the method is not valid', 400));
    }
    try {
      const isModern = era(method, params, headers) === 'modern';
      const result = await (isModern ? this.#modern(method, params, caller) : this.#legacy(method, params, caller));
      return { status: 200, body: { jsonrpc: '2.0', id, result }, lacks: null };
    } catch (error) {
      if (error instanceof McpError) return refusal(id, error);
      if (!(error instanceof ScopeMissing)) throw error;
      const body: JsonRpcMessage = {
        jsonrpc: '2.0',
        id,
        error: { code: CODES.invalidRequest, message: error.message },
      };
      return { status: 403, body, lacks: error.scope };
    }
  }

  async #modern(method: string, params: Json, caller: McpCaller): Promise<Json> {
    const result =
      method === 'server/discover'
        ? { supportedVersions: MCP_VERSIONS, capabilities: CAPABILITIES, instructions: INSTRUCTIONS }
        : await this.#answer(method, params, caller, CODES.invalidParams);
    if (result === null) throw new McpError(CODES.methodNotFound, `There is no method ${method}`, 404);
    const isKept = method !== 'tools/call' && method !== 'prompts/get';
    return {
      resultType: 'complete',
      ...result,
      ...(isKept && { ttlMs: method === 'resources/read' ? 0 : TTL_MS, cacheScope: 'private' }),
      _meta: { [`${META}serverInfo`]: this.#server },
    };
  }

  async #legacy(method: string, params: Json, caller: McpCaller): Promise<Json> {
    if (method === 'ping') return {};
    if (method === 'initialize') {
      const asked = params['protocolVersion'];
      const version = LEGACY_VERSIONS.find((known) => known === asked) ?? LEGACY_VERSIONS[0];
      const { capabilities, serverInfo } = { capabilities: CAPABILITIES, serverInfo: this.#server };
      return { protocolVersion: version, capabilities, serverInfo, instructions: INSTRUCTIONS };
    }
    const result = await this.#answer(method, params, caller, CODES.resourceNotFound);
    if (result === null) throw new McpError(CODES.methodNotFound, `There is no method ${method}`, 200);
    return result;
  }

  /** What both eras have; null = there is no such method. */
  async #answer(method: string, params: Json, caller: McpCaller, resourceNotFound: number): Promise<Json | null> {
    switch (method) {
      case 'tools/list':
        return page('tools', this.#tools.list(caller.scopes), params);
      case 'tools/call':
        return { ...(await this.#call(params, caller)) };
      case 'resources/list':
        return page('resources', await this.#resources.list(caller), params);
      case 'resources/templates/list':
        return page('resourceTemplates', RESOURCE_TEMPLATES, params);
      case 'resources/read':
        return this.#read(params, caller, resourceNotFound);
      case 'prompts/list':
        return page('prompts', listedPrompts(), params);
      case 'prompts/get': {
        const { name, arguments: values = {} } = params;
        const found = promptMessages(String(name), isObject(values) ? values : {});
        if (typeof found === 'string') throw new McpError(CODES.invalidParams, found, 200);
        return found;
      }
      default:
        return null;
    }
  }

  async #call({ name, arguments: args = {} }: Json, caller: McpCaller): Promise<object> {
    const scope = typeof name === 'string' ? this.#tools.scopeOf(name) : null;
    if (scope === null) throw new McpError(CODES.invalidParams, `There is no tool ${String(name)}`, 200);
    if (!isObject(args)) throw new McpError(CODES.invalidParams, 'The arguments are not an object', 200);
    if (!caller.scopes.includes(scope)) throw new ScopeMissing(scope);
    return this.#tools.call(String(name), args, caller);
  }

  async #read({ uri }: Json, caller: McpCaller, notFound: number): Promise<Json> {
    if (typeof uri !== 'string') throw new McpError(CODES.invalidParams, 'The uri is missing', 200);
    const content = await this.#resources.read(uri, caller);
    if (content === null) throw new McpError(notFound, 'There is no such resource', 200, { uri });
    return { contents: [content] };
  }
}

const CAPABILITIES = { tools: {}, resources: {}, prompts: {} };

/**
 * Which versions a request belongs to, by what it says itself.
 * @throws McpError if its parts contradict each other, or for a version that is not spoken
 */
function era(method: string, params: Json, headers: McpHeaders): 'modern' | 'legacy' {
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  const version = meta[`${META}protocolVersion`];
  if (version === undefined) {
    const { version: header } = headers;
    if (header === undefined || LEGACY_VERSIONS.includes(header) || method === 'initialize') return 'legacy';
    if (!MODERN_VERSIONS.includes(header)) throw unsupported(header);
    throw new McpError(CODES.invalidParams, `_meta lacks ${META}protocolVersion`, 400);
  }
  if (typeof version !== 'string') {
    throw new McpError(CODES.invalidParams, `${META}protocolVersion is not a text`, 400);
  }
  checkHeaders(method, params, version, headers);
  if (!MODERN_VERSIONS.includes(version)) throw unsupported(version);
  if (!isObject(meta[`${META}clientCapabilities`])) {
    throw new McpError(CODES.invalidParams, `_meta lacks ${META}clientCapabilities`, 400);
  }
  return 'modern';
}

/** The headers repeat parts of the body, so that proxies can read them. @throws McpError if one differs or is missing */
function checkHeaders(method: string, params: Json, version: string, headers: McpHeaders): void {
  const param = NAMED[method];
  const expected = [
    ['MCP-Protocol-Version', headers.version, version],
    ['Mcp-Method', headers.method, method],
    ...(param === undefined ? [] : [['Mcp-Name', decoded(headers.name), params[param]] as const]),
  ] as const;
  for (const [name, header, value] of expected) {
    if (header === value) continue;
    const what = header === undefined ? 'is missing' : `is not "${String(value)}", as in the body`;
    throw new McpError(CODES.headerMismatch, `Header mismatch: ${name} ${what}`, 400);
  }
}

/** The value of a header that may be encoded (specification 2026-07-28, streamable HTTP, value encoding). */
function decoded(value: string | undefined): string | undefined {
  const encoded = value === undefined ? null : BASE64_VALUE.exec(value);
  return encoded === null ? value : Buffer.from(encoded[1] ?? '', 'base64').toString('utf8');
}

function unsupported(requested: string): McpError {
  const data = { supported: MCP_VERSIONS, requested };
  return new McpError(CODES.unsupportedVersion, 'Unsupported protocol version', 400, data);
}

function refusal(id: string | number | undefined, { code, message, status, data }: McpError): McpAnswer {
  const error = data === undefined ? { code, message } : { code, message, data };
  const body: JsonRpcMessage = id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error };
  return { status, body, lacks: null };
}

/** One page of a list. The cursor is the place where the next one begins. @throws McpError */
function page(name: string, all: readonly object[], { cursor }: Json): Json {
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0 || from > all.length) {
    throw new McpError(CODES.invalidParams, 'The cursor is not one of this list', 200);
  }
  const next = from + PAGE;
  return { [name]: all.slice(from, next), ...(next < all.length && { nextCursor: String(next) }) };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
