import { ParleyError } from '../../base/errors.js';

/** Output of a reader: the text of a file as blocks, in reading order. */
export interface Block {
  /** `row`: a table row, which starts without an overlap. */
  kind: 'heading' | 'text' | 'row';
  text: string;
  /** 1 = outermost; headings only. */
  level?: number;
  /** From 1; absent if the file has no pages. */
  page?: number;
}

/** Parses a file into blocks. Throws an Error that says what is wrong with the file. */
export type Reader = (bytes: Uint8Array) => Iterable<Block> | AsyncIterable<Block>;

/** Maximum text of one file, in characters: only a hostile archive contains more. */
export const MAX_TEXT_CHARS = 50_000_000;

/** @param reason completes "Cannot read menu.pdf: …" */
export function unreadable(name: string, reason: string): ParleyError {
  return new ParleyError('FILE_NOT_READABLE', { path: name, reason });
}

/** One line, with whitespace collapsed. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Without trailing empty cells. Linear in the length. */
export function withoutEmptyCells(row: string): string {
  let end = row.length;
  while (end > 0 && (row[end - 1] === '|' || row[end - 1] === ' ')) end--;
  return row.slice(0, end);
}

/** A passage before it is assigned to a file. */
export interface Chunk {
  text: string;
  page: number | null;
  heading: string | null;
}

/** A passage ends when it has this many characters … */
const TARGET_CHARS = 800;
/** … and never exceeds this many. */
const MAX_CHARS = 1_200;
/** The last sentence of a passage is repeated in the next one, if it is at most this long. */
const MAX_OVERLAP_CHARS = 200;
/** Number of headings per passage: the innermost ones. */
const HEADINGS = 3;

/**
 * Splits blocks into passages: at headings, else between paragraphs, sentences or rows. Running text overlaps by one
 * sentence.
 */
export class Chunker {
  readonly #headings: { level: number; text: string }[] = [];
  #text = '';
  /** Length of the overlap with the previous passage. */
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
    // A passage that spans two pages belongs to the first.
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

  /** The last passage, if any. */
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

/** Sentences; those longer than a passage are split. */
function* pieces(text: string): Generator<string> {
  for (const sentence of sentences(text)) {
    let rest = sentence;
    while (rest.length > TARGET_CHARS) {
      const space = rest.lastIndexOf(' ', TARGET_CHARS);
      let end = space > TARGET_CHARS / 2 ? space : TARGET_CHARS;
      // Never splits a surrogate pair.
      if (/[\uD800-\uDBFF]/.test(rest[end - 1] ?? '')) end--;
      yield rest.slice(0, end);
      rest = rest.slice(end).trimStart();
    }
    if (rest !== '') yield rest;
  }
}

/** The sentences of a text in any script; does not split "3.5" or "e.g. so". */
export function sentences(text: string): string[] {
  return text
    .split(/(?<=[.!?…]["'”’)\]]?)\s+(?=["'“‘(¿¡[]?[\p{Lu}\p{Lo}\p{N}])|(?<=[。！？])|(?<=[।॥؟۔])\s+|\n/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}
