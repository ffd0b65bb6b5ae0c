import { ParleyError } from '../../base/errors.js';

/** What a reader makes of a file: its text in pieces, in the order of reading. */
export interface Block {
  /** `row`: a line of a table, which is never cut from the one before by an overlap. */
  kind: 'heading' | 'text' | 'row';
  text: string;
  /** 1 = outermost; headings only. */
  level?: number;
  /** Counted from 1; absent where the file has no pages. */
  page?: number;
}

/** Makes a file's bytes into blocks. Throws an Error whose message says what is wrong with the file. */
export type Reader = (bytes: Uint8Array) => Iterable<Block> | AsyncIterable<Block>;

/** Longest text of one file in characters: nobody writes as much, a hostile archive does. */
export const MAX_TEXT_CHARS = 50_000_000;

/** @param reason completes "Cannot read menu.pdf: …" */
export function unreadable(name: string, reason: string): ParleyError {
  return new ParleyError('FILE_NOT_READABLE', { path: name, reason });
}

/** One line, without the spaces of the layout. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Without the empty cells at the end of a row. Linear in its length. */
export function withoutEmptyCells(row: string): string {
  let end = row.length;
  while (end > 0 && (row[end - 1] === '|' || row[end - 1] === ' ')) end--;
  return row.slice(0, end);
}

/** A passage before it has a file. */
export interface Chunk {
  text: string;
  page: number | null;
  heading: string | null;
}

/** A passage is closed when it has so many characters … */
const TARGET_CHARS = 800;
/** … and is never longer than this. */
const MAX_CHARS = 1_200;
/** The last sentence of a passage begins the next one too, if it is no longer than this. */
const MAX_OVERLAP_CHARS = 200;
/** Headings that a passage is told with: the innermost ones. */
const HEADINGS = 3;

/**
 * Cuts a file's blocks into passages: at headings, else between paragraphs, sentences or rows, with an overlap of one
 * sentence within running text.
 */
export class Chunker {
  readonly #headings: { level: number; text: string }[] = [];
  #text = '';
  /** How much of it was in the passage before. */
  #overlap = 0;
  #page: number | null = null;

  /** The passages that this block completes. */
  *add(block: Block): Generator<Chunk> {
    const page = block.page ?? null;
    if (block.kind === 'heading') {
      yield* this.end();
      const { level = 1, text } = block;
      while ((this.#headings.at(-1)?.level ?? 0) >= level) this.#headings.pop();
      this.#headings.push({ level, text: text.slice(0, 200) });
      return;
    }
    // What is at the end of a page and at the start of the next is told as of the first.
    if (this.#text === '' || this.#text.length === this.#overlap) this.#page = page;
    if (this.#page !== page && this.#text.length > TARGET_CHARS / 2) {
      yield* this.#close(block.kind === 'text');
      this.#page = page;
    }
    for (const piece of pieces(block.text)) {
      if (this.#text.length + piece.length + 1 > MAX_CHARS) {
        yield* this.#close(block.kind === 'text');
        this.#page = page;
      }
      this.#text += (this.#text === '' ? '' : block.kind === 'row' ? '\n' : ' ') + piece;
      if (this.#text.length >= TARGET_CHARS) {
        yield* this.#close(block.kind === 'text');
        this.#page = page;
      }
    }
  }

  /** The last passage, if there is one. */
  *end(): Generator<Chunk> {
    yield* this.#close(false);
  }

  *#close(overlap: boolean): Generator<Chunk> {
    const text = this.#text;
    if (text.length > this.#overlap) {
      const path = this.#headings.slice(-HEADINGS).map((heading) => heading.text);
      yield { text, page: this.#page, heading: path.length === 0 ? null : path.join(' › ') };
    }
    const last = overlap ? (sentences(text).at(-1) ?? '') : '';
    this.#text = last.length <= MAX_OVERLAP_CHARS && last.length < text.length ? last : '';
    this.#overlap = this.#text.length;
  }
}

/** Sentences; those that are too long for a passage in parts. */
function* pieces(text: string): Generator<string> {
  for (const sentence of sentences(text)) {
    let rest = sentence;
    while (rest.length > TARGET_CHARS) {
      const space = rest.lastIndexOf(' ', TARGET_CHARS);
      let end = space > TARGET_CHARS / 2 ? space : TARGET_CHARS;
      // Never through the middle of a character.
      if (/[\uD800-\uDBFF]/.test(rest[end - 1] ?? '')) end--;
      yield rest.slice(0, end);
      rest = rest.slice(end).trimStart();
    }
    if (rest !== '') yield rest;
  }
}

/** A text's sentences, of any script; "3.5" and "e.g. so" are not cut. */
export function sentences(text: string): string[] {
  return text
    .split(/(?<=[.!?…]["'”’)\]]?)\s+(?=["'“‘(¿¡[]?[\p{Lu}\p{Lo}\p{N}])|(?<=[。！？])|(?<=[।॥؟۔])\s+|\n/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}
