import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import * as z from 'zod';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { LocalModel } from './model-facts.js';
import { denoiserOf, type ModelFiles, onlyModel, turnModelOf } from './model-families.js';
import { recogniserOf } from './recogniser-families.js';
import { readOnnxFacts } from './onnx-facts.js';
import { voiceOf } from './voice-families.js';

/** Written next to a model when it is downloaded. */
export const ORIGIN_FILE = 'parley-model.json';

/** Where a model came from. */
export const originSchema = z.object({
  name: z.string(),
  licence: z.string(),
  languages: z.array(z.string()).nullable(),
  files: z.array(
    z.object({
      url: z.string(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/u),
      /** Whether the publisher's checksum was verified, or there was none and ours was recorded. */
      checked: z.enum(['published', 'recorded']),
    }),
  ),
});

export type ModelOrigin = z.infer<typeof originSchema>;

/**
 * Identifies a model from a folder or a single ONNX file, by file names and metadata.
 * @throws ParleyError MODEL_UNUSABLE naming what is missing or unknown
 */
export async function inspectModel(path: string): Promise<LocalModel> {
  const name = basename(path, extname(path) === '.onnx' ? '.onnx' : '');
  try {
    const files = await filesAt(path);
    const origin = await readOrigin(path);
    const found =
      (await recogniserOf(files)) ?? (await voiceOf(files)) ?? (await denoiserOf(files)) ?? (await turnModelOf(files));
    if (found === null) throw new Error(`it is not a known kind of model: ${await inWords(files)}`);
    const { languages = null } = found;
    return {
      takesLanguage: false,
      hotwords: null,
      speakerNames: [],
      sampleRateHz: 0,
      tailMs: 0,
      ...found,
      name,
      path,
      languages: languages ?? origin?.languages ?? null,
    };
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError('MODEL_UNUSABLE', { model: name, reason: reasonOf(error) }, { cause: error });
  }
}

/** Describes the files that were found, if they are not a known model. */
async function inWords(files: ModelFiles): Promise<string> {
  const model = onlyModel(files);
  if (model === null) return 'no model in ONNX format that sherpa-onnx reads';
  const { inputs, metadata } = await files.facts(model);
  const type = metadata.get('model_type');
  return `${model} takes ${inputs.join(', ').slice(0, 200) || 'nothing'}${type === undefined ? '' : `, its model_type is "${type}"`}`;
}

/** Null if there is no origin file. */
export async function readOrigin(folder: string): Promise<ModelOrigin | null> {
  try {
    return originSchema.parse(JSON.parse(await readFile(join(folder, ORIGIN_FILE), 'utf8')));
  } catch {
    return null;
  }
}

async function filesAt(path: string): Promise<ModelFiles> {
  let isFolder: boolean;
  try {
    isFolder = (await stat(path)).isDirectory();
  } catch {
    throw new Error('there is no such file or folder');
  }
  const folder = isFolder ? path : join(path, '..');
  const names = isFolder ? (await readdir(folder)).toSorted() : [basename(path)];
  const facts = new Map<string, ReturnType<typeof readOnnxFacts>>();
  return {
    names,
    path: (name) => join(folder, name),
    facts: (name) => {
      const known = facts.get(name) ?? readOnnxFacts(join(folder, name));
      facts.set(name, known);
      return known.catch((error: unknown) => {
        throw new Error(`${name}: ${reasonOf(error)}`, { cause: error });
      });
    },
  };
}
