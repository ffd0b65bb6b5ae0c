import { ParleyError } from '../../errors.js';

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
