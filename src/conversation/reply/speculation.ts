import { markedPart, pauseAfterLast } from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import type { ConversationEvent } from '../events.js';
import { charsOf, comparable, mayBeginEarly, MOST_A_TURN, noteEarly, tokensOf, dropSpeculation } from './early.js';
import { armFiller } from './filler.js';
import { modelMessages } from '../speech/history.js';
import {
  addCall,
  agentHasSomethingToSay,
  armModelDeadline,
  cancelReply,
  cutText,
  type ModelText,
  newReply,
  onVoice,
  requestModel,
  speakPiece,
  type TurnToAnswer,
} from './reply.js';
import { endRound } from './tool-calls.js';
import type { SpeculationState } from '../state.js';
import { mayBegin, stepsOf } from '../steps/steps.js';
import { isEcho, isHeardOut, isOpen, MIN_UNTRANSCRIBED_MS, turnText } from '../turn/user-turn.js';

/**
 * Starts the answer before it is certain that the user has finished: at a likely pause it asks the model and
 * synthesises the first sentence. If the turn ends with these words, the answer is ready; otherwise it is dropped
 * unheard. Tools wait for the end of the turn. A model that hears the user is asked at every pause, before there are
 * words.
 */

/** A pause after words of at least this completeness is a likely end. */
const LIKELY = 0.5;
/** After other words, the model is asked this long before the turn would end. */
const HEAD_START_MS = 1000;
/** Interim words lag behind the speech: wait this long for them after the end of speech. */
const INTERIM_MS = 200;
/** Speech of this length after a pause is more than a short sound. */
const GOES_ON_MS = 400;

type ModelEvent = Extract<ConversationEvent, { requestId: number }>;

/** Starts, keeps or drops a speculative answer according to the current state. */
export function reconsider(core: Core): void {
  const { turn, speculation } = core.state;
  if (!core.config.speculation.enabled) return;
  const reason = whyNot(core);
  if (reason !== null) {
    core.disarm('speculation');
    dropSpeculation(core, reason);
    return;
  }
  if (turn.speaking && !isEarly(core)) {
    if (speculation === null) core.disarm('speculation');
    else if (core.state.deadlines.speculation === null) core.arm('speculation', core.nowMs + GOES_ON_MS);
    return;
  }
  core.disarm('speculation');
  const words = answered(core);
  if (speculation?.words === words) return;
  dropSpeculation(core, 'other words');
  // Speech that the VAD misses has no pauses: only its final words have an end.
  const isPause = turn.speechStartMs !== null || isHeardOut(core);
  if (words === '' || !isPause || turn.speculations >= MOST_A_TURN) return;
  const startMs = core.config.modelHears ? core.nowMs : startOf(core);
  if (startMs <= core.nowMs) begin(core, words, false);
  else if (isEarly(core) && mayBeginEarly(core, words)) begin(core, words, true);
  else if (startMs < Infinity) core.arm('speculation', startMs);
}

/** The user has resumed, or the silence has become a likely end. */
export function onDue(core: Core): void {
  if (core.state.turn.speaking && !isEarly(core)) dropSpeculation(core, 'more speech');
}

/** Takes an event of the speculative request. */
export function take(core: Core, event: ModelEvent): boolean {
  const { speculation } = core.state;
  if (speculation?.reply.requestId !== event.requestId || speculation.done) return false;
  switch (event.type) {
    case 'llm.text':
      speculation.reply.phase = 'streaming';
      takeText(core, speculation, event);
      return true;
    case 'llm.voice':
      speculation.reply.phase = 'streaming';
      speculation.voiced = (speculation.voiced ?? '') + event.text;
      speculation.modelChars += event.text.length;
      return true;
    case 'llm.toolCall':
      speculation.reply.phase = 'streaming';
      speculation.modelChars += event.call.arguments.length;
      addCall(core, speculation.reply, event.call);
      return true;
    case 'llm.done':
      speculation.done = true;
      return true;
    case 'llm.failed':
      core.state.turn.speculations = MOST_A_TURN; // asked again when the turn is over
      dropSpeculation(core, 'the model failed');
      return true;
  }
}

/**
 * The turn is over. Returns whether the speculative answer answers it.
 * @param asked `answered` of the turn before it was closed
 */
export function confirm(core: Core, turn: TurnToAnswer, asked: string): boolean {
  const { speculation } = core.state;
  if (speculation === null) return false;
  const words = core.config.modelHears ? asked : comparable(core, turn.text);
  if (speculation.words !== words) dropSpeculation(core, 'other words');
  else if (speculation.history !== turn.entry || speculation.tools !== core.state.tools.length)
    dropSpeculation(core, 'other facts');
  if (core.state.speculation === null) return false;
  core.state.speculation = null;
  core.disarm('speculation');
  noteEarly(core, speculation, true);
  cancelReply(core);
  const { sentences, pending, done, startMs, voiced } = speculation;
  const { requestId, phase, calls } = speculation.reply;
  core.emit({ type: 'llm.confirm', requestId });
  core.trace('speculation.confirmed', { requestId, headStartMs: core.nowMs - startMs });
  const wordless = core.config.modelHears;
  const reply = { ...newReply(turn), requestId, phase, calls, pending, round: 1, wordless };
  core.state.reply = reply;
  core.state.hasUnreportedResults = false;
  armModelDeadline(core, reply);
  armFiller(core);
  for (const { text, utteranceId, pauseMs } of sentences) {
    speakPiece(core, reply, text, utteranceId);
    if (pauseMs > 0) pauseAfterLast(core, pauseMs);
  }
  if (voiced !== null) onVoice(core, reply, voiced);
  if (done) endRound(core, reply);
  return true;
}

/**
 * What an answer that starts now would answer, in a form that can be compared; empty = nothing yet. A model that hears
 * the user answers speech, whatever the transcript says.
 */
export function answered(core: Core): string {
  const { turn } = core.state;
  if (!core.config.modelHears) return comparable(core, turnText(core));
  // Sound without words has nothing to answer.
  if (turn.speechStartMs === null || (isHeardOut(core) && turnText(core) === ''))
    return comparable(core, turnText(core));
  if (turn.speechMs < MIN_UNTRANSCRIBED_MS && turnText(core) === '') return '';
  // Typed or earlier words must be part of it: wait for the words.
  if (turn.carried !== '' && !isHeardOut(core)) return '';
  return `speech until ${String(turn.endMs)} ${comparable(core, turn.carried)}`;
}

/** When the pause becomes a likely end. */
function startOf(core: Core): number {
  const { turn, deadlines } = core.state;
  if (turn.speaking) return Infinity;
  const lastMs = (deadlines['turn.end'] ?? Infinity) - HEAD_START_MS;
  if (turn.completeness < LIKELY) return lastMs;
  return isHeardOut(core) ? core.nowMs : turn.endMs + INTERIM_MS;
}

/** Answers may be begun while the user still speaks. A model that hears the user has nothing to go by until a pause. */
function isEarly({ config }: Core): boolean {
  return config.speculation.early && !config.modelHears;
}

/** @param early before the final words are known: the turn's budget pays */
function begin(core: Core, words: string, early: boolean): void {
  // A fallback of a model that hears the user needs all of the words or none.
  const text = core.config.modelHears && !isHeardOut(core) ? '' : turnText(core);
  const messages = modelMessages(core, { role: 'user', content: text });
  const reply = newReply({ text, number: core.state.turn.number, entry: null, interrupts: false });
  reply.requestId = core.newId();
  const promptChars = charsOf(messages);
  if (early) core.state.turn.earlyTokens.prompt += tokensOf(promptChars);
  else core.state.turn.speculations++;
  core.state.speculation = {
    reply,
    words,
    sentences: [],
    pending: '',
    voiced: null,
    done: false,
    history: core.state.history.length,
    tools: core.state.tools.length,
    startMs: core.nowMs,
    promptChars,
    modelChars: 0,
    early,
  };
  const { requestId } = reply;
  if (early) core.trace('speculation.started', { requestId, early, speaking: core.state.turn.speaking });
  else core.trace('speculation.started', { requestId, completeness: core.state.turn.completeness });
  requestModel(core, reply.requestId, messages, { speculative: true });
}

function takeText(core: Core, speculation: SpeculationState, said: ModelText): void {
  const { sentences } = speculation;
  speculation.modelChars += said.text.length;
  const cut = cutText(speculation.pending, said, sentences.length === 0);
  speculation.pending = cut.rest;
  for (const piece of cut.pieces) {
    // The voice prepares the first sentence, whose first piece may be only a clause.
    const isFirst = sentences.every((sentence) => !/[.!?…。！？]["'”’)」』]*$/u.test(sentence.text));
    const utteranceId = isFirst ? core.newId() : null;
    if (utteranceId !== null) core.emit({ type: 'speak.prepare', utteranceId, ...markedPart(piece) });
    sentences.push({ text: piece, utteranceId, pauseMs: 0 });
  }
  const last = sentences.at(-1);
  if (last !== undefined) last.pauseMs = said.pauseMs ?? 0;
}

/** Why no speculation is allowed now; null = it is. */
function whyNot(core: Core): string | null {
  const { turn, ending, interruption, digits, toSay, voicemail, hold } = core.state;
  if (hold !== null || core.isSilenced || core.isTalkedOver) return 'the agent is silent';
  if (voicemail?.phase === 'greeting' || voicemail?.screening === true) return 'a machine speaks';
  if (!isOpen(core)) return 'no turn';
  if (turn.waiting || interruption !== null || agentHasSomethingToSay(core)) return 'the agent speaks';
  if (ending !== null) return 'the end';
  if (mayBegin(core) || stepsOf(core)?.asksForCard === true) return 'a step that needs the whole turn';
  if (core.state.handover !== null) return 'another agent comes';
  if (isEcho(core)) return 'an echo';
  return digits !== '' || toSay.length > 0 ? 'something else came' : null;
}
