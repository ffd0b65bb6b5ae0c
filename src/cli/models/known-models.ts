import type { ModelKind } from '../../providers/local/model-facts.js';

/** A model that can be downloaded from its publisher. */
export interface KnownModel {
  kind: ModelKind;
  /** A description, to help users choose. */
  about: string;
  /** Codes without a region; null = not applicable. */
  languages: readonly string[] | null;
  /** SPDX identifier, or a link to the licence. */
  licence: string;
  /** Approximate download size; null = unknown in advance. */
  megabytes: number | null;
  files: readonly KnownFile[];
}

export interface KnownFile {
  url: string;
  /** `tar.bz2`: an archive; else the name of the file. */
  as: 'tar.bz2' | (string & {});
}

const RELEASES = 'https://github.com/k2-fsa/sherpa-onnx/releases/download';

/** By the names for `parley models pull` and settings. Sizes as of November 2026 or earlier. */
export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  'zipformer-en-small': recogniser(
    'sherpa-onnx-streaming-zipformer-en-20M-2023-02-17',
    ['en'],
    'Apache-2.0',
    122,
    'streaming, 20 M weights: fast on any machine',
  ),
  'zipformer-en': recogniser('sherpa-onnx-streaming-zipformer-en-2023-06-26', ['en'], 'Apache-2.0', 296, 'streaming'),
  'zipformer-fr': recogniser('sherpa-onnx-streaming-zipformer-fr-2023-04-14', ['fr'], 'Apache-2.0', null, 'streaming'),
  'zipformer-ko': recogniser(
    'sherpa-onnx-streaming-zipformer-korean-2024-06-16',
    ['ko'],
    'Apache-2.0',
    null,
    'streaming',
  ),
  'zipformer-zh-en': recogniser(
    'sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20',
    ['zh', 'en'],
    'Apache-2.0',
    null,
    'streaming',
  ),
  'paraformer-zh-en': recogniser(
    'sherpa-onnx-streaming-paraformer-bilingual-zh-en',
    ['zh', 'en'],
    'see its README',
    1047,
    'streaming',
  ),
  'whisper-tiny-en': recogniser('sherpa-onnx-whisper-tiny.en', ['en'], 'MIT', 113, 'the smallest Whisper'),
  'whisper-base': recogniser('sherpa-onnx-whisper-base', null, 'MIT', null, 'Whisper, 99 languages'),
  'whisper-small': recogniser(
    'sherpa-onnx-whisper-small',
    null,
    'MIT',
    null,
    'Whisper, 99 languages; needs a fast processor',
  ),
  'moonshine-tiny-en': recogniser(
    'sherpa-onnx-moonshine-tiny-en-int8',
    ['en'],
    'MIT',
    108,
    'whole utterances, faster than Whisper',
  ),
  'sense-voice': recogniser(
    'sherpa-onnx-sense-voice-zh-en-ja-ko-yue-int8-2024-07-17',
    ['zh', 'en', 'ja', 'ko', 'yue'],
    'FunASR Model License',
    163,
    'whole utterances, five languages',
  ),
  'parakeet-en': recogniser(
    'sherpa-onnx-nemo-parakeet-tdt-0.6b-v2-int8',
    ['en'],
    'CC-BY-4.0',
    null,
    'whole utterances, the best English; needs a fast processor',
  ),
  'piper-en-amy': voice('vits-piper-en_US-amy-medium-int8', ['en'], 'see its MODEL_CARD', 21, 'Piper, American'),
  'piper-en-libritts': voice('vits-piper-en_US-libritts_r-medium', ['en'], 'CC-BY-4.0', null, 'Piper, 904 speakers'),
  'piper-de-thorsten': voice('vits-piper-de_DE-thorsten-medium-int8', ['de'], 'CC0-1.0', 21, 'Piper'),
  'kokoro-en': voice('kokoro-en-v0_19', ['en'], 'Apache-2.0', 320, 'Kokoro, 11 speakers; needs a fast processor'),
  'kokoro-en-int8': voice('kokoro-int8-en-v0_19', ['en'], 'Apache-2.0', 103, 'Kokoro with smaller weights'),
  'kokoro-multi': voice('kokoro-multi-lang-v1_0', null, 'Apache-2.0', null, 'Kokoro, 53 speakers of several languages'),
  'kitten-en': voice('kitten-nano-en-v0_1-fp16', ['en'], 'Apache-2.0', null, 'the smallest natural voice, 8 speakers'),
  'matcha-en': {
    ...voice('matcha-icefall-en_US-ljspeech', ['en'], 'Apache-2.0', null, 'Matcha'),
    files: [
      { url: `${RELEASES}/tts-models/matcha-icefall-en_US-ljspeech.tar.bz2`, as: 'tar.bz2' },
      { url: `${RELEASES}/vocoder-models/vocos-22khz-univ.onnx`, as: 'vocos-22khz-univ.onnx' },
    ],
  },
  gtcrn: {
    kind: 'denoise',
    about: 'suppresses noise',
    languages: null,
    licence: 'MIT',
    megabytes: 1,
    files: [{ url: `${RELEASES}/speech-enhancement-models/gtcrn_simple.onnx`, as: 'gtcrn_simple.onnx' }],
  },
  'smart-turn': {
    kind: 'turn',
    about: 'detects the end of a turn',
    licence: 'BSD-2-Clause',
    megabytes: 9,
    languages: null,
    files: [
      {
        url: 'https://huggingface.co/pipecat-ai/smart-turn-v3/resolve/main/smart-turn-v3.2-cpu.onnx',
        as: 'smart-turn-v3.2-cpu.onnx',
      },
    ],
  },
  'turn-1-mini': {
    kind: 'turn',
    about: 'detects the end of a turn while it hears it; English',
    licence: 'Apache-2.0',
    megabytes: 22,
    languages: ['en'],
    files: [
      {
        url: 'https://huggingface.co/p99lab/turn-1-mini/resolve/main/onnx/turn-1-mini.step.onnx',
        as: 'turn-1-mini.step.onnx',
      },
    ],
  },
};

function recogniser(archive: string, ...facts: ModelFacts): KnownModel {
  return archived('stt', `asr-models/${archive}`, ...facts);
}

function voice(archive: string, ...facts: ModelFacts): KnownModel {
  return archived('tts', `tts-models/${archive}`, ...facts);
}

type ModelFacts = [languages: readonly string[] | null, licence: string, megabytes: number | null, about: string];

function archived(kind: ModelKind, path: string, ...[languages, licence, megabytes, about]: ModelFacts): KnownModel {
  const files = [{ url: `${RELEASES}/${path}.tar.bz2`, as: 'tar.bz2' }];
  return { kind, about, languages, licence, megabytes, files };
}
