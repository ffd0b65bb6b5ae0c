import type { Clock } from '../base/clock.js';
import type { ToolCall, ToolSpec } from '../agent/chat.js';
import { type AgentFunction, TOOL_NAME } from '../agent/function.js';
import { ParleyError } from '../base/errors.js';
import { FunctionTool, type FunctionToolOptions } from './function-tool.js';
import {
  type AfterCallRun,
  type AfterCallWatch,
  type Tool,
  type Toolbox,
  type ToolContext,
  type ToolInterceptor,
  type ToolResult,
  type ToolSpeech,
  announcedSpec,
} from './tool.js';

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
  /** The longest timeout of any call, in milliseconds. */
  readonly longestMs: number;
  readonly #tools = new Map<string, Tool>();
  readonly #afterCall: FunctionTool[] = [];
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
    for (const tool of options.tools ?? []) this.#tools.set(tool.spec.name, tool);
    const tools = [...this.#tools.values()];
    this.speech = new Map(tools.flatMap(({ spec, speech }) => (speech === undefined ? [] : [[spec.name, speech]])));
    this.specs = tools.map(({ spec, speech }) => announcedSpec(spec, speech));
    this.longestMs = Math.max(0, ...tools.map(({ maxMs }) => maxMs));
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
