import * as speech from '../speech/agent-speech.js';
import * as commands from './commands.js';
import { settlePress } from './program-keys.js';
import { announce } from './steering.js';
import { applyUpdates } from '../reply/update.js';
import type { Core } from '../core.js';
import { takeUp } from '../actions/handover.js';
import { takesOffList } from '../actions/do-not-call.js';
import { closeIfDone, endNow, reopen } from '../reply/ending.js';
import { addUserMessage } from '../speech/history.js';
import * as inactivity from './inactivity.js';
import * as interruption from './interruption.js';
import { phrasesFor } from '../language/phrases.js';
import { becomeNextAgent } from '../reply/next-agent.js';
import { agentHasSomethingToSay, cancelReply, MAX_MODEL_FAILURES, startReply } from '../reply/reply.js';
import * as steps from '../steps/steps.js';
import { startSteps } from '../reply/opening.js';
import { connectWhenSaid } from '../actions/transfer.js';
import * as speculation from '../reply/speculation.js';
import * as userTurn from '../turn/user-turn.js';
import * as voiceFailure from '../reply/voice-failure.js';
import * as voicemail from '../voicemail/voicemail.js';

/** The floor: whose turn it is to speak, and what follows when that changes. */

/** While an interruption is being judged, the end of the turn is checked again after this. */
const AGAIN_MS = 200;
/** Sound that ends within this time after the agent's words was over them. */
const OVER_MS = 400;

/**
 * The user's turn is over as far as can be known: answers it, keeps it for later, or ignores it.
 * @param stuck no words come although the VAD still hears speech
 */
export function endTurn(core: Core, stuck = false): void {
  if (core.state.interruption !== null) {
    core.arm(stuck ? 'turn.stuck' : 'turn.end', core.nowMs + AGAIN_MS);
    return;
  }
  if (voicemail.isMailbox(core) || core.state.hold !== null || core.isTalkedOver) {
    userTurn.wait(core);
    return;
  }
  const menuMs = voicemail.menuGoesOnUntil(core);
  if (!stuck && core.nowMs < menuMs) {
    core.arm('turn.end', menuMs);
    return;
  }
  if (stuck) core.trace('turn.stuck', { text: userTurn.turnText(core) });
  if (isNothing(core)) userTurn.forgetWords(core);
  if (userTurn.turnMessage(core) !== null && agentHasSomethingToSay(core)) {
    const verdict = judgeOverlap(core);
    if (verdict === 'later' && !core.state.turn.speaking) {
      userTurn.wait(core);
      return;
    }
    if (verdict !== 'now') {
      core.trace('turn.ignored', { text: userTurn.turnText(core) });
      userTurn.closeTurn(core, stuck);
      return;
    }
    interruption.confirm(core);
  }
  const message = userTurn.turnMessage(core);
  const { number, interrupts, cutOff } = core.state.turn;
  const asked = speculation.answered(core);
  userTurn.closeTurn(core, stuck);
  if (core.state.ending !== null) return;
  if (cutOff !== null && interruption.isSaidAgain(core, cutOff, message)) interruption.takeUp(core, cutOff);
  else if (message !== null) {
    const heard = voicemail.heardAs(core, message);
    if (heard !== null) answer(core, heard, { number, interrupts, asked: heard === message ? asked : '' });
  }
}

/**
 * A typed message is a complete turn and interrupts if it may. Typing is deliberate, so the message is never dropped.
 */
export function takeTyped(core: Core, text: string): void {
  const message = text.trim();
  if (message === '' || core.state.ending?.reversible === false) return;
  voicemail.onPerson(core, 'types');
  inactivity.onUserActive(core);
  if (core.state.hold !== null) {
    userTurn.carry(core, message);
    if (!core.state.turn.speaking) userTurn.wait(core);
    return;
  }
  if (agentHasSomethingToSay(core)) {
    if (!interruption.mayInterrupt(core)) {
      reopen(core);
      userTurn.carry(core, message);
      if (!core.state.turn.speaking) userTurn.wait(core);
      return;
    }
    interruption.confirm(core);
  }
  const { number, interrupts } = core.state.turn;
  if (userTurn.isEcho(core)) userTurn.forgetWords(core);
  const spoken = userTurn.turnText(core);
  userTurn.closeTurn(core);
  answer(core, spoken === '' ? message : `${spoken} ${message}`, { number, interrupts, asked: '' });
}

/** After an utterance of the agent: what was only said over it may have to be dropped. */
export function onUtteranceFinished(core: Core): void {
  const { turn } = core.state;
  if (interruption.keepsOverlap(core) || speech.isSpeaking(core) || !userTurn.isOpen(core)) return;
  if (!turn.speaking && turn.carried === '') userTurn.closeTurn(core);
}

/** Does what follows from the current state. */
export function settle(core: Core): void {
  if (core.state.line !== 'open') return;
  giveUpIfHopeless(core);
  if (isSilent(core) && core.state.turn.waiting) endTurn(core);
  takeUp(core);
  if (core.state.reply === null || core.state.reply.phase === 'done') applyUpdates(core);
  announce(core);
  steps.settle(core);
  commands.settle(core);
  settlePress(core);
  connectWhenSaid(core);
  voicemail.settle(core);
  closeIfDone(core);
  speculation.reconsider(core);
  if (!isSilent(core)) {
    inactivity.onBusy(core);
    return;
  }
  core.state.reply = null;
  if (core.isSilenced) inactivity.onBusy(core);
  else if (core.state.hasUnreportedResults) {
    const turn = { text: '', number: core.state.turn.number, entry: null, interrupts: false };
    core.state.hasUnreportedResults = false;
    if (steps.mayBegin(core)) startSteps(core, turn);
    else startReply(core, turn);
  } else if (core.state.failures.unheard) voiceFailure.apologise(core);
  else if (core.state.muted.user) inactivity.onBusy(core);
  else if (core.state.deadlines.opening === null) inactivity.onSilence(core);
}

/**
 * The agent's own words, or sound over them of which nothing was understood: not answered when the agent has finished.
 */
function isNothing(core: Core): boolean {
  const { turn, speech: voice } = core.state;
  if (userTurn.isEcho(core)) {
    core.trace('turn.echo', { text: userTurn.segmentsText(core) });
    interruption.onEcho(core);
    return true;
  }
  if (turn.overChars === null || turn.speaking || userTurn.segmentsText(core) !== '') return false;
  return turn.endMs <= (voice.said.endMs ?? -Infinity) + OVER_MS;
}

/** What to do with a turn that ends while the agent still has something to say. */
function judgeOverlap(core: Core): 'now' | 'later' | 'never' {
  const words = interruption.overlapWords(core);
  if (words === 'real') {
    if (interruption.mayInterrupt(core)) return 'now';
    if (core.state.ending?.reversible === false) return 'never';
    if (interruption.keepsOverlap(core)) {
      reopen(core);
      return 'later';
    }
  }
  if (core.state.turn.carried !== '') return 'later';
  return interruption.keepsOverlap(core) && interruption.isEarlyAnswer(core) ? 'later' : 'never';
}

interface AnsweredTurn {
  number: number;
  interrupts: boolean;
  /** `speculation.answered` of the turn; empty if something was added. */
  asked: string;
}

function answer(core: Core, message: string, { number, interrupts, asked }: AnsweredTurn): void {
  if (core.state.commanded?.target === null) core.state.commanded = null; // not a goodbye: the user has more to say
  inactivity.onUserActive(core);
  core.disarm('opening');
  core.emit({ type: 'user.said', text: message, turn: number });
  const turn = { text: message, number, entry: addUserMessage(core, message), interrupts };
  if (takesOffList(core, message) || core.isSilenced) return;
  if (core.state.handover?.ready != null) {
    // It has waited for the user to finish. The agent that answers begins its own steps, not those of the one before.
    cancelReply(core);
    becomeNextAgent(core);
    core.state.hasUnreportedResults = false;
  }
  if (steps.mayBegin(core)) startSteps(core, turn);
  else if (!speculation.confirm(core, turn, asked)) startReply(core, turn);
  // A user who sends keys or text may also be speaking: wait for those words.
  if (core.state.turn.speaking) interruption.onSpeechStarted(core);
}

function giveUpIfHopeless(core: Core): void {
  const { model, voice } = core.state.failures;
  if (core.state.ending !== null) return;
  if (voice >= voiceFailure.MAX_VOICE_FAILURES) {
    core.trace('givingUp', { model, voice });
    endNow(core, 'error', null);
  } else if (model >= MAX_MODEL_FAILURES) {
    core.trace('givingUp', { model, voice });
    endNow(core, 'error', phrasesFor(core.language).givingUp);
  }
}

/** Neither side speaks or owes an answer. */
function isSilent(core: Core): boolean {
  const { line, ending, turn, digits } = core.state;
  return (
    line === 'open' &&
    ending === null &&
    core.state.hold === null &&
    !core.isTalkedOver &&
    core.state.press === null &&
    core.state.interruption === null &&
    !voicemail.isMailbox(core) &&
    !agentHasSomethingToSay(core) &&
    (turn.waiting || !userTurn.isOpen(core)) &&
    digits === ''
  );
}
