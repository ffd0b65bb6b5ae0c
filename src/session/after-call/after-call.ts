import type { Clock } from '../../base/clock.js';
import type { LlmProvider } from '../../providers/llm/llm.js';
import type { ChatMessage, ToolSpec } from '../../agent/chat.js';
import { reasonOf } from '../../base/errors.js';
import { untilAborted, withTimeout } from '../../base/deadlines.js';
import { type MemoryKeeper, remember } from './memory.js';
import type { FunctionCall } from '../record/session-report.js';
import type { UsageBook } from '../record/usage.js';
import type { AfterCallRun, Toolbox } from '../../tools/tool.js';

/** Notes which functions run after a session, where that outlives the process: none of them runs twice. */
export interface AfterCallMarks {
  /** A function is about to run. Resolves to false where it was started before: then it must not run again. */
  start(sessionId: string, name: string): Promise<boolean>;
  /** What came of it. */
  finish(sessionId: string, call: FunctionCall): Promise<void>;
}

interface AfterCallOptions {
  /** The session's. */
  id: string;
  toolbox?: Toolbox | null | undefined;
  llm: LlmProvider;
  model: string;
  metadata?: Readonly<Record<string, unknown>> | undefined;
  clock: Clock;
  memory?: MemoryKeeper | null | undefined;
  afterCallMarks?: AfterCallMarks | null | undefined;
  optOut?: boolean | undefined;
  /** What the model reads and writes for it counts too. */
  usage: UsageBook;
}

/** How long the model may take to say what is known. */
const KNOWN_TIMEOUT_MS = 10_000;
/** All of it together; a function of an agent may take five minutes. */
const TIMEOUT_MS = 330_000;

/**
 * What comes when the call is over: the tools that run then, and what is remembered of it.
 * @param messages the conversation as the model knows it, system prompt included
 * @param calls what was done during the call
 * @returns the calls that were made now
 */
export async function afterCall(
  options: AfterCallOptions,
  messages: readonly ChatMessage[],
  calls: readonly FunctionCall[],
  onFault: (name: string, reason: string) => void,
): Promise<FunctionCall[]> {
  const [made] = await Promise.all([
    runAfterCall(options, messages, (reason) => onFault('afterCall.failed', reason)),
    remember(options, messages, calls, (reason) => onFault('memory.failed', reason)),
  ]);
  return made;
}

/**
 * Runs the tools that run when the call is over, with what the conversation told of their arguments: the model is asked
 * once for each.
 * @param messages the conversation as the model knows it, system prompt included
 * @param onFault it took longer than any of it may, or failed as a whole
 */
async function runAfterCall(
  options: AfterCallOptions,
  messages: readonly ChatMessage[],
  onFault: (reason: string) => void,
): Promise<FunctionCall[]> {
  const { toolbox, id: sessionId, metadata = {}, clock, afterCallMarks: marks } = options;
  if (!toolbox?.runAfterCall) return [];
  // A function whose start cannot be noted could run twice: it waits for the next process.
  const mayRun = async (name: string): Promise<boolean> => {
    try {
      return (await marks?.start(sessionId, name)) ?? true;
    } catch (error) {
      onFault(reasonOf(error));
      return false;
    }
  };
  try {
    const runs = await withTimeout(clock, TIMEOUT_MS, async (signal) => {
      const known = (spec: ToolSpec): Promise<string> =>
        withTimeout(clock, KNOWN_TIMEOUT_MS, (deadline) => knownArguments(spec, options, messages, deadline));
      const onRun = async (run: AfterCallRun): Promise<void> => {
        const call = functionCall(run);
        await marks?.finish(sessionId, options.optOut === true ? { ...call, arguments: '{}', result: '' } : call);
      };
      return toolbox.runAfterCall?.(known, { sessionId, metadata, signal }, { mayRun, onRun });
    });
    return (runs ?? []).map(functionCall);
  } catch (error) {
    onFault(reasonOf(error));
    return [];
  }
}

function functionCall({ name, arguments: known, result: { ok, content }, tookMs }: AfterCallRun): FunctionCall {
  return { name, arguments: JSON.stringify(known), ok, result: content, tookMs, runAfterCall: true };
}

/** What the model calls the tool with; empty if it does not. */
async function knownArguments(
  spec: ToolSpec,
  { llm, model, clock, usage }: AfterCallOptions,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<string> {
  const content = `The conversation is over. Call ${spec.name} now, with what it told; leave out what is not known.`;
  usage.asked({ provider: llm.name, model });
  const pieces = llm.complete({
    model,
    messages: [...messages, { role: 'user', content }],
    tools: [spec],
    requiredTool: spec.name,
    temperature: 0,
    clock,
    signal,
  });
  for await (const piece of untilAborted(pieces, signal)) {
    if (piece.type === 'usage') usage.counted({ provider: llm.name, model }, piece);
    if (piece.type === 'toolCall' && piece.call.name === spec.name) return piece.call.arguments;
  }
  return '';
}
