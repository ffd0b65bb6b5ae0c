import type { ChatMessage } from '../../agent/chat.js';
import type { Clock } from '../../base/clock.js';
import { RealClock } from '../../base/real-clock.js';
import { CodeTool } from '../../tools/code-tool.js';
import type { DefinedTool } from '../../tools/define-tool.js';
import type { ToolSession } from '../../tools/tool.js';

/** What the function finds in its context. */
export interface RunToolOptions {
  /** Default `test`. */
  sessionId?: string;
  /** Default null. */
  agentId?: string | null;
  metadata?: Readonly<Record<string, unknown>>;
  variables?: Readonly<Record<string, string>>;
  history?: readonly ChatMessage[];
  /** A double of the session. Default null, as in writing. */
  session?: ToolSession;
  signal?: AbortSignal;
  /** For `context.wait` and the deadline. Default real time. */
  clock?: Clock;
}

/** What became of a function. */
export interface ToolRun {
  ok: boolean;
  /** What the model gets: the result as text, or a sentence about the failure. */
  content: string;
  /** The stack of what the function threw. */
  cause?: string | undefined;
  /** Set if the arguments are wrong. */
  fault?: 'tool.arguments' | undefined;
  /** What it reported meanwhile. */
  progress: string[];
}

/** Runs a function in code as a conversation does: with checked arguments, a context and a deadline. */
export async function runTool(
  tool: DefinedTool,
  args: Readonly<Record<string, unknown>> = {},
  options: RunToolOptions = {},
): Promise<ToolRun> {
  const { sessionId = 'test', agentId = null, metadata = {}, variables = {}, history = [], session } = options;
  const { signal = new AbortController().signal, clock = new RealClock() } = options;
  const progress: string[] = [];
  const code = new CodeTool(tool, { clock, agentId, variables: new Map(Object.entries(variables)) });
  const call = { id: 'call-1', name: tool.name, arguments: JSON.stringify(args) };
  const onProgress = (text: string): void => void progress.push(text);
  const context = { sessionId, metadata, signal, history: () => history, session, progress: onProgress };
  return { ...(await code.run(call, context)), progress };
}
