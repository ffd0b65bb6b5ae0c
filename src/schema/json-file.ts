import { readFile, stat } from 'node:fs/promises';
import { ParleyError, reasonOf } from '../base/errors.js';

const LINE = String.raw`//[^\n]*(?:\n|$)`;
const BLOCK = String.raw`/\*(?:[^*]|\*(?!/))*(?:\*/|$)`;
/** A JSON text, a comment, a comma that nothing follows: the last two may stand where JSON has none. */
const PIECE = new RegExp(
  [String.raw`"(?:[^"\\\n]|\\.)*"?`, LINE, BLOCK, String.raw`,(?=(?:\s|${LINE}|${BLOCK})*[}\]])`].join('|'),
  'g',
);

/**
 * JSON as people write it, as JSON: without comments and without commas behind the last member. What is left stays in
 * its place, so that a parser's complaint names the right line and column.
 */
export function withoutComments(text: string): string {
  return text.replace(PIECE, (piece) => (piece.startsWith('"') ? piece : piece.replace(/[^\n]/g, ' ')));
}

/** Largest configuration file that is read, in bytes. */
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * The JSON value of a file.
 * @param comments whether it may have comments, and commas behind the last member. Default false.
 * @throws ParleyError CONFIG_INVALID naming the file and what is wrong with it.
 */
export async function readJsonFile(path: string, { comments = false } = {}): Promise<unknown> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > MAX_BYTES) throw new Error(`it is larger than ${String(MAX_BYTES)} bytes`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new ParleyError(
      'CONFIG_INVALID',
      { reason: `${path}: cannot be read: ${reasonOf(error)}` },
      { cause: error },
    );
  }
  try {
    const json = text.replace(/^\uFEFF/, '');
    return JSON.parse(comments ? withoutComments(json) : json) as unknown;
  } catch (error) {
    throw new ParleyError('CONFIG_INVALID', { reason: `${path}: not JSON: ${reasonOf(error)}` }, { cause: error });
  }
}
