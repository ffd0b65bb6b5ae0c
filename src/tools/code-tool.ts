import type { ToolCall, ToolSpec } from '../agent/chat.js';
import { filledPhrases, fillVariables, type Variables } from '../agent/variables.js';
import { type Cancel, type Clock, delay } from '../base/clock.js';
import { withTimeout } from '../base/deadlines.js';
import { errorOf, reasonOf } from '../base/errors.js';
import { type Arguments, type ReadArguments, readObject } from './arguments.js';
import {
  type DefinedTool,
  type FunctionContext,
  isStandard,
  parametersOf,
  type StandardIssue,
  type StandardSchema,
} from './define-tool.js';
import {
  intercepted,
  type AfterCallTool,
  type ToolContext,
  type ToolResult,
  type ToolSession,
  type ToolSpeech,
  wrongArguments,
} from './tool.js';

/** A function without its code: plain data for engines in other threads. */
export interface PlainTool extends Omit<DefinedTool, 'execute' | 'parameters'> {
  /** JSON Schema of the arguments. */
  parameters: Readonly<Record<string, unknown>>;
}

/** One run of a function: plain data. */
export interface FunctionRun extends Pick<
  FunctionContext,
  'sessionId' | 'agentId' | 'callId' | 'metadata' | 'variables' | 'history'
> {
  arguments: Arguments;
}

/** What a run can do meanwhile. */
export interface FunctionHooks {
  signal: AbortSignal;
  progress: (text: string) => void;
  session: ToolSession | null;
}

/** Like webhooks. */
const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_BACKGROUND_MS = 600_000;
/** Longest result for the model, in characters. */
const MAX_RESULT_CHARS = 65_536;

const schemas = new WeakMap<DefinedTool, PlainTool['parameters']>();

/** The JSON Schema of a checked function's arguments. */
function jsonSchemaOf(tool: DefinedTool): PlainTool['parameters'] {
  let parameters = schemas.get(tool);
  if (parameters === undefined) {
    const found = parametersOf(tool.parameters).parameters;
    parameters = typeof found === 'string' ? {} : found;
    schemas.set(tool, parameters);
  }
  return parameters;
}

export function plainTool(tool: DefinedTool): PlainTool {
  const plain = Object.entries(tool).filter(([member]) => member !== 'execute');
  return { ...(Object.fromEntries(plain) as PlainTool), parameters: jsonSchemaOf(tool) };
}

/** The result of a function that has run in another thread. */
class ForeignResult {
  constructor(readonly result: ToolResult) {}
}

/** A function whose code runs in another thread. @param run runs it there; rejects with the signal's reason */
export function foreignTool(
  plain: PlainTool,
  run: (run: FunctionRun, hooks: Omit<FunctionHooks, 'session'>) => Promise<ToolResult>,
): DefinedTool {
  return {
    ...plain,
    execute: async (args: Arguments, context: FunctionContext) => {
      const { sessionId, agentId, callId, metadata, variables, history, signal, progress } = context;
      const facts = { sessionId, agentId, callId, metadata, variables, history };
      return new ForeignResult(await run({ ...facts, arguments: args }, { signal, progress }));
    },
  };
}

/** Runs a function's code. Never rejects: a run that fails is a result with its cause. */
export function runCode(tool: DefinedTool, clock: Clock, run: FunctionRun, hooks: FunctionHooks): Promise<ToolResult> {
  return new CodeRun(tool, clock, run, hooks).result();
}

/** One run of a function's code. */
class CodeRun {
  readonly #tool: DefinedTool;
  readonly #run: FunctionRun;
  readonly #hooks: FunctionHooks;
  readonly #time: CodeTime;

  constructor(tool: DefinedTool, clock: Clock, run: FunctionRun, hooks: FunctionHooks) {
    this.#tool = tool;
    this.#run = run;
    this.#hooks = hooks;
    this.#time = new CodeTime(clock);
  }

  async result(): Promise<ToolResult> {
    const { name, parameters } = this.#tool;
    try {
      return await this.#time.of(async () => {
        const args = isStandard(parameters) ? await validated(parameters, this.#run.arguments) : this.#run;
        if ('problem' in args) return wrongArguments(args.problem, name);
        const value = await this.#executed(args.arguments);
        return value instanceof ForeignResult ? value.result : { ok: true, content: resultText(value) };
      });
    } catch (error) {
      const { stack, message } = errorOf(error);
      return {
        ok: false,
        content: `${name} failed: ${reasonOf(error)}.`.replace(/([.!?])\.$/, '$1'),
        cause: stack ?? message,
      };
    }
  }

  /** The value that `execute` returns, after the progress that it yields. */
  async #executed(args: unknown): Promise<unknown> {
    const { signal, session } = this.#hooks;
    const { arguments: _, ...facts } = this.#run;
    const context: FunctionContext = {
      ...facts,
      signal,
      session,
      progress: (text) => this.#progress(text),
      wait: (ms) => this.#time.wait(ms, signal),
    };
    const execute = this.#tool.execute.bind(this.#tool) as (args: unknown, context: FunctionContext) => unknown;
    const returned = await execute(args, context);
    if (!isAsyncIterable(returned)) return returned;
    const iterator = returned[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await iterator.next();
        signal.throwIfAborted();
        if (next.done === true) return next.value;
        this.#progress(next.value);
      }
    } finally {
      if (signal.aborted) void Promise.resolve(iterator.return?.()).catch(() => undefined);
    }
  }

  #progress(piece: unknown): void {
    const text = typeof piece === 'string' ? piece : resultText(piece);
    if (!this.#hooks.signal.aborted && text.trim() !== '') this.#hooks.progress(text);
  }
}

/** A model's result for what a function returned. */
function resultText(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'Done. It gave nothing back.';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_RESULT_CHARS ? `${text.slice(0, MAX_RESULT_CHARS)} [cut off]` : text;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** A schema of a library may check more than JSON Schema can say, and may transform. */
async function validated(
  schema: StandardSchema,
  args: Arguments,
): Promise<{ arguments: unknown } | { problem: string }> {
  const result = await schema['~standard'].validate(args);
  if (result.issues === undefined) return { arguments: result.value };
  return { problem: result.issues.slice(0, 10).map(issueText).join(' ') };
}

function issueText({ message, path = [] }: StandardIssue): string {
  const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return `${place === '' ? '' : `${place}: `}${message.replace(/\.?$/, '.')}`;
}

/**
 * A function's time. A virtual clock stands still while the code works, however long that really takes, and moves while
 * the code waits with `wait`.
 */
class CodeTime {
  readonly #clock: Clock;
  #waiting = 0;
  #release: Cancel = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async of<T>(work: () => Promise<T>): Promise<T> {
    this.#hold();
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#waiting++;
    this.#release();
    try {
      await delay(this.#clock, ms, signal);
    } finally {
      this.#waiting--;
      if (this.#waiting === 0) this.#hold();
    }
  }

  #hold(): void {
    if (!this.#clock.virtual) return;
    const work = new Promise<void>((resolve) => (this.#release = resolve));
    void this.#clock.settle(work, this.#clock.nowMs());
  }
}

export interface CodeToolOptions {
  clock: Clock;
  /** Null = the agent has no id. */
  agentId: string | null;
  variables: Variables;
}

/** A function in code as a tool of one conversation. */
export class CodeTool implements AfterCallTool {
  readonly spec: ToolSpec;
  readonly speech: ToolSpeech;
  readonly maxMs: number;
  readonly runsAfterCall: boolean;
  readonly #tool: DefinedTool;
  readonly #options: CodeToolOptions;

  constructor(tool: DefinedTool, options: CodeToolOptions) {
    const { name, description, background = false, runAfterCall = false, timeoutMs } = tool;
    const fill = (text: string): string => fillVariables(text, options.variables);
    this.#tool = tool;
    this.#options = options;
    this.spec = { name, description: fill(description), parameters: jsonSchemaOf(tool) };
    this.speech = {
      messages: filledPhrases(tool.messages, (text) => fill(text ?? '')),
      responseMode: tool.responseMode ?? 'strict',
      executeAfterMessage: tool.executeAfterMessage ?? false,
      background,
    };
    this.maxMs = timeoutMs ?? (background ? DEFAULT_BACKGROUND_MS : DEFAULT_TIMEOUT_MS);
    this.runsAfterCall = runAfterCall;
  }

  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const read = this.#read(call.arguments);
    if (!read.ok) return wrongArguments(read.problem, call.name);
    return this.#run(read.values, call.id, context);
  }

  /** Runs with the arguments that are known, unless they are not valid. */
  async runWithKnown(text: string, context: ToolContext): Promise<{ arguments: Arguments; result: ToolResult }> {
    const read = this.#read(text);
    if (!read.ok) return { arguments: {}, result: { ok: false, content: `Not run: ${read.problem}` } };
    return { arguments: read.values, result: await this.#run(read.values, null, context) };
  }

  #read(text: string): ReadArguments {
    return readObject(this.spec.parameters, text);
  }

  #run(values: Arguments, callId: string | null, context: ToolContext): Promise<ToolResult> {
    context.signal.throwIfAborted();
    const call = { name: this.spec.name, arguments: values, afterCall: callId === null };
    return intercepted(context, call, () => this.#timed(values, callId, context));
  }

  async #timed(values: Arguments, callId: string | null, context: ToolContext): Promise<ToolResult> {
    const { clock, agentId, variables } = this.#options;
    const { sessionId, metadata } = context;
    const run: FunctionRun = {
      arguments: values,
      sessionId,
      agentId,
      callId,
      metadata,
      variables: Object.fromEntries(variables),
      history: context.history?.() ?? [],
    };
    const progress = (text: string): void => context.progress?.(text, this.#tool.quiet !== true);
    const session = context.session ?? null;
    try {
      return await withTimeout(
        clock,
        this.maxMs,
        (signal) => runCode(this.#tool, clock, run, { signal, progress, session }),
        context.signal,
      );
    } catch (error) {
      context.signal.throwIfAborted();
      return { ok: false, content: `${this.spec.name} failed: ${reasonOf(error)}.` };
    }
  }
}
