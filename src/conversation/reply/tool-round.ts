import type { Core } from '../core.js';
import { failReply, finishRound } from './reply.js';
import { OPENING_TURN, type ReplyState } from '../state.js';
import { runCalls } from './tool-calls.js';

/** The model has finished a round: starts its tools, ends the call, or completes the reply. */
export function endRound(core: Core, reply: ReplyState): void {
  finishRound(core, reply);
  if (reply.pieces === 0 && reply.calls.length === 0) {
    // Without a user's turn the model may have nothing to say, and after pressing keys it listens.
    if (reply.pressed || (reply.userEntry === null && reply.turnNumber !== OPENING_TURN)) core.disarm('filler');
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
