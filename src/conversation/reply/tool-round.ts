import type { ToolCall } from '../../agent/chat.js';
import type { Core } from '../core.js';
import { END_CALL, goodbyeOf } from '../actions/end-call.js';
import { sayGoodbye } from '../floor/ending.js';
import { addToolCall, setToolResult } from './history.js';
import { failReply, finishRound, replyEntry } from './reply.js';
import { OPENING_TURN, type ReplyState } from '../state.js';
import { runCalls } from './tool-calls.js';
import { TRANSFER_CALL } from '../actions/transfer-call.js';
import { beginTransfer } from '../actions/transfer.js';

/** The model has finished a round: its tools run, the call ends, or the reply is complete. */
export function endRound(core: Core, reply: ReplyState): void {
  finishRound(core, reply);
  if (reply.pieces === 0 && reply.calls.length === 0) {
    // Where nobody asked, it may have nothing to add, and behind keys that it pressed it listens.
    if (reply.pressed || (reply.userEntry === null && reply.turnNumber !== OPENING_TURN)) core.disarm('filler');
    else failReply(core, 'the model said nothing');
    return;
  }
  core.state.failures.model = 0;
  const isEnd = (call: ToolCall): boolean => core.config.endCall.enabled && call.name === END_CALL;
  const isTransfer = (call: ToolCall): boolean => core.config.transfer !== null && call.name === TRANSFER_CALL;
  const endCall = reply.calls.find(isEnd);
  const transferCall = reply.calls.find(isTransfer);
  const calls = reply.calls.filter((call) => !isEnd(call) && !isTransfer(call));
  if (calls.length > 0) {
    // A call that would end its part beside others is left out: their results come first, and may change the plan.
    runCalls(core, reply, calls);
    return;
  }
  core.disarm('filler');
  if (transferCall !== undefined) {
    beginTransfer(core, reply, transferCall);
    return;
  }
  if (endCall === undefined) return;
  const entry = replyEntry(core, reply);
  reply.acted = true;
  addToolCall(core, entry, endCall);
  setToolResult(core, entry, endCall.id, 'The call is being ended.');
  sayGoodbye(core, entry, endCall.id, goodbyeOf(endCall));
}
