import { setOr } from '../schema/field.js';
import type { ToolCall, ToolSpec } from '../agent/chat.js';
import type { AgentFunction } from '../agent/function.js';
import { encodeUrlText } from '../base/url-text.js';
import { type Variables, fillVariables } from '../agent/variables.js';
import type { Clock } from '../base/clock.js';
import { reasonOf } from '../base/errors.js';
import type { GuardedClient, GuardedRequest } from '../net/guarded-client.js';
import { type Arguments, readArguments, usableArguments, withKnown } from './arguments.js';
import { functionSpec } from './function-spec.js';
import { resultOf } from './reply-result.js';
import { intercepted, type Tool, type ToolContext, type ToolResult, type ToolSpeech, toolSpeech } from './tool.js';

export interface FunctionToolOptions {
  client: GuardedClient;
  /** The session's clock. In virtual time a webhook's reply arrives `virtualLatencyMs` after the call. */
  clock: Clock;
  /**
   * Variables for descriptions, messages, string arguments, header values and the webhook's path and query. Default
   * none.
   */
  variables?: Variables;
  /** Maximum reply size in bytes. Default: the client's. */
  maxReplyBytes?: number;
  /** Default 100. */
  virtualLatencyMs?: number;
}

/** Default webhook timeout, in seconds. */
const DEFAULT_TIMEOUT_S = 5;

/** A webhook of an AgentConfig as a tool. */
export class FunctionTool implements Tool {
  readonly spec: ToolSpec;
  readonly speech: ToolSpeech;
  readonly maxMs: number;
  readonly #fn: AgentFunction;
  readonly #options: FunctionToolOptions;
  readonly #variables: Variables;

  constructor(fn: AgentFunction, options: FunctionToolOptions) {
    this.#fn = fn;
    this.#options = options;
    this.#variables = options.variables ?? new Map();
    this.spec = functionSpec(fn, this.#variables);
    this.speech = toolSpeech(fn, this.#variables);
    this.maxMs = (fn.timeout ?? DEFAULT_TIMEOUT_S) * 1_000;
  }

  /** Runs a call of the model. Rejects only with the signal's reason. */
  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const params = this.#fn.params ?? [];
    const read = readArguments(params, withKnown(params, call.arguments, this.#variables));
    if (!read.ok) return { ok: false, content: `${read.problem} Correct that and call ${this.#fn.name} again.` };
    return this.#run(read.values, context, false);
  }

  /** Runs with the valid arguments and returns them. Rejects only with the signal's reason. */
  async runWithKnown(text: string, context: ToolContext): Promise<{ arguments: Arguments; result: ToolResult }> {
    const params = this.#fn.params ?? [];
    const values = usableArguments(params, withKnown(params, text, this.#variables));
    return { arguments: values, result: await this.#run(values, context, true) };
  }

  #run(values: Arguments, context: ToolContext, afterCall: boolean): Promise<ToolResult> {
    const call = { name: this.#fn.name, arguments: values, afterCall };
    return intercepted(context, call, () => this.#send(values, context));
  }

  async #send(values: Arguments, context: ToolContext): Promise<ToolResult> {
    context.signal.throwIfAborted();
    if (!this.#fn.webhook) return { ok: true, content: 'Recorded. There is nothing else to be done.' };
    const { client, clock, virtualLatencyMs = 100 } = this.#options;
    try {
      const request = this.#request(this.#fn.webhook, values, context);
      return resultOf(await clock.settle(client.request(request), clock.nowMs() + virtualLatencyMs));
    } catch (error) {
      context.signal.throwIfAborted();
      return { ok: false, content: `${this.#fn.name} failed. ${reasonOf(error)}.` };
    }
  }

  /** A model that was given `{FromPhone}` may repeat it literally. */
  #filled(values: Arguments): Arguments {
    const filled = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? fillVariables(value, this.#variables) : value,
    ]);
    return Object.fromEntries(filled) as Arguments;
  }

  #request(webhook: string, values: Arguments, context: ToolContext): GuardedRequest {
    const { method, header, exclude_session_id, include_metadata } = this.#fn;
    const payload = {
      ...this.#filled(values),
      // After the arguments, so that they take precedence over members of the same name.
      ...(exclude_session_id !== true && { session_id: context.sessionId }),
      ...(include_metadata === true && { metadata: context.metadata }),
    };
    const url = fillVariables(webhook, this.#variables, encodeUrlText);
    const headers = Object.fromEntries(
      Object.entries(header ?? {}).map(([name, value]) => [name.toLowerCase(), fillVariables(value, this.#variables)]),
    );
    const { maxReplyBytes } = this.#options;
    const shared = {
      timeoutMs: this.maxMs,
      signal: context.signal,
      maxBytes: maxReplyBytes,
    };
    const verb = setOr(method, 'POST').toUpperCase();
    if (verb === 'GET') return { ...shared, url: withQuery(url, payload), method: verb, headers };
    return {
      ...shared,
      url,
      method: verb,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(payload),
    };
  }
}

/** Strings unchanged, all else as JSON. */
function withQuery(address: string, payload: Readonly<Record<string, unknown>>): string {
  // The client rejects an invalid address.
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  for (const [name, value] of Object.entries(payload)) {
    url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return url.href;
}
