import type { ToolCall, ToolSpec } from '../config/chat.js';

/** What the agent can do. A session offers `specs` to its model and runs the calls that come back. */
export interface Toolbox {
  readonly specs: readonly ToolSpec[];
  /**
   * Runs one call. Never rejects because the outside failed: that is a result which tells the model what went
   * wrong. Rejects with the signal's reason when it is aborted.
   */
  run(call: ToolCall, context: ToolContext): Promise<ToolResult>;
  /**
   * Runs what is to run when the call is over, once. Rejects only with the signal's reason.
   * @param known gives what is known of a tool's arguments, as JSON text of an object
   */
  runAfterCall?(
    known: (spec: ToolSpec) => string | Promise<string>,
    context: ToolContext,
  ): Promise<readonly AfterCallRun[]>;
}

/** A tool that ran when the call was over. */
export interface AfterCallRun {
  name: string;
  /** Those that were known and of the right type. */
  arguments: Readonly<Record<string, unknown>>;
  result: ToolResult;
  /** Milliseconds, without finding out the arguments. */
  tookMs: number;
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
