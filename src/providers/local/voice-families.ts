import { type Metadata, voiceLanguages } from './model-facts.js';
import {
  type FoundModel,
  type ModelFiles,
  onlyModel,
  other,
  pick,
  espeakDataOf,
  tokensOf,
  withInputs,
} from './model-families.js';

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
