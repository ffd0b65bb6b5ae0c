import type { ToolCall } from '../../agent/chat.js';
import * as speech from './agent-speech.js';
import type { ToolSpeechConfig } from '../config.js';
import type { Core } from '../core.js';
import { armFiller } from './filler.js';
import { DO_NOT_CALL_NOTED, isDoNotCall, noteDoNotCall } from '../actions/do-not-call.js';
import { addToolCall, setToolResult } from './history.js';
import { nextRound, replyEntry } from './reply.js';
import { isPressDigits, keysOf } from '../actions/press-digits.js';
import type { ReplyState, RunningTool } from '../state.js';
import { isSwitchLanguage, languageOf, switchRefusal } from '../actions/switch-language.js';

/** Calls of a reply: run side by side, each with its phrase; the model is asked again when all have answered. */

const NO_ANSWER = 'The tool gave no answer in time.';
const NO_KEYS = 'Nothing was pressed: `digits` may hold 0-9, *, #, A-D and w only, and needs a key.';
const NOT_STARTED = 'Not started: the user interrupted before it began.';

export function runCalls(core: Core, reply: ReplyState, calls: readonly ToolCall[]): void {
  reply.phase = 'tools';
  reply.acted = true;
  const entry = replyEntry(core, reply);
  const announced = new Map<string, number | null>();
  const run = (call: ToolCall, afterUtterance: number | null): void => {
    const tool: RunningTool = { call, requestId: reply.requestId, afterUtterance, entry };
    core.state.tools.push(tool);
    addToolCall(core, entry, call);
    if (afterUtterance === null) start(core, tool);
  };
  for (const call of calls) {
    if (isPressDigits(core, call)) continue;
    const config = toolSpeech(core, call.name);
    // Several calls of one tool have one phrase.
    const utteranceId = announced.get(call.name) ?? announce(core, reply, call.name, config);
    announced.set(call.name, utteranceId);
    run(call, config?.executeAfterMessage === true ? utteranceId : null);
  }
  core.arm('tools', core.nowMs + core.config.deadlines.toolMs);
  armFiller(core);
  // Tones and words do not go together: keys are pressed when all has been said.
  for (const call of calls) {
    if (!isPressDigits(core, call)) continue;
    if (keysOf(call) !== null) reply.pressed = true;
    run(call, core.state.speech.queue.at(-1)?.id ?? null);
  }
  settleAtOnce(core, reply);
}

/** Carries out a call. */
function start(core: Core, tool: RunningTool): void {
  tool.afterUtterance = null;
  if (isDoNotCall(core, tool.call)) {
    noteDoNotCall(core, 'model');
    return;
  }
  if (isSwitchLanguage(core, tool.call)) {
    const language = languageOf(core, tool.call);
    if (language !== null) core.emit({ type: 'language.switch', callId: tool.call.id, language });
    return;
  }
  if (!isPressDigits(core, tool.call)) {
    core.emit({ type: 'tool.start', call: tool.call });
    return;
  }
  const digits = keysOf(tool.call);
  if (digits === null) return;
  speech.playOut(core);
  core.emit({ type: 'digits.send', callId: tool.call.id, digits });
}

/** Calls that nobody outside has a part in: refused, or done already. */
function settleAtOnce(core: Core, reply: ReplyState): void {
  for (const tool of core.state.tools.filter(({ requestId }) => requestId === reply.requestId)) {
    const result = resultAtOnce(core, tool.call);
    if (result === null) continue;
    settle(core, tool, result);
    continueReply(core, tool);
  }
}

function resultAtOnce(core: Core, call: ToolCall): string | null {
  if (isDoNotCall(core, call)) return DO_NOT_CALL_NOTED;
  if (isSwitchLanguage(core, call)) return switchRefusal(core, call);
  if (!isPressDigits(core, call) || keysOf(call) !== null) return null;
  core.trace('digits.refused', { callId: call.id });
  return NO_KEYS;
}

/** An utterance is over, heard or not: calls that waited for it start. */
export function onUtteranceOver(core: Core, utteranceId: number): void {
  for (const tool of core.state.tools) {
    if (tool.afterUtterance === utteranceId) start(core, tool);
  }
}

/** Barge-in before some calls started: they are skipped, and the model gets that as their result. */
export function abandonWaiting(core: Core): void {
  for (const tool of core.state.tools.filter(({ afterUtterance }) => afterUtterance !== null)) {
    core.trace('tool.abandoned', { callId: tool.call.id });
    settle(core, tool, NOT_STARTED);
  }
}

/** Takes a result; the model is asked again once the last call of its round has answered. */
export function onResult(core: Core, callId: string, ok: boolean, content: string): void {
  const tool = core.state.tools.find(({ call }) => call.id === callId);
  if (tool === undefined || tool.afterUtterance !== null) return;
  core.trace('tool.result', { callId, ok });
  settle(core, tool, content);
  continueReply(core, tool);
}

/** Tools that time out count as failed. */
export function onToolsDue(core: Core): void {
  for (const tool of Array.from(core.state.tools)) {
    core.trace('tool.timeout', { callId: tool.call.id });
    settle(core, tool, NO_ANSWER);
    continueReply(core, tool);
  }
}

function settle(core: Core, tool: RunningTool, result: string): void {
  core.state.tools.splice(core.state.tools.indexOf(tool), 1);
  setToolResult(core, tool.entry, tool.call.id, result);
  core.state.resultsUntold = true;
  if (core.state.tools.length === 0) core.disarm('tools');
}

function continueReply(core: Core, tool: RunningTool): void {
  const { reply, tools } = core.state;
  if (reply?.phase !== 'tools' || reply.requestId !== tool.requestId) return;
  if (!tools.some((other) => other.requestId === tool.requestId)) nextRound(core, reply);
}

/**
 * Says the tool's phrase, unless it is a mere suggestion and the model has said something of its own. Returns the
 * utterance that announces the call.
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
