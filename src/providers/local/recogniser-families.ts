import { readFile } from 'node:fs/promises';
import type { Metadata } from './model-facts.js';
import { type FoundModel, type ModelFiles, onlyModel, other, pick, tokensOf, withInputs } from './model-families.js';

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
