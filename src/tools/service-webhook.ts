import type { ToolCall, ToolSpec } from '../agent/chat.js';
import type { Clock } from '../base/clock.js';
import type { ServiceFunction } from '../agent/function.js';
import type { Variables } from '../agent/variables.js';
import { reasonOf } from '../base/errors.js';
import type { GuardedClient } from '../net/guarded-client.js';
import { type Arguments, readArguments } from './arguments.js';
import { withTimeout } from '../base/deadlines.js';
import { functionSpec } from './function-spec.js';
import { resultOf } from './reply-result.js';
import {
  intercepted,
  type Tool,
  type ToolContext,
  type ToolResult,
  type ToolSpeech,
  toolSpeech,
  wrongArguments,
} from './tool.js';

/** The operator's endpoint for calls of a service function. */
export interface ServiceAddress {
  url: string;
  headers?: Readonly<Record<string, string>>;
}

export interface ServiceWebhookOptions {
  /** The operator's client: it may call private addresses. */
  client: GuardedClient;
  clock: Clock;
  variables: Variables;
  /** Null = the user's client runs the call. */
  address: ServiceAddress | null;
  /** Whether the user's client answers. */
  hasScreen: boolean;
}

const TIMEOUT_MS = 10_000;
/** Timeout for a client, which may have to ask its user. */
const CLIENT_TIMEOUT_MS = 60_000;
/** Latency of a reply in virtual time. */
const VIRTUAL_LATENCY_MS = 100;

/** A function of the operator or, if there is no address for it, of the user's client. */
export class ServiceWebhook implements Tool {
  readonly spec: ToolSpec;
  readonly speech: ToolSpeech;
  readonly maxMs: number;
  readonly #fn: ServiceFunction;
  readonly #options: ServiceWebhookOptions;

  constructor(fn: ServiceFunction, options: ServiceWebhookOptions) {
    this.#fn = fn;
    this.#options = options;
    this.maxMs = options.address === null ? CLIENT_TIMEOUT_MS : TIMEOUT_MS;
    this.spec = functionSpec(fn, options.variables);
    this.speech = toolSpeech(fn, options.variables);
  }

  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    context.signal.throwIfAborted();
    const { name } = this.#fn;
    const read = readArguments(this.#fn.params ?? [], call.arguments);
    if (!read.ok) return wrongArguments(read.problem, name);
    try {
      const { address } = this.#options;
      const run = (): Promise<ToolResult> =>
        address === null ? this.#askClient(read.values, context) : this.#post(address, read.values, context);
      return await intercepted(context, { name, arguments: read.values, afterCall: false }, run);
    } catch (error) {
      context.signal.throwIfAborted();
      return { ok: false, content: `${name} failed. ${reasonOf(error)}.` };
    }
  }

  async #post({ url, headers }: ServiceAddress, params: Arguments, context: ToolContext): Promise<ToolResult> {
    const { client, clock } = this.#options;
    const reply = client.request({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ name: this.#fn.name, params, session_id: context.sessionId }),
      timeoutMs: TIMEOUT_MS,
      signal: context.signal,
    });
    return resultOf(await clock.settle(reply, clock.nowMs() + VIRTUAL_LATENCY_MS));
  }

  async #askClient(params: Arguments, context: ToolContext): Promise<ToolResult> {
    const { name, type, data } = this.#fn;
    if (!this.#options.hasScreen || context.screen === undefined) {
      return { ok: false, content: `${name} cannot be done on this line: there is nothing at the other end to do it.` };
    }
    const { screen, signal } = context;
    const ask = (inTime: AbortSignal): Promise<unknown> => screen.ask({ name, data: { type, params, data } }, inTime);
    const answer = await withTimeout(this.#options.clock, CLIENT_TIMEOUT_MS, ask, signal);
    if (answer === null || answer === undefined) return { ok: true, content: 'Done. Nothing came back.' };
    return { ok: true, content: typeof answer === 'string' ? answer : JSON.stringify(answer) };
  }
}
