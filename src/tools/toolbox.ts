import type { Clock } from '../base/clock.js';
import type { ToolCall, ToolSpec } from '../agent/chat.js';
import { type AgentFunction, TOOL_NAME } from '../agent/function.js';
import { ParleyError } from '../base/errors.js';
import { FunctionTool, type FunctionToolOptions } from './function-tool.js';
import type { AfterCallRun, AfterCallWatch, Tool, Toolbox, ToolContext, ToolResult, ToolSpeech } from './tool.js';
import { announcedSpec } from './tool-speech.js';

export interface AgentToolboxOptions extends FunctionToolOptions {
  /** Names that the session uses itself. A function of such a name is refused. Default none. */
  reservedNames?: readonly string[];
  /** What the agent can do beside its functions. Default nothing. */
  tools?: readonly Tool[];
}

/** The functions of an AgentConfig, and what the agent can do beside them. Those with `run_after_call` are not offered during the call. */
export class AgentToolbox implements Toolbox {
  readonly specs: readonly ToolSpec[];
  /** What the functions that run after the call take, for finding out what is known of it. */
  readonly afterCallSpecs: readonly ToolSpec[];
  /** By the function's name. */
  readonly speech: ReadonlyMap<string, ToolSpeech>;
  /** The longest that any call may take, in milliseconds. */
  readonly longestMs: number;
  readonly #tools = new Map<string, Tool>();
  readonly #afterCall: FunctionTool[] = [];
  readonly #clock: Clock;
  #afterCallHasRun = false;

  /** @throws ParleyError CONFIG_INVALID where a name is repeated, reserved or none that models take. */
  constructor(functions: readonly AgentFunction[], options: AgentToolboxOptions) {
    this.#clock = options.clock;
    const taken = new Set(options.reservedNames);
    const take = (name: string): void => {
      checkName(name, taken);
      taken.add(name);
    };
    for (const fn of functions) {
      take(fn.name);
      const tool = new FunctionTool(fn, options);
      if (fn.run_after_call === true) this.#afterCall.push(tool);
      else this.#tools.set(fn.name, tool);
    }
    for (const tool of options.tools ?? []) {
      take(tool.spec.name);
      this.#tools.set(tool.spec.name, tool);
    }
    const tools = [...this.#tools.values()];
    this.speech = new Map(tools.flatMap(({ spec, speech }) => (speech === undefined ? [] : [[spec.name, speech]])));
    this.specs = tools.map(({ spec, speech }) => announcedSpec(spec, speech));
    this.longestMs = Math.max(0, ...tools.map(({ maxMs }) => maxMs));
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
        const run = { name, ...(await tool.runWithKnown(text, context)), tookMs: this.#clock.nowMs() - startMs };
        await watch?.onRun(run).catch(() => undefined);
        return run;
      }),
    );
    return runs.filter((run) => run !== null);
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
