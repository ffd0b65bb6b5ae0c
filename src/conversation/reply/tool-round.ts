import type { Core } from '../core.js';
import { failReply, finishRound } from './reply.js';
import { OPENING_TURN, type ReplyState } from '../state.js';
import { runCalls } from './tool-calls.js';

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
  const calls = reply.calls.filter((call) => core.actionOf(call)?.kind !== 'final');
  if (calls.length > 0) {
    // A final action beside other calls is left out: their results come first, and may change the plan.
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
