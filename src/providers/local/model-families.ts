import type { LocalModel } from './model-facts.js';
import type { OnnxFacts } from './onnx-facts.js';

/** The files of one model. */
export interface ModelFiles {
  /** In order. */
  names: readonly string[];
  path: (name: string) => string;
  /** Rejects for a file that cannot be read. */
  facts: (name: string) => Promise<OnnxFacts>;
}

/** What a family's files tell; the rest has defaults. */
export type FoundModel = Pick<LocalModel, 'kind' | 'family' | 'engine' | 'config'> &
  Partial<Pick<LocalModel, 'languages' | 'takesLanguage' | 'hotwords' | 'speakerNames' | 'sampleRateHz' | 'tailMs'>>;

/**
 * The file with such a name: of several the one with weights of 8 bits, which computes faster and hears as well.
 * @param whole true = the one with whole weights, where both are there
 */
export function pick({ names }: ModelFiles, pattern: RegExp, whole = false): string | null {
  const fits = names.filter((name) => /\.(?:onnx|ort)$/u.test(name) && pattern.test(name));
  return fits.find((name) => name.includes('int8') !== whole) ?? fits[0] ?? null;
}

/** The only model's file, where a family has one. */
export function onlyModel(files: ModelFiles): string | null {
  const models = files.names.filter((name) => name.endsWith('.onnx'));
  // The same one with weights of several sizes is one.
  const kinds = new Set(models.map((name) => name.replace(/[.-](?:int8|fp16|quant)(?=\.)/u, '')));
  return pick(files, kinds.size === 1 ? /./u : /^model/u);
}

/** A text file or folder with such a name. */
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

/** An audio model that tells whether a turn is over: Whisper's features, or the samples themselves, and nothing else. */
export async function turnModelOf(files: ModelFiles): Promise<FoundModel | null> {
  const model = onlyModel(files);
  if (model === null) return null;
  const { inputs } = await files.facts(model);
  const [input = ''] = inputs;
  if (inputs.length !== 1 || !/^(?:input_features|input_values|audio|input)$/u.test(input)) return null;
  const family = input === 'input_features' ? 'smart turn' : 'turn';
  return { kind: 'turn', family, engine: null, config: { model: files.path(model) } };
}
