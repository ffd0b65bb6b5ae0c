import type { SpokenWord } from './speakable.js';
import type { TtsWord } from '../tts.js';

/** A piece of what was said, a letter, a word or a phrase, and when. */
export interface TimedText {
  text: string;
  startMs: number;
  endMs: number;
}

/** Search range, in letters, for a piece that does not match the next letters of the text. */
const REACH = 60;
/** A shorter piece is found anywhere: it is looked for close by only. */
const SHORT_PIECE = 3;
const SHORT_REACH = 4;

/**
 * Aligns the words of a text with a vendor's timed pieces, which may be letters, words without punctuation, or numbers
 * as spoken. Compares only letters and digits. A word without a piece is placed between its neighbours. Pure.
 */
export class WordAligner {
  readonly #words: readonly SpokenWord[];
  /** All letters that are said, and the word that each belongs to. */
  readonly #letters: string;
  readonly #wordOf: readonly number[];
  readonly #times: ({ startMs: number; endMs: number } | undefined)[];
  #at = 0;
  /** The last word that a piece belongs to. */
  #latest = -1;
  #reported = 0;
  #reportedMs = 0;

  constructor(words: readonly SpokenWord[]) {
    this.#words = words;
    const letters = words.map(({ spoken }) => lettersOf(spoken));
    this.#letters = letters.join('');
    this.#wordOf = letters.flatMap((text, index) => Array.from({ length: text.length }, () => index));
    this.#times = words.map(() => undefined);
  }

  /** Whether any word's time is known. */
  get hasTimes(): boolean {
    return this.#latest >= 0;
  }

  push(piece: TimedText): void {
    const text = lettersOf(piece.text);
    if (text === '') return;
    const found = this.#find(text);
    if (found < 0) return;
    const msPerLetter = (piece.endMs - piece.startMs) / text.length;
    for (let i = 0; i < text.length; i++) {
      const word = this.#wordOf[found + i] as number;
      const startMs = piece.startMs + i * msPerLetter;
      const known = this.#times[word];
      this.#times[word] = { startMs: known?.startMs ?? startMs, endMs: startMs + msPerLetter };
      this.#latest = word;
    }
    this.#at = found + text.length;
  }

  /** The words whose times are final now, in order; each is given once. */
  take(): TtsWord[] {
    return this.#report(this.#latest);
  }

  /** All words that are left. `endMs` is where the speech ends. */
  finish(endMs: number): TtsWord[] {
    return this.#report(this.#words.length, endMs);
  }

  #find(text: string): number {
    if (this.#letters.startsWith(text, this.#at)) return this.#at;
    const reach = text.length < SHORT_PIECE ? SHORT_REACH : REACH;
    const found = this.#letters.slice(this.#at, this.#at + reach + text.length).indexOf(text);
    return found < 0 ? -1 : this.#at + found;
  }

  #report(until: number, endMs = Number.POSITIVE_INFINITY): TtsWord[] {
    const words: TtsWord[] = [];
    while (this.#reported < until) {
      const time = this.#times[this.#reported] ?? this.#between(until, endMs);
      const startMs = Math.min(endMs, Math.max(this.#reportedMs, time.startMs));
      this.#reportedMs = Math.min(endMs, Math.max(startMs, time.endMs));
      words.push({ text: (this.#words[this.#reported] as SpokenWord).text, startMs, endMs: this.#reportedMs });
      this.#reported++;
    }
    return words;
  }

  /** A word without a time shares what is between its neighbours with those around it that have none either. */
  #between(until: number, endMs: number): { startMs: number; endMs: number } {
    const { spoken } = this.#words[this.#reported] as SpokenWord;
    const startMs = this.#reportedMs;
    if (spoken === '') return { startMs, endMs: startMs };
    let next = this.#reported;
    let length = 0;
    while (next < this.#words.length && this.#times[next] === undefined) length += this.#lengthOf(next++);
    const limitMs = this.#times[next]?.startMs ?? (until === this.#words.length ? endMs : startMs);
    const share = this.#lengthOf(this.#reported) / Math.max(1, length);
    return { startMs, endMs: startMs + Math.max(0, limitMs - startMs) * share };
  }

  #lengthOf(word: number): number {
    return this.#words[word]?.spoken.length ?? 0;
  }
}

function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
