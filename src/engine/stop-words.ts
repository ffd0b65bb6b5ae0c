/** Ends a text before the first of the given sequences, however the text is cut into pieces. */
export class StopWords {
  readonly #words: readonly string[];
  /** The end of the text, which may be the beginning of a sequence. */
  #kept = '';
  #isFound = false;

  constructor(words: readonly string[]) {
    this.#words = words.filter((word) => word !== '');
  }

  /** Whether a sequence has come. Nothing follows it. */
  get isFound(): boolean {
    return this.#isFound;
  }

  /** Returns what is certain to be before a sequence. */
  take(piece: string): string {
    if (this.#isFound) return '';
    const text = this.#kept + piece;
    const places = this.#words.map((word) => text.indexOf(word)).filter((place) => place >= 0);
    this.#isFound = places.length > 0;
    const end = this.#isFound ? Math.min(...places) : text.length - this.#doubtful(text);
    this.#kept = this.#isFound ? '' : text.slice(end);
    return text.slice(0, end);
  }

  /** The end of the text, if no sequence has come. */
  rest(): string {
    const rest = this.#kept;
    this.#kept = '';
    return rest;
  }

  /** The length of the longest end of the text that a sequence begins with. */
  #doubtful(text: string): number {
    const lengths = this.#words.map((word) => {
      let length = Math.min(word.length - 1, text.length);
      while (length > 0 && !text.endsWith(word.slice(0, length))) length--;
      return length;
    });
    return Math.max(0, ...lengths);
  }
}
