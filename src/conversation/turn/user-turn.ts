import type { Core } from '../core.js';
import { beyondEcho, saidAt, saidBefore } from './echo.js';
import { scoreTurn, silenceNeededMs, type TurnScore } from './endpointing.js';
import { INAUDIBLE, lastSpoken, wasCutOff } from '../speech/history.js';
import { newTurn } from '../state.js';

/** The user's turn: collects words and decides when it is over. */

/** Speech without words shorter than this is ignored … */
const MIN_UNINTELLIGIBLE_MS = 700;
/** … or shorter than this after a question, or if the model hears the audio and there is no transcript. */
export const MIN_UNTRANSCRIBED_MS = 250;
/** Completeness of a turn without known words. */
const UNTRANSCRIBED = 0.6;
/** Words have come, then none for this long, although the VAD still hears speech: it hears something else. */
const WORDS_STAND_STILL_MS = 5000;

/** Interim words later than this after the end of speech belong to speech that the VAD misses. */
const LATE_WORDS_MS = 500;
/** A shorter silence is a gap between two words. */
const MIN_PAUSE_MS = 150;
/** A longer silence does not count as the user's habit. */
const MAX_PAUSE_MS = 2500;
/** Number of the user's latest pauses that determine their usual pause. */
const KNOWN_PAUSES = 8;

export interface TurnTranscript {
  segment: number;
  text: string;
  isFinal: boolean;
  understood: boolean;
}

export function onSpeechStarted(core: Core, startMs: number): void {
  const { turn } = core.state;
  const start = notAfterNow(core, startMs);
  if (turn.speechStartMs !== null && !turn.speaking) {
    notePause(core, start - turn.endMs);
  }
  if (!turn.speaking) turn.speechStartMs = start; // if reported twice, the first report counts
  turn.speaking = true;
  if (turn.startMs === null) turn.overChars = saidAt(core, start);
  turn.judged = null;
  turn.waiting = false;
  turn.startMs ??= start;
  core.disarm('turn.end');
  core.arm('turn.stuck', core.nowMs + core.config.endpointing.stuckMs);
}

export function onSpeechStopped(core: Core, endMs: number): void {
  const { turn } = core.state;
  if (!turn.speaking) return;
  turn.speaking = false;
  turn.endMs = notAfterNow(core, endMs);
  turn.speechMs += Math.max(0, turn.endMs - (turn.speechStartMs ?? turn.endMs));
  core.disarm('turn.stuck');
  scheduleEnd(core);
}

/** An audio model has judged the end of the speech. */
export function onJudged(core: Core, probability: number): void {
  const { turn } = core.state;
  if (turn.speaking || turn.startMs === null || turn.waiting || !(probability >= 0 && probability <= 1)) return;
  turn.judged = probability;
  scheduleEnd(core);
}

export function onTranscript(core: Core, transcript: TurnTranscript): void {
  const { turn } = core.state;
  const { segment, text, isFinal, understood } = transcript;
  if (!Number.isSafeInteger(segment) || segment <= turn.lastSegment) return;
  const known = turn.segments.find((candidate) => candidate.segment === segment);
  const newWords = text.trim() !== '' && text !== known?.text;
  if (known === undefined) turn.segments.push({ segment, text, isFinal, understood });
  else Object.assign(known, { text, isFinal, understood });
  if (isFinal) turn.finalMs = core.nowMs;
  turn.overChars ??= saidBefore(core);
  if (turn.speaking) {
    if (newWords) core.arm('turn.stuck', core.nowMs + Math.min(core.config.endpointing.stuckMs, WORDS_STAND_STILL_MS));
    return;
  }
  // With speech to speech the transcript comes after the speech, so late words belong to it.
  const isLate = !isFinal && core.nowMs > turn.endMs + LATE_WORDS_MS && !core.config.modelHears;
  const unheard = turn.speechStartMs === null || isLate;
  if (newWords && unheard) {
    // The recogniser hears speech that the VAD misses: its words are the only sign of it.
    turn.startMs ??= core.nowMs;
    turn.endMs = core.nowMs;
  }
  if (turn.startMs !== null && !turn.waiting) scheduleEnd(core);
}

/** The user resumed after a silence: notes how this user pauses. */
function notePause(core: Core, pauseMs: number): void {
  const { turn, pace } = core.state;
  if (pauseMs < MIN_PAUSE_MS) return;
  turn.longestPauseMs = Math.max(turn.longestPauseMs, pauseMs);
  if (pauseMs <= MAX_PAUSE_MS) pace.pausesMs = [...pace.pausesMs, pauseMs].slice(-KNOWN_PAUSES);
}

/** This user's usual pause inside turns; 0 = not enough is known. */
function usualPauseMs(core: Core): number {
  const { pausesMs } = core.state.pace;
  return pausesMs.length < 3 ? 0 : pausesMs.reduce((sum, ms) => sum + ms, 0) / pausesMs.length;
}

/** Understood words since the turn began or, if it continues after an answer, since then. */
export function segmentsText(core: Core): string {
  return joined(core.state.turn.segments.filter(({ understood }) => understood).map(({ text }) => text));
}

/** Whether the words of the turn are what the agent was saying meanwhile. */
export function isEcho(core: Core): boolean {
  const { overChars, waiting } = core.state.turn;
  return !waiting && beyondEcho(core, segmentsText(core), overChars) === '';
}

/** Understood words of the whole turn so far. */
export function turnText(core: Core): string {
  return joined([core.state.turn.carried, segmentsText(core)]);
}

/** Ignores what was said since the turn began or continued. */
export function forgetWords(core: Core): void {
  const { turn } = core.state;
  turn.lastSegment = Math.max(turn.lastSegment, ...turn.segments.map(({ segment }) => segment));
  turn.segments = [];
  turn.speechMs = 0;
}

/** Whether there is a final transcript for all speech. */
export function isHeardOut(core: Core): boolean {
  const { segments, finalMs, endMs, speaking } = core.state.turn;
  return !speaking && finalMs !== null && finalMs >= endMs && segments.every((segment) => segment.isFinal);
}

/** The turn contains something without an answer. */
export function isOpen(core: Core): boolean {
  return core.state.turn.startMs !== null;
}

/** The score of the words so far. */
export function scoreNow(core: Core): TurnScore {
  const { carried, segments, longestPauseMs, judged } = core.state.turn;
  const understood = segments.filter((segment) => segment.understood);
  return scoreTurn({
    parts: [carried, ...understood.map(({ text }) => text)],
    language: core.language,
    isFinal: isHeardOut(core),
    agentSaid: lastSpoken(core),
    audio: judged,
    longestPauseMs,
    usualPauseMs: usualPauseMs(core),
  });
}

/** Schedules the end of the turn for continued silence; scored again with every transcript. */
export function scheduleEnd(core: Core): void {
  const { endpointing } = core.config;
  const isFinal = isHeardOut(core);
  const { judged } = core.state.turn;
  const score = scoreNow(core);
  const { modelHears } = core.config;
  if (modelHears && score.wordless) Object.assign(score, { completeness: UNTRANSCRIBED, wordless: false });
  core.state.turn.completeness = score.completeness;
  const { early, earlySilenceMs } = core.config.speculation;
  const needed = Math.max(silenceNeededMs(score, endpointing), early && !score.wordless ? earlySilenceMs : 0);
  const waitMs = isFinal ? needed : Math.max(needed, endpointing.finalTranscriptMs);
  const completeness = Math.round(score.completeness * 100) / 100;
  core.trace('turn.scored', { completeness, dictating: score.dictating, final: isFinal, judged, waitMs });
  core.arm('turn.end', Math.max(core.nowMs, core.state.turn.endMs + waitMs));
}

/** The turn as a message, null if it contains nothing. */
export function turnMessage(core: Core): string | null {
  const text = turnText(core);
  if (text !== '') return text;
  const { segments } = core.state.turn;
  const unclear = segments.some((segment) => !segment.understood && segment.text.trim() !== '');
  const isHeard = core.config.modelHears && segments.length === 0;
  // A word is a whole answer: silence must not follow it. Over a question that was cut off it may be a cough.
  const isAnswer = (core.state.expected !== null && !wasCutOff(core)) || /[?？]/u.test(lastSpoken(core));
  return unclear || isLong(core, isHeard || isAnswer ? MIN_UNTRANSCRIBED_MS : MIN_UNINTELLIGIBLE_MS) ? INAUDIBLE : null;
}

/** There is enough speech for words, and the recogniser has reported nothing. */
export function isWordless(core: Core): boolean {
  return core.state.turn.segments.length === 0 && isLong(core);
}

/**
 * The turn continues with these words before it: a turn that was answered too soon, or text typed while the agent has
 * the floor.
 */
export function carry(core: Core, text: string): void {
  const { turn } = core.state;
  // Speech that continues and was not understood before counts in full.
  if (text === INAUDIBLE) turn.speechMs += turn.speaking ? MIN_UNINTELLIGIBLE_MS : 0;
  else turn.carried = joined([turn.carried, text]);
  turn.startMs ??= core.nowMs;
  // What seemed to be the end was a pause.
  const { endMs } = core.state.pace;
  if (endMs !== null && turn.speechStartMs !== null) notePause(core, turn.speechStartMs - endMs);
  core.state.pace.endMs = null;
}

/** The turn is over, but the agent finishes first. */
export function wait(core: Core): void {
  core.state.turn.waiting = true;
  core.disarm('turn.end');
}

/**
 * Ends the turn, whatever happens to it, and begins the next.
 * @param stuck the VAD reports speech where there is none: the next turn begins with its next start of speech
 */
export function closeTurn(core: Core, stuck = false): void {
  const { turn } = core.state;
  const next = newTurn(turn.number + 1, Math.max(turn.lastSegment, ...turn.segments.map(({ segment }) => segment)));
  core.disarm('turn.end', 'turn.stuck');
  core.state.pace.endMs = turn.speaking || turn.speechStartMs === null ? null : turn.endMs;
  if (turn.speaking && !stuck) {
    next.speaking = true;
    next.startMs = core.nowMs;
    next.speechStartMs = core.nowMs;
    next.overChars = saidAt(core, core.nowMs);
    core.arm('turn.stuck', core.nowMs + core.config.endpointing.stuckMs);
  }
  core.state.turn = next;
  core.emit({ type: 'stt.endTurn' });
}

/** Whether the user has spoken for so long since the turn began or, if it continues after an answer, since then. */
export function isLong(core: Core, leastMs = MIN_UNINTELLIGIBLE_MS): boolean {
  const { speechMs, speaking, speechStartMs } = core.state.turn;
  return speechMs + (speaking ? core.nowMs - (speechStartMs ?? core.nowMs) : 0) >= leastMs;
}

/** Times from another clock must not put the end of a turn into the future. */
export function notAfterNow(core: Core, atMs: number): number {
  return Number.isFinite(atMs) && atMs <= core.nowMs ? atMs : core.nowMs;
}

function joined(texts: readonly string[]): string {
  return texts
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join(' ');
}
