import { type Clock, delay } from '../../base/clock.js';
import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { TOOL_NAME } from '../../agent/function.js';
import { parseJson } from '../../base/json.js';
import type { McpServerSetting } from '../../settings/setting-items.js';
import { reasonOf } from '../../base/errors.js';
import type { Tool, ToolContext, ToolResult } from '../tool.js';
import { memberOf, type McpToolInfo } from './connection.js';
import { McpServer } from './server.js';

export interface McpServersOptions {
  /** By the name that goes in front of the tools' own. */
  servers: Readonly<Record<string, McpServerSetting>>;
  /** A real one: times deadlines and waits. */
  clock: Clock;
  onFault: (server: string, reason: string) => void;
  /** How long the first session may wait for servers. Default 3000. */
  firstWaitMs?: number;
}

/** Longest result that a model is given, in characters. */
const MAX_RESULT_CHARS = 65_536;
/** A call may find the server gone, and connect again first. */
const RECONNECT_MS = 20_000;
/** When a result comes in virtual time. */
const VIRTUAL_LATENCY_MS = 100;

/** The MCP servers of one engine. What they offer is `server__tool`. */
export class McpServers {
  readonly #servers: ReadonlyMap<string, { server: McpServer; agents: readonly string[] | null }>;
  readonly #clock: Clock;
  readonly #firstWaitMs: number;
  #first: Promise<void> | null = null;

  constructor({ servers, clock, onFault, firstWaitMs = 3_000 }: McpServersOptions) {
    this.#clock = clock;
    this.#firstWaitMs = firstWaitMs;
    this.#servers = new Map(
      Object.entries(servers).map(([name, setting]) => {
        const server = new McpServer({ setting, clock, onFault: (reason) => onFault(name, reason) });
        return [name, { server, agents: setting.agents ?? null }];
      }),
    );
  }

  /**
   * Connects with all, once. Resolves when each has been reached or has failed, and after `firstWaitMs` in any
   * case: who comes later finds the tools of those that took longer.
   */
  warmUp(): Promise<void> {
    this.#first ??= this.#reach();
    return this.#first;
  }

  /**
   * What an agent may call now.
   * @param agentId null = it has none, and gets what is for all
   * @param clock the session's
   * @param taken names that the agent uses itself: they stay its own
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
    const waiting = new AbortController();
    const all = Promise.all([...this.#servers.values()].map(({ server }) => server.connect()));
    await Promise.race([all, delay(this.#clock, this.#firstWaitMs, waiting.signal)]);
    waiting.abort();
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ server }) => server.close()));
  }
}

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

  async run(call: ToolCall, { signal }: ToolContext): Promise<ToolResult> {
    signal.throwIfAborted();
    const args = argumentsOf(call.arguments);
    if (args === null) {
      return {
        ok: false,
        content: `The arguments are not a JSON object. Correct that and call ${this.spec.name} again.`,
      };
    }
    try {
      const work = this.#server.call(this.#remoteName, args, signal);
      return resultOf(await this.#clock.settle(work, this.#clock.nowMs() + VIRTUAL_LATENCY_MS));
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, content: `${this.spec.name} failed: ${reasonOf(error)}.` };
    }
  }
}

/** A call without arguments comes as an empty text from some models. */
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

/** The texts of a result; what is none is named. */
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
