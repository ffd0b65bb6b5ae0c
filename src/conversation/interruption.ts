import { classifyOverlap } from './acknowledgements.js';
import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { reopen } from './ending.js';
import { cancelReply } from './reply.js';
import { startWaiting } from './tool-calls.js';
import * as userTurn from './user-turn.js';

/**
 * Barge-in, in two steps. Speech over the agent holds the playout within a frame; then its words decide: real ones
 * drop what the agent had left to say, anything else lets it go on from the sample where it was held.
 */

/** Step one: the user speaks while the agent speaks or is about to. */
export function onSpeechStarted(core: Core): void {
  if (core.state.interruption !== null || !agentHasSomethingToSay(core) || !mayInterrupt(core)) return;
  core.state.interruption = { sinceMs: core.nowMs };
  speech.hold(core);
  core.arm('interruption', core.nowMs + core.config.interruption.maxHoldMs);
}

/** The user has stopped: their words are waited for a little longer. */
export function onSpeechStopped(core: Core): void {
  if (core.state.interruption === null) return;
  core.arm('interruption', core.nowMs + core.config.interruption.wordsAfterStopMs);
  judge(core);
}

/** Step two, whenever more is known about the words. */
export function judge(core: Core): void {
  const words = overlapWords(core);
  if (core.state.interruption === null) {
    // Words of speech that was taken for noise at first.
    if (words === 'real' && speech.isSpeaking(core) && mayInterrupt(core)) confirm(core);
    return;
  }
  if (words === 'real') confirm(core);
  else if (words === 'acknowledgement' && !core.state.turn.speaking && userTurn.isFinal(core)) falseAlarm(core);
}

/** The words had their time. */
export function onDeadline(core: Core): void {
  if (core.state.interruption === null) return;
  if (overlapWords(core) === 'real') confirm(core);
  else falseAlarm(core);
}

/** What the user has said over the agent so far. */
export function overlapWords(core: Core): ReturnType<typeof classifyOverlap> {
  return classifyOverlap(userTurn.turnText(core), core.config.language, core.state.ending !== null);
}

/** A real interruption: the agent's words end where they were heard, the floor is the user's. */
export function confirm(core: Core): void {
  const { reply } = core.state;
  const takeBack = reply !== null && !reply.audible && !reply.acted && reply.userEntry !== null;
  core.state.interruption = null;
  core.disarm('interruption');
  reopen(core);
  speech.drop(core);
  cancelReply(core);
  startWaiting(core);
  if (takeBack) {
    // Nothing of the answer was heard: the turn had not been over. What was said so far is its beginning.
    core.state.history[reply.userEntry as number] = { role: 'user', content: '', atMs: core.nowMs };
    core.state.turn.carried = reply.turnText;
    core.trace('turn.continued', { turn: reply.turnNumber });
  } else {
    core.state.turn.interrupts = true;
    core.trace('interruption', {});
  }
}

/** Noise, an echo or a "mm-hm": the agent goes on as if nothing had been. */
function falseAlarm(core: Core): void {
  core.trace('interruption.falseAlarm', { words: overlapWords(core) });
  core.state.interruption = null;
  core.disarm('interruption');
  if (!core.state.turn.speaking) userTurn.closeTurn(core);
  speech.resume(core);
}

export function agentHasSomethingToSay(core: Core): boolean {
  const { reply } = core.state;
  return speech.isSpeaking(core) || (reply !== null && reply.phase !== 'done');
}

export function mayInterrupt(core: Core): boolean {
  if (core.state.ending?.reversible === false) return false;
  return speech.currentUtterance(core)?.interruptible ?? core.config.interruption.allowed;
}
