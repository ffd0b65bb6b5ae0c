import type { SttTranscript, SttWord } from '../stt.js';

/** A vendor's transcript of one unit: an utterance, a turn, a result. */
export interface Piece {
  text: string;
  /** The vendor will not change it any more, except for punctuation. */
  isFinal: boolean;
  /** 0..1. */
  confidence: number | null;
  /** With samples on the session's count. Empty if the vendor reports no times. */
  words: readonly SttWord[];
}

/** Pieces of closed turns, which vendors may still change. */
const MAX_PAST_PIECES = 16;

/**
 * Builds the session's segments, one per turn, from a vendor's pieces, whose boundaries differ: a turn's text is its
 * pieces in order, and late results of a closed turn stay out of the next one.
 */
export class Segments {
  readonly #onTranscript: (transcript: SttTranscript) => void;
  /** Separator between pieces. */
  readonly #space: string;
  #segment = 0;
  #pieces = new Map<number, Piece>();
  /** How many words of a piece belong to closed turns. */
  #past = new Map<number, number>();
  /** Words that end before this belong to closed turns. */
  #fromSample = 0;
  #lastKey = -1;
  #reported: string | null = null;
  /** Everything so far has been reported as final. */
  #isFinal = false;

  /** @param space separator of pieces: empty in languages without spaces */
  constructor(onTranscript: (transcript: SttTranscript) => void, space = ' ') {
    this.#onTranscript = onTranscript;
    this.#space = space;
  }

  /** Whether every piece of the turn is final. */
  get isSettled(): boolean {
    return [...this.#pieces.values()].every(({ isFinal }) => isFinal);
  }

  get isEmpty(): boolean {
    return this.#text() === '';
  }

  /** Adds or updates a piece. `key` determines the order. */
  update(key: number, piece: Piece): void {
    this.#lastKey = Math.max(this.#lastKey, key);
    const current = this.#ofThisTurn(key, piece);
    if (current === null) {
      // Counted as words of this turn before their times were known.
      if (this.#pieces.delete(key) && this.#reported !== null) this.#report(false);
      return;
    }
    if (current.text === '' && !this.#pieces.has(key)) return;
    const known = this.#pieces.get(key);
    this.#pieces.set(key, current);
    // A final piece may still get punctuation.
    this.#isFinal &&= current.isFinal;
    const hasNewTimes = current.isFinal && current.words.length > 0 && known?.words.length === 0;
    if (this.#text() !== (this.#reported ?? '') || hasNewTimes) this.#report(this.#isFinal);
  }

  /** The user resumes: final pieces are open again. */
  goesOn(): void {
    this.#isFinal = false;
  }

  /** No more results are due for the audio so far. */
  final(): void {
    this.#isFinal = true;
    this.#report(true);
  }

  /**
   * Closes the turn: everything so far, before `sample`.
   * @param owed number of its pieces that were cut off and are not final, or have not arrived
   */
  endTurn(sample: number, owed = 0): void {
    const open = [...this.#pieces].filter(([, { isFinal }]) => !isFinal).length;
    for (const [key, piece] of this.#pieces) {
      const isWhole = piece.isFinal || owed > 0;
      this.#past.set(key, isWhole ? Number.POSITIVE_INFINITY : (this.#past.get(key) ?? 0) + countOf(piece));
    }
    for (let more = 1; more <= owed - open; more++) this.#past.set(this.#lastKey + more, Number.POSITIVE_INFINITY);
    for (const key of [...this.#past.keys()].slice(0, -MAX_PAST_PIECES)) this.#past.delete(key);
    this.#pieces.clear();
    this.#fromSample = sample;
    if (this.#reported !== null) this.#segment++;
    this.#reported = null;
    this.#isFinal = false;
  }

  #ofThisTurn(key: number, piece: Piece): Piece | null {
    const past = this.#past.get(key);
    if (past === Number.POSITIVE_INFINITY) return null;
    if (piece.words.length > 0) {
      const words = piece.words.filter(({ startSample, endSample }) => startSample + endSample > 2 * this.#fromSample);
      if (words.length === 0) return null;
      return words.length === piece.words.length ? piece : { ...piece, words, text: joined(words, this.#space) };
    }
    if (past === undefined) return piece;
    // Without times, counts the words.
    const text = piece.text.trim().split(/\s+/).slice(past).join(' ');
    return { ...piece, text };
  }

  #text(): string {
    return this.#ordered()
      .map(({ text }) => text.trim())
      .filter((text) => text !== '')
      .join(this.#space);
  }

  #ordered(): Piece[] {
    return [...this.#pieces].sort(([a], [b]) => a - b).map(([, piece]) => piece);
  }

  #report(isFinal: boolean): void {
    const pieces = this.#ordered();
    const text = this.#text();
    const sure = pieces.map(({ confidence }) => confidence).filter((one) => one !== null);
    const words = pieces.flatMap((piece) => piece.words);
    this.#reported = text;
    const transcript = {
      segment: this.#segment,
      text,
      isFinal,
      understood: true,
      confidence: sure.length === 0 ? null : sure.reduce((sum, one) => sum + one, 0) / sure.length,
    };
    this.#onTranscript(words.length > 0 ? { ...transcript, words } : transcript);
  }
}

function countOf({ text }: Piece): number {
  return text.trim() === '' ? 0 : text.trim().split(/\s+/).length;
}

function joined(words: readonly SttWord[], space: string): string {
  return words.map(({ text }) => text.trim()).join(space);
}
