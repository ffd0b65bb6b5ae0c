import type { ToolCall, ToolSpec } from '../agent/chat.js';

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
    watch?: AfterCallWatch,
  ): Promise<readonly AfterCallRun[]>;
}

/** Watches the tools that run after a call. */
export interface AfterCallWatch {
  /** Asked just before a tool runs; where it resolves to false, the tool does not run. Never rejects. */
  mayRun(name: string): Promise<boolean>;
  /** A tool has run. What it rejects with is ignored. */
  onRun(run: AfterCallRun): Promise<void>;
}

/** One thing that the agent can do; an AgentToolbox is made of them. */
export interface Tool {
  readonly spec: ToolSpec;
  /** How the agent speaks around it. Default: not at all. */
  readonly speech?: ToolSpeech;
  /** The longest that one call may take, in milliseconds. */
  readonly maxMs: number;
  /** Runs a call of the model's. Never rejects but with the signal's reason. */
  run(call: ToolCall, context: ToolContext): Promise<ToolResult>;
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
  /** The user's client, where it can be asked for something. */
  screen?: Screen;
}

/** A client of the user's that shows what it is asked to, and sends back what the user filled in. */
export interface Screen {
  /**
   * Resolves with the client's `form_result`. Rejects with the signal's reason; the client is then told that nothing is
   * waited for any more.
   */
  ask(form: ClientForm, signal: AbortSignal): Promise<unknown>;
}

/** What a client is asked for: an `ai_action` of this name, with these members. */
export interface ClientForm {
  name: string;
  data: Readonly<Record<string, unknown>>;
}

export interface ToolResult {
  ok: boolean;
  /** What the model is told: the reply's body, or a sentence about the failure. */
  content: string;
}
