/**
 * The pronouncing dictionary of a language, as shipped with the recogniser: one entry per line, a word and its phones;
 * further pronunciations are entries `word(2)`, `word(3)`. The text stays in memory as it is (3 MB for English) with an
 * index over its lines, so that no decoder needs 134,000 words of its own.
 */
export class Lexicon {
  readonly #text: Uint8Array;
  /** Open addressing: line offset plus one, 0 = free. The size is a power of two, at most half full. */
  readonly #index: Uint32Array;

  /** Lines that start with `;;` or `##` are comments. Of duplicate entries, the first counts. */
  constructor(text: Uint8Array) {
    this.#text = text;
    let lines = 1;
    for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) lines++;
    this.#index = new Uint32Array(2 ** Math.ceil(Math.log2(2 * lines)));
    const mask = this.#index.length - 1;
    for (let start = 0; start < text.length; start = this.#endOfLine(start) + 1) {
      const end = this.#endOfWord(start);
      if (end === start || text[start] === SEMICOLON || text[start] === HASH) continue;
      let slot = hashOf(text, start, end) & mask;
      while (this.#index[slot] !== 0) slot = (slot + 1) & mask;
      this.#index[slot] = start + 1;
    }
  }

  /** A word's entries with their phones separated by spaces: `the` is `DH AH`; empty for an unknown word. */
  pronunciations(word: string): readonly Pronunciation[] {
    const found: Pronunciation[] = [];
    for (let entry = word; ; entry = `${word}(${String(found.length + 1)})`) {
      const phones = this.#phones(entry);
      if (phones === null) return found;
      found.push([entry, phones]);
    }
  }

  #phones(entry: string): string | null {
    const word = encoder.encode(entry);
    const mask = this.#index.length - 1;
    let slot = hashOf(word, 0, word.length) & mask;
    for (let start = this.#index[slot] as number; start !== 0; start = this.#index[slot] as number) {
      if (this.#isAt(word, start - 1)) {
        const phones = this.#text.subarray(start - 1 + word.length, this.#endOfLine(start - 1));
        return decoder.decode(phones).trim().replace(/\s+/g, ' ');
      }
      slot = (slot + 1) & mask;
    }
    return null;
  }

  #isAt(word: Uint8Array, start: number): boolean {
    if (this.#endOfWord(start) - start !== word.length) return false;
    return word.every((byte, i) => byte === this.#text[start + i]);
  }

  #endOfLine(start: number): number {
    const end = this.#text.indexOf(NEWLINE, start);
    return end < 0 ? this.#text.length : end;
  }

  #endOfWord(start: number): number {
    let end = start;
    while (end < this.#text.length && (this.#text[end] as number) > BLANK) end++;
    return end;
  }
}

/** A dictionary entry such as `the(2)`, and its phones. */
export type Pronunciation = readonly [entry: string, phones: string];

const NEWLINE = 10;
const BLANK = 32;
const HASH = 35;
const SEMICOLON = 59;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** FNV-1a (Fowler, Noll, Vo), 32 bits. */
function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash >>> 0;
}
