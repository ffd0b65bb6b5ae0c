import type { TtsWord } from '../providers/tts/tts.js';

/** How much of an utterance's text a listener has heard, from the times of its words. */
export class HeardText {
  #text: string;
  readonly #ends: { chars: number; endMs: number }[] = [];
  #searchFrom = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** More of the text: of a voice that makes up its words while it speaks. */
  addText(text: string): void {
    this.#text += text;
  }

  /** Adds words in the order of speaking; times count from the utterance's first sample. */
  addWords(words: readonly TtsWord[]): void {
    for (const word of words) {
      const at = this.#text.indexOf(word.text, this.#searchFrom);
      if (at < 0) continue; // a word the voice made up has no place in the text
      this.#searchFrom = at + word.text.length;
      this.#ends.push({ chars: this.#searchFrom, endMs: word.endMs });
    }
  }

  /**
   * Characters whose audio is over after `playedMs`. Without word times it is estimated from the share of the audio
   * that has been played, rounded down to a whole word, or a character where words have no spaces.
   * @param totalMs length of the whole audio, null while it is not known
   */
  charsAt(playedMs: number, totalMs: number | null): number {
    if (totalMs !== null && playedMs >= totalMs) return this.#text.length;
    if (this.#ends.length > 0) {
      let chars = 0;
      for (const end of this.#ends) if (end.endMs <= playedMs) chars = Math.max(chars, end.chars);
      return chars;
    }
    const msPerChar = SPACELESS.test(this.#text) ? MS_PER_SYLLABLE : MS_PER_CHAR;
    const share = playedMs / (totalMs ?? this.#text.length * msPerChar);
    let end = Math.floor(this.#text.length * Math.min(1, share));
    while (end > 0 && this.#text[end] !== ' ' && !SPACELESS.test(this.#text[end - 1] ?? '')) end--;
    return end;
  }
}

/** Usual speaking rate: 15 characters a second. */
const MS_PER_CHAR = 67;
/** … and seven where a character is a syllable or so, and words have no spaces between them. */
const MS_PER_SYLLABLE = 143;
const SPACELESS = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
