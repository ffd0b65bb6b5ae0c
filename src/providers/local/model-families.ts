import type { LocalModel } from './model-facts.js';
import type { OnnxFacts } from './onnx-facts.js';

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

/** An end-of-turn model: its only input is Whisper's features or the samples. */
export async function turnModelOf(files: ModelFiles): Promise<FoundModel | null> {
  const model = onlyModel(files);
  if (model === null) return null;
  const { inputs } = await files.facts(model);
  const [input = ''] = inputs;
  if (inputs.length !== 1 || !/^(?:input_features|input_values|audio|input)$/u.test(input)) return null;
  const family = input === 'input_features' ? 'smart turn' : 'turn';
  return { kind: 'turn', family, engine: null, config: { model: files.path(model) } };
}
