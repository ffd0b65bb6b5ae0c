/** Errors in model files that can be found before sherpa-onnx loads them: it reports little, or crashes. */
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { type ModelFiles, other } from './model-families.js';

/** Some exports have a few more unused outputs than tokens. */
const LEAST_SHARE = 0.9;

/**
 * The token list: per line a token (absent for a space) and its number.
 * @param vocabulary size that the model states, if any
 * @throws Error naming the file and the error
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
  if (!/(?:^|\s)\d+\s*$/u.test(lines[0] ?? ''))
    throw new Error(`${name}: its first line is not a token and its number`);
  const wanted = Number(vocabulary ?? 0);
  if (lines.length >= LEAST_SHARE * wanted) return path;
  throw new Error(`${name}: it has ${String(lines.length)} tokens, and the model ${String(wanted)}`);
}

/**
 * Checks a model's inputs. sherpa-onnx passes them by position, whatever their names, and crashes if there are too few.
 * @returns the file's path
 * @throws Error naming the file, its inputs and the expected ones
 */
export async function withInputs(files: ModelFiles, name: string, least: number, wanted?: RegExp): Promise<string> {
  // Not ONNX: nothing is known before it is loaded.
  if (name.endsWith('.ort')) return files.path(name);
  const { inputs } = await files.facts(name);
  if (inputs.length >= least && (wanted === undefined || inputs.some((input) => wanted.test(input)))) {
    return files.path(name);
  }
  const taken = `${inputs.slice(0, 8).join(', ') || 'nothing'}${inputs.length > 8 ? ' …' : ''}`;
  const expected = `at least ${String(least)}${wanted === undefined ? '' : `, "${wanted.source}" among them,`}`;
  throw new Error(`${name}: it takes ${taken} (${String(inputs.length)} inputs), where ${expected} are expected`);
}

/** The files that espeak-ng cannot work without. */
const ESPEAK_FILES = ['phontab', 'phonindex', 'phondata', 'intonations'];

/**
 * The folder of espeak-ng's data, which converts letters to phonemes; null = none.
 * @throws Error if it is incomplete, or required and missing
 */
export function espeakDataOf(files: ModelFiles, isNeeded: boolean): string | null {
  const folder = other(files, /^espeak-ng-data$/u);
  if (folder === null && isNeeded) throw new Error('its folder espeak-ng-data is missing');
  if (folder === null) return null;
  const missing = ESPEAK_FILES.find((name) => !existsSync(join(folder, name)));
  if (missing !== undefined) throw new Error(`espeak-ng-data/${missing} is missing`);
  return folder;
}
