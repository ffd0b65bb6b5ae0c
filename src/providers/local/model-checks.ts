/** What of a model's files can be seen to be wrong before sherpa-onnx reads them: it says little, or crashes. */
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { type ModelFiles, other } from './model-families.js';

/** Of several kinds of export some have a few unused outputs more than tokens. */
const LEAST_SHARE = 0.9;

/**
 * The list of tokens, a line each: the token, if it is not a space, and its number.
 * @param vocabulary how many the model has, where it says so
 * @throws Error naming the file and what is wrong with it
 */
export async function tokensOf(files: ModelFiles, vocabulary?: string): Promise<string> {
  const path = other(files, /tokens\.txt$/u);
  if (path === null) throw new Error('its tokens.txt is missing');
  const name = basename(path);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`${name}: ${reasonOf(error)}`, { cause: error });
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new Error(`${name}: it is empty`);
  if (!/(?:^|\s)\d+\s*$/u.test(lines[0] ?? '')) throw new Error(`${name}: its first line is no token and its number`);
  const wanted = Number(vocabulary ?? 0);
  if (lines.length >= LEAST_SHARE * wanted) return path;
  throw new Error(`${name}: it has ${String(lines.length)} tokens, and the model ${String(wanted)}`);
}

/**
 * sherpa-onnx gives a model its inputs in order, whatever they are called, and crashes where there are fewer.
 * @returns the file's path
 * @throws Error naming the file, what it takes and what was expected
 */
export async function withInputs(files: ModelFiles, name: string, least: number, wanted?: RegExp): Promise<string> {
  // Its format is another one: nothing is known of it before it is loaded.
  if (name.endsWith('.ort')) return files.path(name);
  const { inputs } = await files.facts(name);
  if (inputs.length >= least && (wanted === undefined || inputs.some((input) => wanted.test(input)))) {
    return files.path(name);
  }
  const taken = `${inputs.slice(0, 8).join(', ') || 'nothing'}${inputs.length > 8 ? ' …' : ''}`;
  const expected = `at least ${String(least)}${wanted === undefined ? '' : `, "${wanted.source}" among them,`}`;
  throw new Error(`${name}: it takes ${taken} (${String(inputs.length)} inputs), where ${expected} are expected`);
}

/** The files without which espeak-ng cannot say anything. */
const ESPEAK_FILES = ['phontab', 'phonindex', 'phondata', 'intonations'];

/**
 * espeak-ng's data, which makes phonemes of letters; null = there is none.
 * @throws Error where it is not whole, or where there is none and it is needed
 */
export function espeakDataOf(files: ModelFiles, isNeeded: boolean): string | null {
  const folder = other(files, /^espeak-ng-data$/u);
  if (folder === null && isNeeded) throw new Error('its folder espeak-ng-data is missing');
  if (folder === null) return null;
  const missing = ESPEAK_FILES.find((name) => !existsSync(join(folder, name)));
  if (missing !== undefined) throw new Error(`espeak-ng-data/${missing} is missing`);
  return folder;
}
