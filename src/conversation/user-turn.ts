import type { Core } from './core.js';
import { scoreTurn, silenceNeededMs } from './endpointing.js';
import { INAUDIBLE, spokenText } from './history.js';
import { newTurn } from './state.js';

/** The user's turn: gathers what is said and decides when it is over. */

/** Speech shorter than this, without words, was no attempt to say something. */
const MIN_UNINTELLIGIBLE_MS = 700;

export function onSpeechStarted(core: Core, startMs: number): void {
  const { turn } = core.state;
  turn.speaking = true;
  turn.waiting = false;
  turn.startMs ??= startMs;
  turn.speechStartMs = startMs;
  core.disarm('turn.end');
  core.arm('turn.stuck', core.nowMs + core.config.endpointing.stuckMs);
}

export function onSpeechStopped(core: Core, endMs: number): void {
  const { turn } = core.state;
  if (!turn.speaking) return;
  turn.speaking = false;
  turn.endMs = endMs;
  turn.speechMs += Math.max(0, endMs - turn.speechStartMs);
  core.disarm('turn.stuck');
  scheduleEnd(core);
}

export function onTranscript(
  core: Core,
  transcript: { segment: number; text: string; isFinal: boolean; understood: boolean },
): void {
  const { turn } = core.state;
  const { segment, text, isFinal, understood } = transcript;
  if (segment <= turn.lastSegment) return;
  const known = turn.segments.find((candidate) => candidate.segment === segment);
  if (known === undefined) turn.segments.push({ segment, text, isFinal, understood });
  else Object.assign(known, { text, isFinal, understood });
  if (turn.startMs === null && text !== '') {
    // The recogniser hears what the VAD does not.
    turn.startMs = core.nowMs;
    turn.endMs = core.nowMs;
  }
  if (turn.speaking) core.arm('turn.stuck', core.nowMs + core.config.endpointing.stuckMs);
  else if (turn.startMs !== null) scheduleEnd(core);
}

/** Words of the turn so far that were understood. */
export function turnText(core: Core): string {
  const { carried, segments } = core.state.turn;
  return [carried, ...segments.filter((segment) => segment.understood).map((segment) => segment.text)]
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join(' ');
}

/** Whether all that was said has its final transcript. */
export function isFinal(core: Core): boolean {
  const { segments } = core.state.turn;
  return segments.length > 0 && segments.every((segment) => segment.isFinal);
}

/** Something was said that is not answered yet. */
export function isOpen(core: Core): boolean {
  return core.state.turn.startMs !== null;
}

/** Sets when the turn ends if nothing more comes: scored anew with every transcript while silence grows. */
export function scheduleEnd(core: Core): void {
  const { endpointing, language } = core.config;
  const { turn } = core.state;
  const final = isFinal(core);
  const score = scoreTurn({
    text: turnText(core),
    language,
    isFinal: final,
    answersQuestion: agentAsked(core),
  });
  const needed = silenceNeededMs(score, endpointing);
  const waitMs = final ? needed : Math.max(needed, endpointing.finalTranscriptMs);
  core.trace('turn.scored', { completeness: round(score.completeness), digits: score.digits, final, waitMs });
  core.arm('turn.end', Math.max(core.nowMs, turn.endMs + waitMs));
}

/** What the turn said as a message, null if it was nothing. */
export function turnMessage(core: Core): string | null {
  const text = turnText(core);
  if (text !== '') return text;
  const { turn } = core.state;
  const speechMs = turn.speechMs + (turn.speaking ? Math.max(0, core.nowMs - turn.speechStartMs) : 0);
  const unclear = turn.segments.some((segment) => !segment.understood && segment.text.trim() !== '');
  return unclear || speechMs >= MIN_UNINTELLIGIBLE_MS ? INAUDIBLE : null;
}

/** Ends the turn, whatever becomes of it, and begins the next. */
export function closeTurn(core: Core): void {
  const { turn } = core.state;
  const next = newTurn(turn.number + 1, Math.max(turn.lastSegment, ...turn.segments.map(({ segment }) => segment)));
  if (turn.speaking) {
    next.speaking = true;
    next.startMs = core.nowMs;
    next.speechStartMs = core.nowMs;
    core.arm('turn.stuck', core.nowMs + core.config.endpointing.stuckMs);
  } else core.disarm('turn.stuck');
  core.disarm('turn.end');
  core.state.turn = next;
  core.emit({ type: 'stt.endTurn' });
}

/** The agent's last words were a question. */
function agentAsked(core: Core): boolean {
  const last = core.state.history.findLast((entry) => entry.role === 'assistant');
  return last?.role === 'assistant' && /[?？]["'”’)]*$/.test(spokenText(last, true));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
