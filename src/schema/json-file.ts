import { readFile, stat } from 'node:fs/promises';
import { ParleyError, reasonOf } from '../base/errors.js';

const LINE = String.raw`//[^\n]*(?:\n|$)`;
const BLOCK = String.raw`/\*(?:[^*]|\*(?!/))*(?:\*/|$)`;
/** A string, a comment or a trailing comma. */
const PIECE = new RegExp(
  [String.raw`"(?:[^"\\\n]|\\.)*"?`, LINE, BLOCK, String.raw`,(?=(?:\s|${LINE}|${BLOCK})*[}\]])`].join('|'),
  'g',
);

/**
 * Removes comments and trailing commas from JSON. Spaces replace them, so that errors of a parser name the right line and
 * column.
 */
export function withoutComments(text: string): string {
  return text.replace(PIECE, (piece) => (piece.startsWith('"') ? piece : piece.replace(/[^\n]/g, ' ')));
}

/** Largest file in bytes. */
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * Reads a text file of at most 10 MiB.
 * @throws ParleyError CONFIG_INVALID naming the file and the fault
 */
export async function readTextFile(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_BYTES) throw new Error(`it is larger than ${String(MAX_BYTES)} bytes`);
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ParleyError(
      'CONFIG_INVALID',
      { reason: `${path}: cannot be read: ${reasonOf(error)}` },
      { cause: error },
    );
  }
}

/**
 * Reads a JSON file.
 * @param comments whether comments and trailing commas are allowed. Default false
 * @throws ParleyError CONFIG_INVALID naming the file and the fault
 */
export async function readJsonFile(path: string, { comments = false } = {}): Promise<unknown> {
  const text = await readTextFile(path);
  try {
    const json = text.replace(/^\uFEFF/, '');
    return JSON.parse(comments ? withoutComments(json) : json) as unknown;
  } catch (error) {
    throw new ParleyError('CONFIG_INVALID', { reason: `${path}: not JSON: ${reasonOf(error)}` }, { cause: error });
  }
}
