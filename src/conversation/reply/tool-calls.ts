import type { ToolCall } from '../../agent/chat.js';
import * as speech from '../speech/agent-speech.js';
import type { ToolSpeechConfig } from '../../agent/flow/conversation-config.js';
import type { Core, RunningAction } from '../core.js';
import { armFiller } from './filler.js';
import { addMessage, addToolCall, isUnanswered, setToolResult } from '../speech/history.js';
import { MAX_ROUNDS, nextRound, replyEntry, failReply, finishRound, freeCallId } from './reply.js';
import { follow, noteResult } from '../steps/steps.js';
import { type ReplyState, type RunningTool, OPENING_TURN } from '../state.js';
import type { StepCall } from '../steps/machine.js';
import { isOpen } from '../turn/user-turn.js';

/**
 * Tool calls of a reply: they run in parallel, each with its phrase; the model is asked again when all have results.
 */

const NO_ANSWER = 'The tool gave no answer in time.';
const IN_BACKGROUND =
  'Started. It goes on in the background: the conversation continues, and you will be told the outcome.';
const NOT_STARTED = 'Not started: the user interrupted before it began.';

export function runCalls(core: Core, reply: ReplyState, calls: readonly ToolCall[]): void {
  reply.phase = 'tools';
  reply.acted = true;
  const entry = replyEntry(core, reply);
  const announced = new Map<string, number | null>();
  const run = (call: ToolCall, afterUtterance: number | null): void => {
    const tool: RunningTool = { call, requestId: reply.requestId, afterUtterance, entry };
    core.state.tools.push(tool);
    actionOf(core, call)?.onCall?.(reply, call);
    addToolCall(core, entry, call);
    if (afterUtterance === null) start(core, tool);
  };
  for (const call of calls) {
    if (actionOf(core, call)?.takesLine === true) continue;
    const config = toolSpeech(core, call.name);
    // Several calls of one tool share one phrase.
    const utteranceId = announced.get(call.name) ?? announce(core, reply, call.name, config);
    announced.set(call.name, utteranceId);
    run(call, config?.executeAfterMessage === true ? utteranceId : null);
  }
  core.arm('tools', core.nowMs + core.config.deadlines.toolMs);
  armFiller(core);
  // Actions that use the line wait until all queued speech has been heard.
  for (const call of calls) {
    if (actionOf(core, call)?.takesLine !== true) continue;
    run(call, core.state.speech.queue.at(-1)?.id ?? null);
  }
  settleAtOnce(core, reply);
}

function start(core: Core, tool: RunningTool): void {
  tool.afterUtterance = null;
  const action = actionOf(core, tool.call);
  if (action === null) core.emit({ type: 'tool.start', call: tool.call });
  else action.start(core, tool.call);
}

/** Calls that need nothing outside of the core: refused, or done already. */
function settleAtOnce(core: Core, reply: ReplyState): void {
  for (const tool of core.state.tools.filter(({ requestId }) => requestId === reply.requestId)) {
    const result = actionOf(core, tool.call)?.resultAtOnce(core, tool.call) ?? detach(core, tool);
    if (result === null) continue;
    settle(core, tool, result);
    continueReply(core, tool);
  }
}

/** A call that runs in the background is out of the reply's way as soon as it has started. */
function detach(core: Core, { call, afterUtterance }: RunningTool): string | null {
  if (afterUtterance !== null || toolSpeech(core, call.name)?.background !== true) return null;
  core.state.background.push(call);
  return IN_BACKGROUND;
}

/** Final actions do not run in parallel with other calls. */
function actionOf(core: Core, call: ToolCall): RunningAction | null {
  const action = core.actionOf(call);
  return action?.kind === 'running' ? action : null;
}

/** An utterance is over, heard or not: starts the calls that waited for it. */
export function onUtteranceOver(core: Core, utteranceId: number): void {
  for (const tool of Array.from(core.state.tools)) {
    if (tool.afterUtterance !== utteranceId) continue;
    start(core, tool);
    const result = detach(core, tool);
    if (result === null) continue;
    settle(core, tool, result);
    continueReply(core, tool);
  }
}

/** An interruption before some calls started: skips them, and the model gets that as their result. */
export function abandonWaiting(core: Core): void {
  for (const tool of core.state.tools.filter(({ afterUtterance }) => afterUtterance !== null)) {
    core.trace('tool.abandoned', { callId: tool.call.id });
    settle(core, tool, NOT_STARTED);
  }
}

/** Takes a result; asks the model again after the last result of the round. */
export function onResult(core: Core, callId: string, ok: boolean, content: string): void {
  const done = core.state.background.findIndex(({ id }) => id === callId);
  if (done >= 0) {
    const [call] = core.state.background.splice(done, 1);
    takeOutcome(core, call as ToolCall, ok, content);
    return;
  }
  const tool = core.state.tools.find(({ call }) => call.id === callId);
  if (tool === undefined || tool.afterUtterance !== null) return;
  core.trace('tool.result', { callId, ok });
  noteResult(core, tool.call.name, ok, content);
  settle(core, tool, content);
  continueReply(core, tool);
}

/**
 * Says a call's progress as part of the reply that waits for it. Nobody hears it who speaks or waits for something else.
 * @returns false for a call in the background: its progress is an announcement
 */
export function onProgress(core: Core, callId: string, text: string): boolean {
  if (core.state.background.some(({ id }) => id === callId)) return false;
  const tool = core.state.tools.find(({ call, afterUtterance }) => call.id === callId && afterUtterance === null);
  const { reply, ending } = core.state;
  if (tool === undefined || reply?.phase !== 'tools' || reply.requestId !== tool.requestId) return true;
  if (isOpen(core) || core.isLineTaken || ending?.reversible === false) return true;
  speech.say(core, text, { kind: 'tool', entry: tool.entry });
  return true;
}

/** The outcome of a call in the background: a message for the model, which speaks of it at the next free moment. */
function takeOutcome(core: Core, { id, name }: ToolCall, ok: boolean, content: string): void {
  core.trace('tool.outcome', { callId: id, ok });
  const what = ok ? 'has finished with this result' : 'has failed';
  addMessage(core, 'system', `The function ${name}, which ran in the background, ${what}: ${content}`);
  core.state.hasUnreportedResults = true;
}

/** Tools that time out count as failed. */
export function onToolsDue(core: Core): void {
  for (const tool of Array.from(core.state.tools)) {
    core.trace('tool.timeout', { callId: tool.call.id });
    noteResult(core, tool.call.name, false, NO_ANSWER);
    settle(core, tool, NO_ANSWER);
    continueReply(core, tool);
  }
}

function settle(core: Core, tool: RunningTool, result: string): void {
  core.state.tools.splice(core.state.tools.indexOf(tool), 1);
  setToolResult(core, tool.entry, tool.call.id, result);
  core.state.hasUnreportedResults = true;
  if (core.state.tools.length === 0) core.disarm('tools');
}

function continueReply(core: Core, tool: RunningTool): void {
  const { reply, tools } = core.state;
  if (reply?.phase !== 'tools' || reply.requestId !== tool.requestId) return;
  if (!tools.some((other) => other.requestId === tool.requestId)) goOn(core, reply);
}

/** Everything that the reply waited for is known: the steps of the flow go on, and with them a tool, the model or the user. */
export function goOn(core: Core, reply: ReplyState): void {
  const next = follow(core);
  if (next === 'model') nextRound(core, reply);
  else if (next === 'user') {
    reply.phase = 'done';
    core.disarm('filler');
    core.state.hasUnreportedResults = false;
  } else callTool(core, reply, next);
}

/** Calls a tool that the step wants, without the model. */
export function callTool(core: Core, reply: ReplyState, { tool, arguments: args }: StepCall): void {
  reply.round++;
  if (reply.round > MAX_ROUNDS) {
    core.state.hasUnreportedResults = false;
    failReply(core, 'too many rounds of tools');
    return;
  }
  const taken = new Set(
    core.state.history.flatMap((entry) => (entry.role === 'assistant' ? entry.calls.map(({ call }) => call.id) : [])),
  );
  runCalls(core, reply, [{ id: freeCallId(`step-${tool}`, taken), name: tool, arguments: args }]);
}

/**
 * Says the tool's phrase, unless it is only a suggestion and the model has said something itself. Returns the utterance
 * that announces the call.
 */
function announce(core: Core, reply: ReplyState, name: string, config: ToolSpeechConfig | undefined): number | null {
  if (config === undefined) return null;
  if (config.responseMode === 'flexible' && reply.pieces > 0) return core.state.speech.queue.at(-1)?.id ?? null;
  const phrase = core.choose(`tool ${name}`, config.messages);
  if (phrase === null) return null;
  return speech.say(core, phrase, { kind: 'tool', entry: replyEntry(core, reply) });
}

function toolSpeech(core: Core, name: string): ToolSpeechConfig | undefined {
  return Object.hasOwn(core.config.toolSpeech, name) ? core.config.toolSpeech[name] : undefined;
}

/** The model has finished a round: starts its tools, ends the call, or completes the reply. */
export function endRound(core: Core, reply: ReplyState): void {
  finishRound(core, reply);
  if (reply.pieces === 0 && reply.calls.length === 0) {
    // Without a user's turn the model may have nothing to say, and after pressing keys it listens.
    const isOffered = reply.userEntry === null && reply.turnNumber !== OPENING_TURN;
    // A step has said its phrase in place of the model.
    const isSaid = core.state.steps !== null && !isUnanswered(core);
    if (reply.pressed || isOffered || isSaid) core.disarm('filler');
    else failReply(core, 'the model said nothing');
    return;
  }
  core.state.failures.model = 0;
  const calls = reply.calls.filter((call) => core.actionOf(call)?.kind !== 'final');
  if (calls.length > 0) {
    // A final action among other calls is left out: the results come first and may change the plan.
    runCalls(core, reply, calls);
    return;
  }
  core.disarm('filler');
  for (const action of core.actions.toReversed()) {
    const call = reply.calls.find((one) => core.actionOf(one) === action);
    if (action.kind !== 'final' || call === undefined) continue;
    action.begin(core, reply, call);
    return;
  }
}
