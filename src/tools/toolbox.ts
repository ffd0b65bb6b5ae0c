import type { Clock } from '../base/clock.js';
import type { ToolCall, ToolSpec } from '../agent/chat.js';
import type { AgentFunction } from '../agent/function.js';
import { TOOL_NAME } from '../schema/text.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import {
  type AfterCallRun,
  type AfterCallTool,
  type AfterCallWatch,
  type Tool,
  type Toolbox,
  type ToolContext,
  type ToolInterceptor,
  type ToolResult,
  type ToolSpeech,
  announcedSpec,
  intercepted,
  toolSpeech,
  wrongArguments,
} from './tool.js';
import { setOr } from '../schema/field.js';
import { encodeUrlText } from '../base/url-text.js';
import { type Variables, fillVariables } from '../agent/variables.js';
import type { GuardedClient, GuardedRequest } from '../net/guarded-client.js';
import { type Arguments, readArguments, usableArguments, withKnown } from './arguments.js';
import { functionSpec } from './function-spec.js';
import { resultOf } from './reply-result.js';

export interface AgentToolboxOptions extends FunctionToolOptions {
  /** Names reserved for the session. A function with such a name is rejected. Default none. */
  reservedNames?: readonly string[];
  /** Tools in addition to the functions. Default none. */
  tools?: readonly Tool[];
  /** Default: every call runs. */
  intercept?: ToolInterceptor | undefined;
}

/** The functions of an AgentConfig, with further tools. Those with `run_after_call` are not offered during the call. */
export class AgentToolbox implements Toolbox {
  readonly specs: readonly ToolSpec[];
  /** The parameters of the after-call functions, for finding their values. */
  readonly afterCallSpecs: readonly ToolSpec[];
  /** By function name. */
  readonly speech: ReadonlyMap<string, ToolSpeech>;
  /** The longest timeout of any call that the conversation waits for, in milliseconds. */
  readonly longestMs: number;
  /** The longest timeout of any call in writing, where the answer waits for all of them. */
  readonly longestInWritingMs: number;
  readonly #tools = new Map<string, Tool>();
  readonly #afterCall: AfterCallTool[] = [];
  readonly #clock: Clock;
  readonly #intercept: ToolInterceptor | undefined;
  #afterCallHasRun = false;

  /** @throws ParleyError CONFIG_INVALID for a name that is duplicate, reserved or not accepted by models */
  constructor(functions: readonly AgentFunction[], options: AgentToolboxOptions) {
    this.#clock = options.clock;
    this.#intercept = options.intercept;
    const names = [...functions.map(({ name }) => name), ...(options.tools ?? []).map(({ spec }) => spec.name)];
    const [fault] = toolNameFaults(names, options.reservedNames ?? []);
    if (fault !== undefined) throw fault;
    for (const fn of functions) {
      const tool = new FunctionTool(fn, options);
      if (fn.run_after_call === true) this.#afterCall.push(tool);
      else this.#tools.set(fn.name, tool);
    }
    for (const tool of options.tools ?? []) {
      if (isAfterCallTool(tool)) this.#afterCall.push(tool);
      else this.#tools.set(tool.spec.name, tool);
    }
    const tools = [...this.#tools.values()];
    this.speech = new Map(tools.flatMap(({ spec, speech }) => (speech === undefined ? [] : [[spec.name, speech]])));
    this.specs = tools.map(({ spec, speech }) => announcedSpec(spec, speech));
    this.longestMs = Math.max(0, ...tools.map(({ speech, maxMs }) => (speech?.background === true ? 0 : maxMs)));
    this.longestInWritingMs = Math.max(0, ...tools.map(({ maxMs }) => maxMs));
    this.afterCallSpecs = this.#afterCall.map(({ spec }) => spec);
  }

  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const tool = this.#tools.get(call.name);
    if (tool !== undefined) return tool.run(call, { ...context, intercept: this.#intercept });
    const known = [...this.#tools.keys()].join(', ') || 'none';
    return {
      ok: false,
      content: `There is no function ${JSON.stringify(call.name.slice(0, 64))}. There are: ${known}.`,
    };
  }

  /**
   * Runs the functions with `run_after_call` in parallel, once: a second call does nothing. Rejects only with the
   * signal's reason.
   * @param known returns the known arguments of a function, as the JSON text of an object; if it fails, the function
   * runs without arguments
   */
  async runAfterCall(
    known: (spec: ToolSpec) => string | Promise<string>,
    context: ToolContext,
    watch?: AfterCallWatch,
  ): Promise<readonly AfterCallRun[]> {
    if (this.#afterCallHasRun) return [];
    this.#afterCallHasRun = true;
    const runs = await Promise.all(
      this.#afterCall.map(async (tool): Promise<AfterCallRun | null> => {
        const { name } = tool.spec;
        const text = await Promise.resolve(tool.spec)
          .then(known)
          .catch(() => '');
        if (watch !== undefined && !(await watch.mayRun(name))) return null;
        const startMs = this.#clock.nowMs();
        const within = { ...context, intercept: this.#intercept };
        const run = { name, ...(await tool.runWithKnown(text, within)), tookMs: this.#clock.nowMs() - startMs };
        await watch?.onRun(run).catch(() => undefined);
        return run;
      }),
    );
    return runs.filter((run) => run !== null);
  }
}

function isAfterCallTool(tool: Tool): tool is AfterCallTool {
  return tool.runsAfterCall === true && 'runWithKnown' in tool;
}

/**
 * What is wrong with the names of an agent's tools.
 * @returns a ParleyError CONFIG_INVALID for each name that is duplicate, reserved or not accepted by models
 */
export function toolNameFaults(names: readonly string[], reserved: readonly string[]): ParleyError[] {
  const taken = new Set(reserved);
  return names.flatMap((name) => {
    if (!TOOL_NAME.test(name)) {
      return [invalid(`the tool name ${JSON.stringify(name.slice(0, 100))} should be 1 to 64 letters, digits, _ or -`)];
    }
    if (taken.has(name)) return [invalid(`two tools are called ${name}`)];
    taken.add(name);
    return [];
  });
}

function invalid(reason: string): ParleyError {
  return new ParleyError('CONFIG_INVALID', { reason });
}

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
export class FunctionTool implements AfterCallTool {
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
    if (!read.ok) return wrongArguments(read.problem, this.#fn.name);
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
    const payload: Record<string, unknown> = { ...this.#filled(values) };
    // After the arguments, so that they take precedence over members of the same name.
    if (exclude_session_id !== true) payload['session_id'] = context.sessionId;
    if (include_metadata === true) payload['metadata'] = context.metadata;
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
