import type { ChatMessage, ToolCall, ToolSpec } from '../agent/chat.js';
import type { AgentFunction } from '../agent/function.js';
import { type Variables, fillVariables } from '../agent/variables.js';

/** The agent's tools. A session offers `specs` to its model and runs the calls. */
export interface Toolbox {
  readonly specs: readonly ToolSpec[];
  /** Runs one call. External failures are results that inform the model; rejects only with the signal's reason. */
  run(call: ToolCall, context: ToolContext): Promise<ToolResult>;
  /**
   * Runs the after-call tools, once. Rejects only with the signal's reason.
   * @param known returns the known arguments of a tool, as the JSON text of an object
   */
  runAfterCall?(
    known: (spec: ToolSpec) => string | Promise<string>,
    context: ToolContext,
    watch?: AfterCallWatch,
  ): Promise<readonly AfterCallRun[]>;
}

/** Observes the after-call tools. */
export interface AfterCallWatch {
  /** Called before a tool runs; false skips the tool. Never rejects. */
  mayRun(name: string): Promise<boolean>;
  /** A tool has run. A rejection is ignored. */
  onRun(run: AfterCallRun): Promise<void>;
}

/** One tool; an AgentToolbox consists of them. */
export interface Tool {
  readonly spec: ToolSpec;
  /** What the agent says around it. Default: nothing. */
  readonly speech?: ToolSpeech;
  /** Timeout of one call, in milliseconds. */
  readonly maxMs: number;
  /** It runs once when the call has ended, and the model cannot call it. Default false. */
  readonly runsAfterCall?: boolean;
  /** Runs a call of the model. Rejects only with the signal's reason. */
  run(call: ToolCall, context: ToolContext): Promise<ToolResult>;
}

/** A tool that can run after the call. */
export interface AfterCallTool extends Tool {
  /**
   * Runs with the valid ones of the known arguments, and returns those. Rejects only with the signal's reason.
   * @param text the known arguments, as the JSON text of an object
   */
  runWithKnown(text: string, context: ToolContext): Promise<Pick<AfterCallRun, 'arguments' | 'result'>>;
}

/** What the agent says around a tool. */
export interface ToolSpeech {
  /** Phrases to choose from, with variables filled in. Empty = silence. */
  messages: readonly string[];
  /** `strict` says one of the messages as written, `flexible` lets the model phrase it. */
  responseMode: 'strict' | 'flexible';
  /** Whether the call starts after the message has played rather than during it. */
  executeAfterMessage: boolean;
  /** The conversation goes on while the call runs. Default false. */
  background?: boolean;
}

/** A tool that ran after the call. */
export interface AfterCallRun {
  name: string;
  /** Arguments that were known and valid. */
  arguments: Readonly<Record<string, unknown>>;
  result: ToolResult;
  /** Milliseconds, without the time to find the arguments. */
  tookMs: number;
}

export interface ToolContext {
  sessionId: string;
  metadata: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
  /** The user's client, if it supports actions. */
  screen?: Screen | undefined;
  /** The conversation so far, without the system prompt. Default: nothing was said. */
  history?: (() => readonly ChatMessage[]) | undefined;
  /**
   * Progress in a sentence. Default: it is lost.
   * @param isSaid the agent says it
   */
  progress?: ((text: string, isSaid: boolean) => void) | undefined;
  /** The running session. Default: the conversation is in writing, or over. */
  session?: ToolSession | undefined;
  /** Default: every call runs. */
  intercept?: ToolInterceptor | undefined;
}

/**
 * What a function can do with the session that calls it, see docs/library.md. The reply that has called it waits for it:
 * do not wait for `generate` and `updateAgent`, which come after that reply.
 */
export interface ToolSession {
  /** The agent says it after its current speech. */
  say(text: string): unknown;
  /** The agent ends the call, or connects the user to `target`, when all queued speech has been heard. */
  finish(target?: string | null): void;
  /** The model speaks by instructions that the user does not hear. */
  generate(options: { instructions: string; tools?: readonly string[] | undefined }): Promise<unknown>;
  /** Stops what the agent is saying. Resolves to whether there was anything. */
  interrupt(): Promise<boolean>;
  /** Adds a message to the history without an answer: `system` for the model alone. */
  addMessage(message: { role: 'system' | 'user' | 'assistant'; content: string }): Promise<void>;
  /** Other settings from the next reply on. */
  updateAgent(changes: {
    prompt?: string | undefined;
    metadata?: Readonly<Record<string, unknown>> | undefined;
  }): Promise<void>;
  mute(side: 'user' | 'agent', on?: boolean): Promise<void>;
  hold(options?: { music?: boolean | undefined; maxMs?: number | undefined }): Promise<void>;
  unhold(): Promise<void>;
  /** Another agent goes on with the conversation. */
  handOver(
    agentId: string,
    options?: { announcement?: string | undefined; reason?: string | undefined },
  ): Promise<void>;
  pressKeys(digits: string): Promise<void>;
  pauseRecording(): Promise<void>;
  resumeRecording(): Promise<void>;
}

/** A client that shows forms and returns the user's input. */
export interface Screen {
  /**
   * Resolves with the client's `form_result`. Rejects with the signal's reason and informs the client of the
   * cancellation.
   */
  ask(form: ClientForm, signal: AbortSignal): Promise<unknown>;
}

/** A request to the client: an `ai_action` with this name and these members. */
export interface ClientForm {
  name: string;
  data: Readonly<Record<string, unknown>>;
}

/**
 * Runs a call in place of its tool, or lets it run. The arguments are those that the tool accepts.
 * @param run calls the tool itself
 */
export type ToolInterceptor = (call: InterceptedCall, run: () => Promise<ToolResult>) => Promise<ToolResult>;

export interface InterceptedCall {
  name: string;
  arguments: Readonly<Record<string, unknown>>;
  /** It runs when the call is over. */
  afterCall: boolean;
  signal: AbortSignal;
}

/** Runs a call of a tool by way of the context's interceptor. The tool has checked the arguments. */
export function intercepted(
  { intercept, signal }: ToolContext,
  call: Omit<InterceptedCall, 'signal'>,
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
  return intercept === undefined ? run() : intercept({ ...call, signal }, run);
}

export interface ToolResult {
  ok: boolean;
  /** For the model: the reply's body, or a sentence about the failure. */
  content: string;
  /** The stack of an exception in the code of a function. */
  cause?: string | undefined;
  /** Name of the fault that it counts as. Default `tool.failed`. */
  fault?: 'tool.arguments' | undefined;
}

/** The model has called a tool with wrong arguments, and learns what is wrong. */
export function wrongArguments(problem: string, name: string): ToolResult {
  return { ok: false, content: `${problem} Correct that and call ${name} again.`, fault: 'tool.arguments' };
}

/** What the agent says around a function, from its configuration. */
export function toolSpeech(
  fn: Pick<AgentFunction, 'messages' | 'response_mode'> & Partial<Pick<AgentFunction, 'execute_after_message'>>,
  variables: Variables,
): ToolSpeech {
  return {
    messages: (fn.messages ?? [])
      .map((message) => fillVariables(message, variables))
      .filter((message) => message.trim() !== ''),
    responseMode: fn.response_mode ?? 'strict',
    executeAfterMessage: fn.execute_after_message ?? false,
  };
}

/** The spec with the message added: a model that phrases the message has to know its content. */
export function announcedSpec(spec: ToolSpec, speech: ToolSpeech | undefined): ToolSpec {
  if (speech?.responseMode !== 'flexible' || speech.messages.length === 0) return spec;
  const examples = speech.messages.map((message) => JSON.stringify(message)).join(' or ');
  const hint =
    'Before you call it, tell the user so in one short sentence of your own, in the language of the conversation, ' +
    `to the effect of ${examples}.`;
  return { ...spec, description: `${spec.description} ${hint}`.trim() };
}
