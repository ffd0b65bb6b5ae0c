import {
  classifyOverlap,
  isAcknowledgement,
  isTelling,
  type OverlapContext,
  type OverlapWords,
} from '../turn/acknowledgements.js';
import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import { beyondEcho } from '../turn/echo.js';
import { reopen } from '../reply/ending.js';
import { addAssistantMessage, assistantAt, INAUDIBLE, takeBackUserMessage } from '../speech/history.js';
import { phrasesFor } from '../language/phrases.js';
import { onAgentSpoke } from './inactivity.js';
import { agentHasSomethingToSay, cancelReply, mayInterruptOpening } from '../reply/reply.js';
import { type CutOff, OPENING_TURN, type Utterance } from '../state.js';
import { abandonWaiting } from '../reply/tool-calls.js';
import * as userTurn from '../turn/user-turn.js';

/**
 * Barge-in in two steps. Speech over the agent holds the playout within a frame. Then the words decide: real words drop
 * the rest of the agent's speech; otherwise the agent resumes at the sample where it was held.
 */

/** Repeated noise holds the agent no longer than this many times `maxHoldMs`. */
const LONGEST_HOLDS = 2;
/** Noise within this time after the agent has resumed counts as the same noise. */
const COMES_BACK_MS = 800;
/** After an echo, more echo is expected on this line for this long. */
const ECHO_MS = 20_000;

/** Step one: the user speaks while the agent speaks or is about to. */
export function onSpeechStarted(core: Core): void {
  if (core.state.interruption === null) {
    if (!agentHasSomethingToSay(core) || !mayInterrupt(core) || core.nowMs < core.state.noisyUntilMs) return;
    core.state.interruption = { sinceMs: core.nowMs };
    speech.hold(core);
  }
  armDeadline(core, core.config.interruption.maxHoldMs);
}

/** The agent has started a new utterance: speech that began while it could not be interrupted counts now. */
export function listenAgain(core: Core): void {
  const { turn, reply } = core.state;
  if (turn.speaking && reply?.phase === 'thinking' && !speech.isSpeaking(core)) onSpeechStarted(core);
}

/** The user has stopped: waits a little longer for their words. */
export function onSpeechStopped(core: Core): void {
  const { interruption, endpointing } = core.config;
  if (core.state.interruption === null || core.state.turn.speaking) return;
  const { wordsAfterStopMs } = interruption;
  // Speech this long must have been words: the recogniser gets as much time as at the end of a turn.
  const waitMs = userTurn.isWordless(core)
    ? Math.max(wordsAfterStopMs, endpointing.finalTranscriptMs)
    : wordsAfterStopMs;
  armDeadline(core, waitMs);
  judge(core);
}

/** Step two: called whenever more is known about the words. */
export function judge(core: Core): void {
  const goesOn = !userTurn.isHeardOut(core);
  if (overlapWords(core, goesOn) === 'real') {
    if (goesOn && !areWordsSure(core)) {
      // One interim word may be a misheard "mm-hm": wait for its final form or for more words.
      if (core.state.interruption !== null && !core.state.turn.speaking) awaitFinal(core);
      return;
    }
    if (core.state.interruption !== null || (agentHasSomethingToSay(core) && mayInterrupt(core))) confirm(core);
    else if (keepsOverlap(core)) reopen(core); // the goodbye plays to its end, but the line stays open
  } else if (core.state.interruption !== null && !goesOn) {
    if (continuesUnclear(core)) confirm(core);
    else if (userTurn.segmentsText(core) === '' && userTurn.isLong(core)) awaitMore(core);
    else falseAlarm(core);
  }
}

/** The user talked and was not understood: the rest may come after a breath. */
function awaitMore(core: Core): void {
  const { wordsAfterStopMs } = core.config.interruption;
  armDeadline(core, Math.max(0, core.state.turn.endMs + wordsAfterStopMs - core.nowMs));
}

/** A user who was not understood goes on, still not understood, before anything of the answer was heard. */
function continuesUnclear(core: Core): boolean {
  return userTurn.segmentsText(core) === '' && canTakeBack(core) && core.state.reply?.turnText === INAUDIBLE;
}

/** The wait for words is over. */
export function onDeadline(core: Core): void {
  if (core.state.interruption === null) return;
  if (isLongTalk(core) || continuesUnclear(core) || overlapWords(core) === 'real') confirm(core);
  else falseAlarm(core);
}

/** Someone who talks over the agent for this long wants the floor, though no words have come or none is understood. */
function isLongTalk(core: Core): boolean {
  const { turn } = core.state;
  const { maxHoldMs } = core.config.interruption;
  if (userTurn.segmentsText(core) !== '') return false;
  if (turn.segments.length > 0) return userTurn.isLong(core, maxHoldMs);
  // The recogniser found nothing: short noises do not add up.
  return turn.speaking && core.nowMs - (turn.speechStartMs ?? core.nowMs) >= maxHoldMs;
}

/** The user's words over the agent so far. `goesOn`: more words may follow. */
export function overlapWords(core: Core, goesOn = false): OverlapWords {
  const text = userTurn.segmentsText(core);
  const own = beyondEcho(core, text, core.state.turn.overChars);
  if (own !== null && own !== '') return 'acknowledgement';
  const words = classifyOverlap(text, { language: core.language, part: partOf(core), goesOn });
  // "Hello" while the agent says it may be an echo or a greeting: no reason to stop.
  return own === '' && words === 'real' ? 'echo' : words;
}

/** The agent hears itself on this line: for a while, sound alone does not hold it. */
export function onEcho(core: Core): void {
  core.state.noisyUntilMs = Math.max(core.state.noisyUntilMs, core.nowMs + ECHO_MS);
}

/** A real interruption: the agent's words end where they were heard, and the user has the floor. */
export function confirm(core: Core): void {
  const { reply } = core.state;
  const takenBack = canTakeBack(core) ? reply : null;
  const said = speech.currentUtterance(core);
  if (said?.playing === true) onAgentSpoke(core, said.kind);
  if (reply !== null && reply.entry !== null && reply.phase !== 'done') {
    assistantAt(core, reply.entry).interrupted = true;
  }
  const cutOff = cutOffNow(core);
  core.state.interruption = null;
  core.state.turn.waiting = false;
  core.state.turn.overChars = null; // and not an echo, whatever follows
  core.disarm('interruption');
  reopen(core);
  speech.drop(core);
  cancelReply(core);
  abandonWaiting(core);
  if (takenBack?.userEntry == null) {
    core.state.turn.interrupts = true;
    core.state.turn.cutOff = cutOff;
    core.trace('interruption', {});
  } else {
    // Nothing of the answer was heard, so the turn was not over. Its words so far become the beginning of the new turn.
    takeBackUserMessage(core, takenBack.userEntry);
    core.state.turn.number = takenBack.turnNumber;
    core.state.turn.interrupts = takenBack.afterInterruption;
    userTurn.carry(core, takenBack.turnText);
    core.trace('turn.continued', { turn: takenBack.turnNumber });
  }
  if (userTurn.isOpen(core) && !core.state.turn.speaking) userTurn.scheduleEnd(core);
}

/**
 * Whether the agent says again what it was saying instead of answering: nothing intelligible was said over it, or no more
 * than a greeting over its opening. Who was not understood at the beginning of the opening has not heard why they are
 * called; later they are asked.
 */
export function isSaidAgain(core: Core, { opening }: CutOff, message: string | null): boolean {
  if (core.isSilenced) return false;
  if (message === null) return true;
  if (opening == null) return false; // in states of older versions undefined
  if (message === INAUDIBLE) return opening === 'early';
  return classifyOverlap(message, { language: core.language, part: 'opening', goesOn: false }) === 'acknowledgement';
}

/** The agent repeats the interrupted sentence. */
export function takeUp(core: Core, { texts, unfinished }: CutOff): void {
  core.trace('interruption.cameToNothing', { sentences: texts.length });
  const entry = addAssistantMessage(core);
  for (const text of texts) speech.say(core, text, { kind: 'reply', entry });
  if (unfinished)
    core.state.hasUnreportedResults = true; // and the model continues from there
  else if (texts.length === 0) speech.say(core, phrasesFor(core.language).fallback, { kind: 'fallback', entry });
}

function cutOffNow(core: Core): CutOff {
  const { reply, speech: voice } = core.state;
  const cut = voice.queue.filter(({ kind }) => kind !== 'filler' && kind !== 'prompt');
  const unfinished = reply !== null && (reply.phase === 'thinking' || reply.phase === 'streaming');
  return { texts: cut.map((utterance) => leftOf(core, utterance)), unfinished, opening: openingOf(core) };
}

/** How much of the opening was heard: up to a half, more, or null = the agent says something else. */
function openingOf(core: Core): CutOff['opening'] {
  const [playing] = core.state.speech.queue;
  if (playing?.kind !== 'opening') return null;
  const { utteranceId, heardChars } = core.position;
  return utteranceId === playing.id && heardChars > playing.text.length / 2 ? 'late' : 'early';
}

/** A model's own speech is one long utterance: returns the interrupted sentence and what follows it. */
function leftOf(core: Core, { id, text, marked = text, own }: Utterance): string {
  if (!own || core.position.utteranceId !== id) return marked;
  const heard = text.slice(0, core.position.heardChars);
  const ends = [...heard.matchAll(/[.!?…]["'”’)]*\s+|[。！？]/gu)];
  const last = ends.at(-1);
  return text.slice(last === undefined ? 0 : last.index + last[0].length);
}

/** Words that will not turn into nothing: final ones, several, or one that always stops the agent. */
function areWordsSure(core: Core): boolean {
  const { language } = core;
  const context = { language, part: partOf(core), goesOn: true };
  const final = core.state.turn.segments.filter(({ isFinal, understood }) => isFinal && understood);
  const finalText = final.map(({ text }) => text).join(' ');
  return classifyOverlap(finalText, context) === 'real' || isTelling(userTurn.segmentsText(core), context);
}

function awaitFinal(core: Core): void {
  const { finalTranscriptMs } = core.config.endpointing;
  armDeadline(core, Math.max(0, core.state.turn.endMs + finalTranscriptMs - core.nowMs));
}

function armDeadline(core: Core, waitMs: number): void {
  const sinceMs = core.state.interruption?.sinceMs ?? core.nowMs;
  const latestMs = sinceMs + LONGEST_HOLDS * core.config.interruption.maxHoldMs;
  core.arm('interruption', Math.min(core.nowMs + waitMs, latestMs));
}

/** Noise, an echo or an acknowledgement: the agent resumes as if nothing had happened. */
function falseAlarm(core: Core): void {
  const { nowMs, state } = core;
  const sinceMs = state.interruption?.sinceMs ?? nowMs;
  const heldMs = nowMs - sinceMs;
  const words = overlapWords(core);
  core.trace('interruption.falseAlarm', { words, heldMs });
  const isNoise = words === 'none' || userTurn.isEcho(core);
  // Sound that stops and returns with the agent's speech is the agent's own, even if nothing was understood.
  const cameBack = state.noisyUntilMs > 0 && sinceMs - state.noisyUntilMs <= COMES_BACK_MS;
  if (words === 'echo' || (isNoise && cameBack)) onEcho(core);
  // Continuous noise must not silence the agent: for as long as it was held, only words hold it again.
  const deafMs = heldMs >= core.config.interruption.maxHoldMs ? heldMs : 0;
  if (isNoise || deafMs > 0) state.noisyUntilMs = Math.max(state.noisyUntilMs, nowMs + deafMs);
  core.state.interruption = null;
  core.disarm('interruption');
  if (!core.state.turn.speaking) {
    if (isEarlyAnswer(core)) userTurn.wait(core);
    else userTurn.closeTurn(core);
  }
  speech.resume(core);
}

/**
 * "Yes" over the end of the agent's question is an answer, not an acknowledgement. "Hello" over a greeting without a
 * question is another greeting.
 */
export function isEarlyAnswer(core: Core): boolean {
  const { reply, speech: voice } = core.state;
  const last = voice.queue[0];
  if (last === undefined || voice.queue.length > 1 || (reply !== null && reply.phase !== 'done')) return false;
  if (overlapWords(core) !== 'acknowledgement') return false;
  const asks = /[?？]["'”’)]*$/.test(last.text.trim());
  if (isGreeting(core)) return !asks;
  const { utteranceId, heardChars } = core.position;
  return asks && (last.kind === 'prompt' || (utteranceId === last.id && heardChars >= last.text.length / 2));
}

/** Whether the words count as an acknowledgement only because the agent is greeting. */
function isGreeting(core: Core): boolean {
  if (partOf(core) !== 'opening') return false;
  const text = userTurn.segmentsText(core);
  const own = beyondEcho(core, text, core.state.turn.overChars) ?? '';
  return own === '' && !isAcknowledgement(text, core.language);
}

function partOf(core: Core): OverlapContext['part'] {
  if (core.state.ending !== null) return 'ending';
  return isOpening(core) ? 'opening' : 'middle';
}

function isOpening(core: Core): boolean {
  return speech.currentUtterance(core)?.kind === 'opening' || core.state.reply?.turnNumber === OPENING_TURN;
}

/**
 * Whether the user may take the floor now: not during a transfer or while keys are being pressed. Before any of an
 * answer was heard, always.
 */
export function mayInterrupt(core: Core): boolean {
  if (core.state.ending?.reversible === false || core.state.transfer !== null) return false;
  if (core.isLineTaken && core.state.press === null) return false; // a program's keys are no part of an answer
  const utterance = speech.currentUtterance(core);
  if (utterance?.playing !== true && canTakeBack(core)) return true;
  if (utterance !== undefined) return utterance.interruptible;
  return isOpening(core) ? mayInterruptOpening(core) : core.config.interruption.allowed;
}

/** If the user may never interrupt, the configuration decides what happens to their words over the agent. */
export function keepsOverlap(core: Core): boolean {
  return core.config.interruption.allowed || core.config.interruption.keepMessage;
}

/** The turn has an answer, but nothing of it has been heard or done. */
function canTakeBack(core: Core): boolean {
  const { reply } = core.state;
  return reply !== null && reply.userEntry !== null && !reply.acted && !speech.wasHeard(core, reply.entry);
}
