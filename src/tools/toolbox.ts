import type { Clock } from '../clock/clock.js';
import type { ToolCall, ToolSpec } from '../config/chat.js';
import { type AgentFunction, TOOL_NAME } from '../config/function.js';
import { fillVariables } from '../config/variables.js';
import { ParleyError } from '../errors.js';
import { FunctionTool, type FunctionToolOptions } from './function-tool.js';
import type { AfterCallRun, Toolbox, ToolContext, ToolResult } from './tool.js';

export interface AgentToolboxOptions extends FunctionToolOptions {
  /** Names that the session uses itself. A function of such a name is refused. Default none. */
  reservedNames?: readonly string[];
}

/** How the agent speaks around a tool. */
export interface ToolSpeech {
  /** Phrases to choose from, variables filled in. Empty = it says nothing. */
  messages: readonly string[];
  /** `strict` says one of the messages as written, `flexible` lets the model phrase it. */
  responseMode: 'strict' | 'flexible';
  /** The call starts when the message has been played, else while it plays. */
  executeAfterMessage: boolean;
}

/** The functions of an AgentConfig. Those with `run_after_call` are not offered during the call. */
export class AgentToolbox implements Toolbox {
  readonly specs: readonly ToolSpec[];
  /** What the functions that run after the call take, for finding out what is known of it. */
  readonly afterCallSpecs: readonly ToolSpec[];
  /** By the function's name. */
  readonly speech: ReadonlyMap<string, ToolSpeech>;
  readonly #tools = new Map<string, FunctionTool>();
  readonly #afterCall: FunctionTool[] = [];
  readonly #clock: Clock;
  #afterCallHasRun = false;

  /** @throws ParleyError CONFIG_INVALID where a name is repeated, reserved or none that models take. */
  constructor(functions: readonly AgentFunction[], options: AgentToolboxOptions) {
    this.#clock = options.clock;
    const taken = new Set(options.reservedNames);
    const speech = new Map<string, ToolSpeech>();
    for (const fn of functions) {
      checkName(fn.name, taken);
      taken.add(fn.name);
      const tool = new FunctionTool(fn, options);
      if (fn.run_after_call === true) {
        this.#afterCall.push(tool);
        continue;
      }
      this.#tools.set(fn.name, tool);
      speech.set(fn.name, {
        messages: (fn.messages ?? [])
          .map((message) => fillVariables(message, options.variables ?? new Map()))
          .filter((message) => message.trim() !== ''),
        responseMode: fn.response_mode ?? 'strict',
        executeAfterMessage: fn.execute_after_message ?? false,
      });
    }
    this.speech = speech;
    this.specs = [...this.#tools.values()].map(({ spec }) => spec);
    this.afterCallSpecs = this.#afterCall.map(({ spec }) => spec);
  }

  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const tool = this.#tools.get(call.name);
    if (tool !== undefined) return tool.run(call, context);
    const known = [...this.#tools.keys()].join(', ') || 'none';
    return {
      ok: false,
      content: `There is no function ${JSON.stringify(call.name.slice(0, 64))}. There are: ${known}.`,
    };
  }

  /**
   * Runs the functions with `run_after_call`, side by side, once: a second call does nothing. Rejects only with
   * the signal's reason.
   * @param known gives what is known of a function's arguments, as JSON text of an object; a function that it fails
   *   for runs without arguments.
   */
  async runAfterCall(
    known: (spec: ToolSpec) => string | Promise<string>,
    context: ToolContext,
  ): Promise<readonly AfterCallRun[]> {
    if (this.#afterCallHasRun) return [];
    this.#afterCallHasRun = true;
    return Promise.all(
      this.#afterCall.map(async (tool) => {
        const text = await Promise.resolve(tool.spec)
          .then(known)
          .catch(() => '');
        const startMs = this.#clock.nowMs();
        const run = await tool.runWithKnown(text, context);
        return { name: tool.spec.name, ...run, tookMs: this.#clock.nowMs() - startMs };
      }),
    );
  }
}

function checkName(name: string, taken: ReadonlySet<string>): void {
  if (!TOOL_NAME.test(name)) {
    throw invalid(`the tool name ${JSON.stringify(name.slice(0, 100))} should be 1 to 64 letters, digits, _ or -`);
  }
  if (taken.has(name)) throw invalid(`two tools are called ${name}`);
}

function invalid(reason: string): ParleyError {
  return new ParleyError('CONFIG_INVALID', { reason });
}
