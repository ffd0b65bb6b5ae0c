import type { ToolCall } from '../config/chat.js';
import { reasonOf } from '../errors.js';
import type { Toolbox, ToolResult } from '../tools/tool.js';
import type { FunctionCall } from './session-report.js';

export interface ActingOptions {
  toolbox: Toolbox | null;
  sessionId: string;
  metadata: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
  nowMs: () => number;
  /** A call has its result; not called once the signal is aborted. */
  onResult: (call: ToolCall, result: FunctionCall) => void;
}

/** The agent's hands: runs the model's calls side by side and keeps the record of them. */
export class Acting {
  readonly calls: FunctionCall[] = [];
  readonly #options: ActingOptions;

  constructor(options: ActingOptions) {
    this.#options = options;
  }

  start(call: ToolCall): void {
    void this.#run(call);
  }

  async #run(call: ToolCall): Promise<void> {
    const { signal, nowMs, onResult } = this.#options;
    const startMs = nowMs();
    const { ok, content } = await this.#result(call);
    if (signal.aborted) return;
    const record = { name: call.name, arguments: call.arguments, ok, result: content, tookMs: nowMs() - startMs };
    this.calls.push(record);
    onResult(call, record);
  }

  async #result(call: ToolCall): Promise<ToolResult> {
    const { toolbox, sessionId, metadata, signal } = this.#options;
    if (toolbox?.specs.some((spec) => spec.name === call.name) !== true) {
      return { ok: false, content: `There is no tool called "${call.name}".` };
    }
    try {
      return await toolbox.run(call, { sessionId, metadata, signal });
    } catch (error) {
      return { ok: false, content: `The tool failed: ${reasonOf(error)}` };
    }
  }
}
