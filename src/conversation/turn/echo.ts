import { baseLanguage } from '../../base/language.js';
import { holdsStop, isAcknowledgement, jointOf, unitsOf } from './acknowledgements.js';
import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import { wordsOf } from '../language/words.js';

/**
 * The agent's own words, heard through the user's microphone. An echo repeats what is being played, in order and in
 * time: the words are compared with what the agent was saying when they began and has said since.
 */

/**
 * Words (or characters, in languages without spaces) before that moment to search: an echo is late, and so is the VAD.
 */
interface Reach {
  /** Short echo: must match completely. */
  near: number;
  /** Longer echo: up to a quarter may be misheard. */
  wide: number;
  /** The current word and the next. */
  ahead: number;
  /** Up to this many words an echo is short. */
  few: number;
}

const WORDS: Reach = { near: 2, wide: 4, ahead: 2, few: 2 };
const CHARACTERS: Reach = { near: 4, wide: 10, ahead: 6, few: 4 };
/** Reach back for words without a preceding speech start. */
const UNSEEN_CHARS = 60;
/** Longer than the words before that moment can be. */
const BACK_CHARS = 80;
/** Speech that begins later than this after the agent's end is not an echo. */
const TAIL_MS = 100;
/** Between two sentences with a shorter gap the agent is still speaking. */
const BREATH_MS = 1000;

/** How much the agent had said when the speech began; null = the agent was silent. */
export function saidAt(core: Core, startMs: number): number | null {
  const { said } = core.state.speech;
  if (isPlaying(core)) return saidNow(core);
  const graceMs = speech.isSpeaking(core) ? BREATH_MS : TAIL_MS;
  return said.endMs !== null && startMs <= said.endMs + graceMs ? said.chars : null;
}

/** The same for words without a detected start of speech. */
export function saidBefore(core: Core): number | null {
  return isPlaying(core) ? Math.max(0, saidNow(core) - UNSEEN_CHARS) : null;
}

/**
 * Compares what was heard with what the agent was saying.
 * @param since result of `saidAt` for the start of the words
 * @returns the words that are the user's own, empty = all is echo; null = no echo
 */
export function beyondEcho(core: Core, text: string, since: number | null): string | null {
  if (since === null) return null;
  const { language } = core;
  const base = baseLanguage(language);
  const units = unitsOf(wordsOf(text), base);
  if (units.length === 0) return null;
  const reach = jointOf(base) === '' ? CHARACTERS : WORDS;
  const isFew = units.length <= reach.few;
  const window = windowOf(core, since, reach, isFew ? reach.near : reach.wide);
  if (window.length === 0 || units.length > 2 * window.length) return null;
  if (isFew) {
    // "Stop" always stops the agent, and an answer may come over the end of its question.
    const matches = window.some((_unit, at) => units.every((unit, index) => window[at + index] === unit));
    return matches && !isQuestionEnding(core) && !holdsStop(text, language) ? '' : null;
  }
  const own = unmatched(units, window);
  const ownText = own.map((index) => units[index]).join(jointOf(base));
  const isTail = own.length === units.length - (own[0] ?? units.length);
  if (isTail && isAcknowledgement(ownText, language)) return ownText;
  const misheard = own.length <= units.length / 4 && !(isTail && own.length > 1);
  return misheard && !holdsStop(ownText, language) ? '' : null;
}

function windowOf(core: Core, since: number, reach: Reach, back: number): readonly string[] {
  const base = baseLanguage(core.language);
  const current = isPlaying(core) ? (speech.currentUtterance(core)?.text ?? '') : '';
  const heardChars = isPlaying(core) ? core.position.heardChars : 0;
  const sinceChars = Math.max(0, saidNow(core) - since);
  const all = `${core.state.speech.said.text} ${current.slice(0, heardChars)}`;
  const heard = all.slice(-(sinceChars + BACK_CHARS)); // earlier words do not count
  const before = unitsOf(wordsOf(heard), base);
  const during = sinceChars === 0 ? [] : unitsOf(wordsOf(heard.slice(-sinceChars)), base);
  const after = unitsOf(wordsOf(current.slice(heardChars, heardChars + BACK_CHARS)), base).slice(0, reach.ahead);
  return [...before.slice(-(during.length + back)), ...after];
}

/** Indices of the units outside the longest common subsequence. */
function unmatched(units: readonly string[], window: readonly string[]): number[] {
  const lengths = units.map(() => window.map(() => 0));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = units.length - 1; row >= 0; row--) {
    for (let column = window.length - 1; column >= 0; column--) {
      const isSame = units[row] === window[column];
      const length = isSame ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
      (lengths[row] as number[])[column] = length;
    }
  }
  const own: number[] = [];
  for (let row = 0, column = 0; row < units.length;) {
    if (units[row] === window[column]) {
      row++;
      column++;
    } else if (column >= window.length || at(row + 1, column) >= at(row, column + 1)) own.push(row++);
    else column++;
  }
  return own;
}

function isQuestionEnding(core: Core): boolean {
  const { said } = core.state.speech;
  const current = speech.currentUtterance(core);
  if (current === undefined || !isPlaying(core)) return /[?？]["'”’)]*$/.test(said.text.trim());
  return /[?？]["'”’)]*$/.test(current.text.trim()) && core.position.heardChars >= current.text.length / 2;
}

function isPlaying(core: Core): boolean {
  const current = speech.currentUtterance(core);
  return current?.playing === true && core.position.utteranceId === current.id;
}

function saidNow(core: Core): number {
  return core.state.speech.said.chars + (isPlaying(core) ? core.position.heardChars : 0);
}
