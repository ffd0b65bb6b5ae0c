import type { LocalModel } from './model-facts.js';
import type { OnnxFacts } from './onnx-facts.js';
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { reasonOf } from '../../base/errors.js';

/** The files of one model. */
export interface ModelFiles {
  /** Sorted. */
  names: readonly string[];
  path: (name: string) => string;
  /** Rejects for an unreadable file. */
  facts: (name: string) => Promise<OnnxFacts>;
}

/** What a family's files determine; the rest has defaults. */
export type FoundModel = Pick<LocalModel, 'kind' | 'family' | 'engine' | 'config'> &
  Partial<Pick<LocalModel, 'languages' | 'takesLanguage' | 'hotwords' | 'speakerNames' | 'sampleRateHz' | 'tailMs'>>;

/**
 * The file that matches. Prefers 8-bit weights, which are faster and equally accurate.
 * @param whole true = prefer unquantised weights
 */
export function pick({ names }: ModelFiles, pattern: RegExp, whole = false): string | null {
  const fits = names.filter((name) => /\.(?:onnx|ort)$/u.test(name) && pattern.test(name));
  return fits.find((name) => name.includes('int8') !== whole) ?? fits[0] ?? null;
}

/** The model's file, for families with a single one. */
export function onlyModel(files: ModelFiles): string | null {
  const models = files.names.filter((name) => name.endsWith('.onnx'));
  // Variants of one file with different weights count as one.
  const kinds = new Set(models.map((name) => name.replace(/[.-](?:int8|fp16|quant)(?=\.)/u, '')));
  return pick(files, kinds.size === 1 ? /./u : /^model/u);
}

/** A text file or folder that matches. */
export function other({ names, path }: ModelFiles, pattern: RegExp): string | null {
  const found = names.find((name) => pattern.test(name));
  return found === undefined ? null : path(found);
}

/** GTCRN and DPDFNet. */
export async function denoiserOf(files: ModelFiles): Promise<FoundModel | null> {
  const model = onlyModel(files);
  if (model === null) return null;
  const type = (await files.facts(model)).metadata.get('model_type') ?? '';
  if (type !== 'gtcrn' && type !== 'dpdfnet') return null;
  return {
    kind: 'denoise',
    family: type,
    engine: 'denoise',
    config: { model: { [type]: { model: files.path(model) } } },
  };
}

/** An end-of-turn model: its only input is Whisper's features or the samples, or it takes audio and states. */
export async function turnModelOf(files: ModelFiles): Promise<FoundModel | null> {
  const model = onlyModel(files);
  if (model === null) return null;
  const { inputs, metadata } = await files.facts(model);
  const found = (family: string): FoundModel => {
    return { kind: 'turn', family, engine: null, config: { model: files.path(model) } };
  };
  const [input = ''] = inputs;
  if (inputs.length === 1)
    return /^(?:input_features|input_values|audio|input)$/u.test(input)
      ? found(input === 'input_features' ? 'smart turn' : 'turn')
      : null;
  const isStream = inputs.includes('audio') && inputs.every((name) => name === 'audio' || name.startsWith('state_'));
  return isStream || metadata.has('parley.audio') ? found('streaming turn') : null;
}

/** Errors in model files that can be found before sherpa-onnx loads them: it reports little, or crashes. */

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
