import { readFile, stat } from 'node:fs/promises';
import { ParleyError, reasonOf } from '../errors.js';

/** Largest configuration file that is read, in bytes. */
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * The JSON value of a file.
 * @throws ParleyError CONFIG_INVALID naming the file and what is wrong with it.
 */
export async function readJsonFile(path: string): Promise<unknown> {
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
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch (error) {
    throw new ParleyError('CONFIG_INVALID', { reason: `${path}: not JSON: ${reasonOf(error)}` }, { cause: error });
  }
}
