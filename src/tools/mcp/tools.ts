import type { Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { TOOL_NAME } from '../../schema/text.js';
import { parseJson } from '../../base/json.js';
import type { McpServerSetting } from '../../settings/setting-items.js';
import { reasonOf } from '../../base/errors.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { intercepted, type Tool, type ToolContext, type ToolResult, wrongArguments } from '../tool.js';
import { memberOf, type McpToolInfo } from './connection.js';
import { MemoryAuthorizations } from './oauth/authorizations.js';
import { McpAuthorizer } from './oauth/authorizer.js';
import { McpAuthorizationNeeded, type McpTokenSource } from './oauth/grant.js';
import { McpServer } from './server.js';

export interface McpServersOptions {
  /** Servers by name; the name is the prefix of their tools. */
  servers: Readonly<Record<string, McpServerSetting>>;
  /** A real clock, for deadlines and backoff. */
  clock: Clock;
  onFault: (server: string, reason: string) => void;
  /** Access tokens of servers that want OAuth. Default: for the life of the process, by client credentials only. */
  tokens?: McpTokenSource | undefined;
  /** Longest time that the first session waits for servers, in milliseconds. Default 3000. */
  firstWaitMs?: number;
}

/** Longest result for the model, in characters. */
const MAX_RESULT_CHARS = 65_536;
/** Timeout of a call, including a possible reconnect. */
const RECONNECT_MS = 20_000;
/** Latency of a result in virtual time. */
const VIRTUAL_LATENCY_MS = 100;

/** The MCP servers of one engine. Their tools are named `server__tool`. */
export class McpServers {
  readonly #servers: ReadonlyMap<string, { server: McpServer; agents: readonly string[] | null }>;
  readonly #clock: Clock;
  readonly #firstWaitMs: number;
  #first: Promise<void> | null = null;
  /** Null = the tokens are the caller's. */
  readonly #authorizer: McpAuthorizer | null;

  constructor({ servers, clock, onFault, tokens, firstWaitMs = 3_000 }: McpServersOptions) {
    this.#clock = clock;
    this.#firstWaitMs = firstWaitMs;
    const own = new McpAuthorizer({ servers, store: new MemoryAuthorizations(), clock, nowUnixMs });
    const source = tokens ?? own;
    this.#authorizer = tokens === undefined ? own : null;
    this.#servers = new Map(
      Object.entries(servers).map(([name, setting]) => {
        const server = new McpServer({
          name,
          setting,
          clock,
          tokens: source,
          onFault: (reason) => onFault(name, reason),
        });
        return [name, { server, agents: setting.agents ?? null }];
      }),
    );
  }

  /**
   * Connects to all servers, once. Resolves when each is connected or has failed, but at the latest after
   * `firstWaitMs`; later sessions find the tools of slower servers.
   */
  warmUp(): Promise<void> {
    this.#first ??= this.#reach();
    return this.#first;
  }

  /**
   * The tools that an agent can call now.
   * @param agentId null = an agent without an id gets the tools that all agents have
   * @param clock the session's
   * @param taken names of the agent's own tools, which take precedence
   */
  tools(agentId: string | null, clock: Clock, taken: ReadonlySet<string>): Tool[] {
    const names = new Set(taken);
    return [...this.#servers].flatMap(([prefix, { server, agents }]) => {
      if (agents !== null && (agentId === null || !agents.includes(agentId))) return [];
      return server.tools.flatMap((info) => {
        const name = `${prefix}__${info.name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
        if (!TOOL_NAME.test(name) || names.has(name)) return [];
        names.add(name);
        return [new McpTool(name, info, server, clock)];
      });
    });
  }

  async #reach(): Promise<void> {
    if (this.#servers.size === 0) return;
    const all = Promise.all([...this.#servers.values()].map(({ server }) => server.connect()));
    await waitAtMost(this.#clock, this.#firstWaitMs, all);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ server }) => server.close()));
    await this.#authorizer?.close();
  }
}

/** For the model: it can do nothing about it, and its user cannot either. */
const UNAUTHORIZED =
  'is not available: the operator has to authorize it first. Tell the user that you cannot do this now, and do not call it again.';

class McpTool implements Tool {
  readonly spec: ToolSpec;
  readonly maxMs: number;
  readonly #remoteName: string;
  readonly #server: McpServer;
  readonly #clock: Clock;

  constructor(name: string, info: McpToolInfo, server: McpServer, clock: Clock) {
    this.spec = { name, description: info.description, parameters: info.inputSchema };
    this.maxMs = server.timeoutMs + RECONNECT_MS;
    this.#remoteName = info.name;
    this.#server = server;
    this.#clock = clock;
  }

  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const { signal } = context;
    signal.throwIfAborted();
    const args = argumentsOf(call.arguments);
    if (args === null) return wrongArguments('The arguments are not a JSON object.', this.spec.name);
    try {
      const run = async (): Promise<ToolResult> => {
        const work = this.#server.call(this.#remoteName, args, signal);
        return resultOf(await this.#clock.settle(work, this.#clock.nowMs() + VIRTUAL_LATENCY_MS));
      };
      return await intercepted(context, { name: this.spec.name, arguments: args, afterCall: false }, run);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof McpAuthorizationNeeded) return { ok: false, content: `${this.spec.name} ${UNAUTHORIZED}` };
      return { ok: false, content: `${this.spec.name} failed: ${reasonOf(error)}.` };
    }
  }
}

/** Some models send an empty string for a call without arguments. */
function argumentsOf(text: string): Readonly<Record<string, unknown>> | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** The text parts of a result; other parts are named. */
function resultOf(result: unknown): ToolResult {
  const content = memberOf(result, 'content');
  const parts = (Array.isArray(content) ? content : []).map(partText).filter((text) => text !== '');
  const structured = memberOf(result, 'structuredContent');
  const whole = parts.length > 0 || structured === undefined ? parts.join('\n') : JSON.stringify(structured);
  const text = whole.length > MAX_RESULT_CHARS ? `${whole.slice(0, MAX_RESULT_CHARS)} [cut off]` : whole;
  if (memberOf(result, 'isError') === true)
    return { ok: false, content: `It failed: ${text || 'no reason was given'}` };
  return { ok: true, content: text || 'Done. The tool gave nothing back.' };
}

function partText(part: unknown): string {
  const text = memberOf(part, 'text') ?? memberOf(memberOf(part, 'resource'), 'text') ?? memberOf(part, 'uri');
  if (typeof text === 'string') return text;
  const type = memberOf(part, 'type');
  return typeof type === 'string' ? `[${type}]` : '';
}
