import { type Metadata, voiceLanguages } from './model-facts.js';
import { type FoundModel, type ModelFiles, onlyModel, other, pick, tokensOf } from './model-families.js';

const VOCODER = /vocos|hifigan|vocoder/u;

/** Null = it is no voice. Throws where it is one that is not whole, or of a family that is not known here. */
export async function voiceOf(files: ModelFiles): Promise<FoundModel | null> {
  const acoustic = pick(files, /^model-steps/u);
  const model = acoustic ?? onlyModel({ ...files, names: files.names.filter((name) => !VOCODER.test(name)) });
  if (model === null) return null;
  const { metadata } = await files.facts(model);
  if (!metadata.has('sample_rate') || !metadata.has('n_speakers')) {
    return (metadata.get('model_type') ?? '').startsWith('matcha') ? matcha(files, model, metadata) : null;
  }
  const type = metadata.get('model_type') ?? '';
  const path = files.path(model);
  if (type.startsWith('matcha')) return matcha(files, model, metadata);
  const voices = other(files, /^voices\.bin$/u);
  if (voices !== null) {
    const family = type.startsWith('kitten') ? 'kitten' : 'kokoro';
    return voice(files, family, { [family]: { model: path, voices, ...textParts(files, family) } }, metadata);
  }
  if (!metadata.has('comment')) return null;
  return voice(files, 'vits', { vits: { model: path, ...textParts(files, 'vits') } }, metadata);
}

function matcha(files: ModelFiles, model: string, metadata: Metadata): FoundModel {
  const vocoder = pick(files, VOCODER);
  if (vocoder === null) throw new Error('its vocoder is missing (such as vocos-22khz-univ.onnx)');
  const parts = { acousticModel: files.path(model), vocoder: files.path(vocoder), ...textParts(files, 'matcha') };
  return voice(files, 'matcha', { matcha: parts }, metadata);
}

function voice(files: ModelFiles, family: string, model: object, metadata: Metadata): FoundModel {
  // How numbers, dates and the like are written out.
  const rules = files.names.filter((name) => name.endsWith('.fst')).map(files.path);
  const speakers = (metadata.get('speaker_names') ?? '').split(',').filter((name) => name !== '');
  return {
    ...{ kind: 'tts', family, engine: 'speak', speakerNames: speakers, languages: voiceLanguages(metadata) },
    sampleRateHz: Number(metadata.get('sample_rate') ?? 0),
    // A sentence is given as soon as it is made.
    config: { model, maxNumSentences: 1, ...(rules.length > 0 && { ruleFsts: rules.join(',') }) },
  };
}

/** What makes sounds of letters: Kitten's have no lexicon. */
function textParts(files: ModelFiles, family: string): Record<string, string> {
  const data = other(files, /^espeak-ng-data$/u);
  // Of two kinds of English one is spoken.
  const isSpoken = (name: string): boolean =>
    name !== 'lexicon-gb-en.txt' || !files.names.includes('lexicon-us-en.txt');
  const lexicons = files.names.filter((name) => /^lexicon.*\.txt$/u.test(name) && isSpoken(name)).map(files.path);
  // A voice of espeak-ng's sounds would be given letters instead.
  const lexicon = family === 'kokoro' || data === null ? lexicons.join(',') : '';
  return {
    tokens: tokensOf(files),
    ...(data !== null && { dataDir: data }),
    ...(lexicon !== '' && family !== 'kitten' && { lexicon }),
  };
}
