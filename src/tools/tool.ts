import type { ToolCall, ToolSpec } from '../config/chat.js';

/** What the agent can do. A session offers `specs` to its model and runs the calls that come back. */
export interface Toolbox {
  readonly specs: readonly ToolSpec[];
  /**
   * Runs one call. Never rejects because the outside failed: that is a result which tells the model what went
   * wrong. Rejects with the signal's reason when it is aborted.
   */
  run(call: ToolCall, context: ToolContext): Promise<ToolResult>;
}

export interface ToolContext {
  sessionId: string;
  metadata: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
}

export interface ToolResult {
  ok: boolean;
  /** What the model is told: the reply's body, or a sentence about the failure. */
  content: string;
}
