import type { ToolCall } from '../agent/chat.js';
import { reasonOf } from '../base/errors.js';
import type { Screen, Toolbox, ToolContext, ToolResult } from '../tools/tool.js';
import type { FunctionCall } from './record/session-report.js';
import type { SessionContext } from './session-context.js';

export interface ToolRunnerOptions extends Pick<ToolContext, 'history' | 'session'> {
  toolbox: Toolbox | null;
  sessionId: string;
  metadata: Readonly<Record<string, unknown>>;
  /** Default: requests to the user's client fail. */
  screen?: Screen;
  /**
   * A call has its result; not called after `close`.
   * @param cause the stack of an exception in the tool's code
   */
  onResult: (call: ToolCall, record: FunctionCall, result: ToolResult) => void;
  /** A call reports progress, which the agent says or not; not called after `close`. */
  onProgress?: (call: ToolCall, text: string, isSaid: boolean) => void;
}

/** Runs the model's calls in parallel and keeps their record. */
export class ToolRunner {
  /** In the order in which they ended. */
  readonly calls: FunctionCall[] = [];
  readonly #nowMs: () => number;
  #options: ToolRunnerOptions;
  readonly #abort = new AbortController();
  readonly #running = new Map<ToolCall, number>();

  constructor({ nowMs }: Pick<SessionContext, 'nowMs'>, options: ToolRunnerOptions) {
    this.#nowMs = nowMs;
    this.#options = options;
  }

  /** Other tools for the calls that follow. */
  use(tools: Pick<ToolRunnerOptions, 'toolbox' | 'metadata'>): void {
    this.#options = Object.assign({}, this.#options, tools);
  }

  start(call: ToolCall): void {
    this.#running.set(call, this.#nowMs());
    void this.#run(call);
  }

  /** Aborts running calls; the record says that their outcome is unknown. May be called twice. */
  close(): void {
    this.#abort.abort();
    for (const call of this.#running.keys()) {
      this.#record(call, { ok: false, content: 'The call was over before there was an answer.' });
    }
  }

  async #run(call: ToolCall): Promise<void> {
    const result = await this.#result(call);
    if (!this.#abort.signal.aborted) this.#options.onResult(call, this.#record(call, result), result);
  }

  #record(call: ToolCall, { ok, content }: ToolResult): FunctionCall {
    const nowMs = this.#nowMs();
    const tookMs = nowMs - (this.#running.get(call) ?? nowMs);
    this.#running.delete(call);
    const { name } = call;
    const record = { name, arguments: call.arguments, ok, result: content, tookMs, runAfterCall: false };
    this.calls.push(record);
    return record;
  }

  async #result(call: ToolCall): Promise<ToolResult> {
    const { toolbox, sessionId, metadata, screen, history, session, onProgress } = this.#options;
    if (toolbox?.specs.some((spec) => spec.name === call.name) !== true) {
      return { ok: false, content: `There is no tool called "${call.name}".` };
    }
    try {
      const { signal } = this.#abort;
      const progress = (text: string, isSaid: boolean): void => {
        if (this.#running.has(call)) onProgress?.(call, text, isSaid);
      };
      return await toolbox.run(call, { sessionId, metadata, signal, screen, history, session, progress });
    } catch (error) {
      return { ok: false, content: `The tool failed: ${reasonOf(error)}` };
    }
  }
}
