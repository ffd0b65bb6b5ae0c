import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import * as z from 'zod';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { type LocalModel, type Metadata, voiceLanguages } from './model-facts.js';
import {
  denoiserOf,
  type ModelFiles,
  onlyModel,
  turnModelOf,
  type FoundModel,
  other,
  pick,
  tokensOf,
  withInputs,
  espeakDataOf,
} from './model-families.js';
import { readOnnxFacts } from './onnx-facts.js';

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

/** All of them listen at 16 kHz; sherpa-onnx corrects the number of bands where a model has others. */
const FEATURES = { sampleRate: 16_000, featureDim: 80 };
const SENSE_VOICE_LANGUAGES = ['zh', 'en', 'ja', 'ko', 'yue'];
const FRAME_MS = 10;
/** k2-fsa's own examples append 660 ms. */
const LEAST_TAIL_MS = 700;

/** Null = not a recogniser. Throws if it is incomplete or of an unknown family. */
export async function recogniserOf(files: ModelFiles): Promise<FoundModel | null> {
  const encoder = pick(files, /encode/u);
  if (encoder !== null) return withEncoder(files, encoder);
  const model = onlyModel(files);
  return model === null ? null : alone(files, model);
}

async function withEncoder(files: ModelFiles, encoder: string): Promise<FoundModel> {
  const moonshine = await moonshineOf(files, encoder);
  if (moonshine !== null) return moonshine;
  const joiner = pick(files, /joiner/u);
  const decoder = pick(files, /decoder/u, joiner !== null);
  if (decoder === null) throw new Error('its decoder is missing');
  const { metadata } = await files.facts(encoder);
  const parts = { encoder: files.path(encoder), decoder: files.path(decoder) };
  const tokens = (): Promise<string> => tokensOf(files, metadata.get('vocab_size'));
  const type = metadata.get('model_type') ?? '';
  if (joiner !== null) return transducer(files, { ...parts, joiner: await withInputs(files, joiner, 2) }, metadata);
  if (metadata.has('n_text_layer')) {
    await withInputs(files, decoder, 6);
    return whisper(files, parts, metadata);
  }
  if (metadata.has('encoder_output_size')) {
    await withInputs(files, decoder, 5);
    return streaming(
      'streaming paraformer',
      { paraformer: parts, tokens: await tokens() },
      metadata,
      PARAFORMER_FRAMES,
    );
  }
  throw new Error(`models of the type ${type === '' ? 'that its encoder has' : `"${type}"`} are not used here`);
}

async function moonshineOf(files: ModelFiles, encoder: string): Promise<FoundModel | null> {
  const [preprocessor, uncached, cached] = [/preprocess/u, /uncached_decode/u, /(?:^|[^n])cached_decode/u].map(
    (pattern) => pick(files, pattern),
  );
  const merged = pick(files, /decoder_model_merged/u);
  if (preprocessor != null && uncached != null && cached != null) {
    const moonshine = {
      preprocessor: files.path(preprocessor),
      encoder: await withInputs(files, encoder, 2),
      uncachedDecoder: await withInputs(files, uncached, 3),
      cachedDecoder: await withInputs(files, cached, 4),
    };
    return whole('moonshine', { moonshine, tokens: await tokensOf(files) });
  }
  if (merged === null) return null;
  const mergedDecoder = await withInputs(files, merged, 7, /key_values/u);
  return whole('moonshine', {
    moonshine: { encoder: files.path(encoder), mergedDecoder },
    tokens: await tokensOf(files),
  });
}

async function transducer(
  files: ModelFiles,
  parts: { encoder: string; decoder: string; joiner: string },
  metadata: Metadata,
): Promise<FoundModel> {
  const shared = { transducer: parts, tokens: await tokensOf(files), ...vocabularyOf(files) };
  if (isStreaming(metadata)) {
    const found = streaming('streaming transducer', shared, metadata);
    const hotwords = other(files, /^hotwords\.txt$/u);
    if (hotwords === null) return found;
    const search = { decodingMethod: 'modified_beam_search', hotwordsFile: hotwords, hotwordsScore: HOTWORDS_SCORE };
    return { ...found, config: { ...found.config, ...search } };
  }
  // NeMo models have a recurrent decoder and support greedy search only.
  if (metadata.has('pred_hidden')) return whole('transducer', { ...shared, modelType: 'nemo_transducer' });
  const found = whole('transducer', shared);
  if (!('bpeVocab' in shared)) return found;
  const search = { decodingMethod: 'modified_beam_search', hotwordsScore: HOTWORDS_SCORE };
  const hotwords = (await knowsCapitalsOnly(shared.tokens)) ? 'in capitals' : 'as they are';
  return { ...found, hotwords, config: { ...found.config, ...search } };
}

/** sherpa-onnx's own default. */
const HOTWORDS_SCORE = 1.5;

async function knowsCapitalsOnly(tokens: string): Promise<boolean> {
  const text = (await readFile(tokens, 'utf8')).replaceAll(/<[^>]*>/gu, '');
  return /\p{Lu}/u.test(text) && !/\p{Ll}/u.test(text);
}

/** How words split into tokens, which hotwords need. */
function vocabularyOf(files: ModelFiles): { modelingUnit?: string; bpeVocab?: string } {
  const vocabulary = other(files, /^bpe\.vocab$/u);
  return vocabulary === null ? {} : { modelingUnit: 'bpe', bpeVocab: vocabulary };
}

async function whisper(
  files: ModelFiles,
  parts: { encoder: string; decoder: string },
  metadata: Metadata,
): Promise<FoundModel> {
  const codes = metadata.get('all_language_codes')?.split(',') ?? [];
  const isMultilingual = metadata.get('is_multilingual') === '1';
  return {
    ...whole('whisper', { whisper: { ...parts, task: 'transcribe', language: '' }, tokens: await tokensOf(files) }),
    languages: isMultilingual ? codes : ['en'],
    takesLanguage: isMultilingual,
  };
}

/** A model in a single file. */
async function alone(files: ModelFiles, model: string): Promise<FoundModel | null> {
  const { metadata } = await files.facts(model);
  const type = metadata.get('model_type') ?? '';
  const path = { model: files.path(model) };
  const tokens = (): Promise<string> => tokensOf(files, metadata.get('vocab_size'));
  if (metadata.has('lang_zh') && metadata.has('with_itn')) {
    const senseVoice = { model: await withInputs(files, model, 4), language: '', useInverseTextNormalization: 1 };
    return { ...whole('sense voice', { senseVoice, tokens: await tokens() }), languages: SENSE_VOICE_LANGUAGES };
  }
  // Batch models state their type, streaming ones their architecture.
  if (type === 'zipformer2_ctc' || (type === 'zipformer2' && isStreaming(metadata))) {
    return isStreaming(metadata)
      ? streaming('streaming zipformer', { zipformer2Ctc: path, tokens: await tokensOf(files) }, metadata)
      : whole('zipformer', { zipformerCtc: path, tokens: await tokensOf(files) });
  }
  if (type.startsWith('EncDecCTC') || type === 'EncDecHybridRNNTCTCBPEModel') {
    return isStreaming(metadata)
      ? streaming('streaming nemo', { nemoCtc: path, tokens: await tokensOf(files) }, metadata)
      : whole('nemo', { nemoCtc: path, tokens: await tokensOf(files) });
  }
  if (type === 'paraformer' || (metadata.has('lfr_window_size') && metadata.has('neg_mean'))) {
    const paraformer = { model: await withInputs(files, model, 2) };
    return whole('paraformer', { paraformer, tokens: await tokens() });
  }
  return null;
}

function isStreaming(metadata: Metadata): boolean {
  return metadata.has('decode_chunk_len') || metadata.has('window_size');
}

/** Frames of a streaming Paraformer: a chunk and its look-ahead. */
const PARAFORMER_FRAMES = 61 + 3 * 6;

/**
 * A model that reads chunks of this many frames; the chunk length determines the silence it needs after the last word.
 */
function streaming(family: string, modelConfig: object, metadata: Metadata, usualFrames = 61): FoundModel {
  const frames = Number(metadata.get('T') ?? metadata.get('window_size') ?? usualFrames);
  const tailMs = Math.max(LEAST_TAIL_MS, FRAME_MS * (Number.isFinite(frames) ? frames : 0) + 200);
  const config = { featConfig: FEATURES, modelConfig, decodingMethod: 'greedy_search', enableEndpoint: 0 };
  return { kind: 'stt', family, engine: 'listen', config, tailMs };
}

function whole(family: string, modelConfig: object): FoundModel {
  const config = { featConfig: FEATURES, modelConfig, decodingMethod: 'greedy_search' };
  return { kind: 'stt', family, engine: 'transcribe', config };
}

/**
 * Languages of Kokoro 1.0 and 1.1 in sherpa-onnx (`--kokoro-lang`): Chinese by its lexicon, the others by espeak-ng.
 */
const KOKORO_LANGUAGES = ['en', 'es', 'fr', 'hi', 'it', 'pt', 'zh'];
const VOCODER = /vocos|hifigan|vocoder/u;

/** Null = not a voice. Throws if it is incomplete or of an unknown family. */
export async function voiceOf(files: ModelFiles): Promise<FoundModel | null> {
  const acoustic = pick(files, /^model-steps/u);
  const model = acoustic ?? onlyModel({ ...files, names: files.names.filter((name) => !VOCODER.test(name)) });
  if (model === null) return null;
  const { metadata } = await files.facts(model);
  if (!metadata.has('sample_rate') || !metadata.has('n_speakers')) {
    return (metadata.get('model_type') ?? '').startsWith('matcha') ? matcha(files, model, metadata) : null;
  }
  const type = metadata.get('model_type') ?? '';
  if (type.startsWith('matcha')) return matcha(files, model, metadata);
  const voices = other(files, /^voices\.bin$/u);
  if (voices !== null) {
    const family = type.startsWith('kitten') ? 'kitten' : 'kokoro';
    const parts = { model: await withInputs(files, model, 3), voices, ...(await textParts(files, family, metadata)) };
    const isMany = family === 'kokoro' && Number(metadata.get('version') ?? 1) >= 2;
    if (!isMany) return voice(files, family, { [family]: parts }, metadata);
    // sherpa-onnx requires one of the two.
    const many = 'lexicon' in parts ? parts : { ...parts, lang: 'en-us' };
    return {
      ...voice(files, family, { [family]: many }, metadata),
      languages: KOKORO_LANGUAGES,
      takesLanguage: true,
    };
  }
  if (!metadata.has('comment')) return null;
  const parts = { model: await withInputs(files, model, 3), ...(await textParts(files, 'vits', metadata)) };
  return voice(files, 'vits', { vits: parts }, metadata);
}

async function matcha(files: ModelFiles, model: string, metadata: Metadata): Promise<FoundModel> {
  const vocoder = pick(files, VOCODER);
  if (vocoder === null) throw new Error('its vocoder is missing (such as vocos-22khz-univ.onnx)');
  const type = (await files.facts(vocoder)).metadata.get('model_type') ?? '';
  if (!/^(?:hifigan|vocos|matcha-tts vocos)$/u.test(type)) {
    throw new Error(`${vocoder}: it is not a known vocoder (its model_type is "${type}")`);
  }
  const acousticModel = await withInputs(files, model, 3);
  const parts = { acousticModel, vocoder: files.path(vocoder), ...(await textParts(files, 'matcha', metadata)) };
  return voice(files, 'matcha', { matcha: parts }, metadata);
}

function voice(files: ModelFiles, family: string, model: object, metadata: Metadata): FoundModel {
  // Rules for expanding numbers, dates and the like.
  const rules = files.names.filter((name) => name.endsWith('.fst')).map(files.path);
  const speakers = (metadata.get('speaker_names') ?? '').split(',').filter((name) => name !== '');
  return {
    kind: 'tts',
    family,
    engine: 'speak',
    speakerNames: speakers,
    languages: voiceLanguages(metadata),
    sampleRateHz: Number(metadata.get('sample_rate') ?? 0),
    // Each sentence is returned as soon as it is synthesised.
    config: { model, maxNumSentences: 1, ruleFsts: rules.length > 0 ? rules.join(',') : undefined },
  };
}

/** What converts text to phonemes: Kitten models have no lexicon. */
async function textParts(files: ModelFiles, family: string, metadata: Metadata): Promise<Record<string, string>> {
  const isAlways = family === 'kokoro' || family === 'kitten';
  const data = espeakDataOf(
    files,
    isAlways || metadata.get('has_espeak') === '1' || metadata.get('comment') === 'piper',
  );
  // If there are two variants of English, one is used.
  const isSpoken = (name: string): boolean =>
    name !== 'lexicon-gb-en.txt' || !files.names.includes('lexicon-us-en.txt');
  const lexicons = files.names.filter((name) => /^lexicon.*\.txt$/u.test(name) && isSpoken(name)).map(files.path);
  // A voice that expects espeak-ng's phonemes would get letters instead.
  const lexicon = family === 'kokoro' || data === null ? lexicons.join(',') : '';
  if (metadata.get('jieba') === '1' && lexicon === '') throw new Error('its lexicon.txt is missing');
  const parts: Record<string, string> = { tokens: await tokensOf(files) };
  if (data !== null) parts['dataDir'] = data;
  if (lexicon !== '' && family !== 'kitten') parts['lexicon'] = lexicon;
  return parts;
}
