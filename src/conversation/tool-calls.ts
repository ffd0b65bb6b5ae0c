import type { ToolCall } from '../config/chat.js';
import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { armFiller } from './filler.js';
import { addToolCall, setToolResult } from './history.js';
import { nextRound, failReply, replyEntry } from './reply.js';
import type { ReplyState } from './state.js';

/** Calls of a reply: run side by side, each with its phrase; the model is asked again when all have answered. */

export function runCalls(core: Core, reply: ReplyState, calls: readonly ToolCall[]): void {
  reply.phase = 'tools';
  reply.acted = true;
  const entry = replyEntry(core, reply);
  for (const call of calls) {
    const utteranceId = announce(core, reply, call);
    const afterMessage = core.config.toolSpeech[call.name]?.executeAfterMessage === true && utteranceId !== null;
    core.state.tools[call.id] = {
      call,
      requestId: reply.requestId,
      afterUtterance: afterMessage ? utteranceId : null,
      entry: addToolCall(core, entry, call),
    };
    if (!afterMessage) core.emit({ type: 'tool.start', call });
  }
  core.arm('tools', core.nowMs + core.config.deadlines.toolMs);
  armFiller(core);
}

/** An utterance is over, heard or not: calls that waited for it start. */
export function onUtteranceOver(core: Core, utteranceId: number): void {
  for (const tool of Object.values(core.state.tools)) {
    if (tool.afterUtterance !== utteranceId) continue;
    tool.afterUtterance = null;
    core.emit({ type: 'tool.start', call: tool.call });
  }
}

/** The playout was dropped: calls that waited for their phrase start all the same, they were decided on. */
export function startWaiting(core: Core): void {
  for (const tool of Object.values(core.state.tools)) {
    if (tool.afterUtterance !== null) onUtteranceOver(core, tool.afterUtterance);
  }
}

/** Takes a result; the model is asked again once the last call of its round has answered. */
export function onResult(core: Core, callId: string, content: string): void {
  const tool = core.state.tools[callId];
  if (tool === undefined) return;
  delete core.state.tools[callId];
  setToolResult(core, tool.entry, content);
  core.state.resultsUntold = true;
  if (Object.keys(core.state.tools).length === 0) core.disarm('tools');
  const { reply } = core.state;
  if (reply?.phase !== 'tools' || reply.requestId !== tool.requestId) return;
  if (Object.values(core.state.tools).some((other) => other.requestId === tool.requestId)) return;
  if (!nextRound(core, reply)) failReply(core, 'too many rounds of tools');
}

/** Tools that have not answered in time count as failed. */
export function onToolsDue(core: Core): void {
  for (const callId of Object.keys(core.state.tools)) {
    core.trace('tool.timeout', { callId });
    onResult(core, callId, 'The tool gave no answer in time.');
  }
}

/** Says the tool's phrase, unless the model has just said something of its own. */
function announce(core: Core, reply: ReplyState, call: ToolCall): number | null {
  const config = core.config.toolSpeech[call.name];
  if (config === undefined || config.messages.length === 0) return null;
  if (config.responseMode === 'flexible' && reply.pieces > 0) return null;
  const message = config.messages[core.state.filler.next++ % config.messages.length] as string;
  core.disarm('filler');
  return speech.say(core, message, { kind: 'tool', entry: replyEntry(core, reply) });
}
