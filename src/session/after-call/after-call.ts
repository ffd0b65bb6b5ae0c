import type { Clock } from '../../base/clock.js';
import type { LlmProvider } from '../../providers/llm/llm.js';
import type { ChatMessage, ToolSpec } from '../../agent/chat.js';
import type { AgentRef } from '../../agent/flow/handover.js';
import { reasonOf } from '../../base/errors.js';
import { untilAborted, withTimeout } from '../../base/deadlines.js';
import { type MemoryKeeper, remember } from './memory.js';
import type { FunctionCall } from '../record/session-report.js';
import type { UsageBook } from '../record/usage.js';
import type { AfterCallRun, Toolbox } from '../../tools/tool.js';

/** Records which functions run after a session, beyond the life of the process, so that none runs twice. */
export interface AfterCallMarks {
  /** A function is about to run. Resolves to false if it was started before: then it must not run again. */
  start(sessionId: string, name: string): Promise<boolean>;
  /** Records the result. */
  finish(sessionId: string, call: FunctionCall): Promise<void>;
}

/** Marks for an agent that took a session on: it may have functions of the same names as the first one. */
export function ownMarks({ id }: AgentRef, marks: AfterCallMarks | null | undefined): AfterCallMarks | null {
  if (marks == null) return null;
  const own = (name: string): string => `${id ?? ''}:${name}`;
  return {
    start: (sessionId, name) => marks.start(sessionId, own(name)),
    finish: (sessionId, call) => marks.finish(sessionId, { ...call, name: own(call.name) }),
  };
}

interface AfterCallOptions {
  /** The session's id. */
  id: string;
  toolbox?: Toolbox | null | undefined;
  llm: LlmProvider;
  model: string;
  metadata?: Readonly<Record<string, unknown>> | undefined;
  clock: Clock;
  memory?: MemoryKeeper | null | undefined;
  afterCallMarks?: AfterCallMarks | null | undefined;
  optOut?: boolean | undefined;
  /** Also counts what the model uses for it. */
  usage: UsageBook;
}

/** Deadline for the model to give a function's arguments. */
const KNOWN_TIMEOUT_MS = 10_000;
/** Deadline for everything together; one function may take five minutes. */
const TIMEOUT_MS = 330_000;

/**
 * The work after a call: runs the after-call tools and stores memories.
 * @param messages the conversation as the model knows it, with the system prompt
 * @param calls the calls during the session
 * @returns the calls that were made now
 */
export async function afterCall(
  options: AfterCallOptions,
  messages: readonly ChatMessage[],
  calls: readonly FunctionCall[],
  onFault: (name: string, reason: string, cause?: string) => void,
): Promise<FunctionCall[]> {
  const [made] = await Promise.all([
    runAfterCall(options, messages, (reason, cause) => onFault('afterCall.failed', reason, cause)),
    // An agent that may remember can have the call of one that may not.
    options.optOut === true
      ? undefined
      : remember(options, messages, calls, (reason) => onFault('memory.failed', reason)),
  ]);
  return made;
}

/**
 * Runs the after-call tools with arguments from the conversation: asks the model once for each.
 * @param messages the conversation as the model knows it, with the system prompt
 * @param onFault it exceeded its deadline or failed as a whole, or a function's code threw
 */
async function runAfterCall(
  options: AfterCallOptions,
  messages: readonly ChatMessage[],
  onFault: (reason: string, cause?: string) => void,
): Promise<FunctionCall[]> {
  const { toolbox, id: sessionId, metadata = {}, clock, afterCallMarks: marks } = options;
  if (!toolbox?.runAfterCall) return [];
  // If the start cannot be recorded, the function could run twice: it waits for the next process.
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
        if (run.result.cause !== undefined) onFault(call.result, run.result.cause);
        await marks?.finish(sessionId, options.optOut === true ? { ...call, arguments: '{}', result: '' } : call);
      };
      const history = (): readonly ChatMessage[] => messages.filter(({ role }) => role !== 'system');
      return toolbox.runAfterCall?.(known, { sessionId, metadata, signal, history }, { mayRun, onRun });
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

/** The model's arguments for a tool; empty if it does not call it. */
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
