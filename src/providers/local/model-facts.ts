import { baseLanguage } from '../../base/language.js';
import { LANGUAGES } from '../../agent/language.js';
import type { EngineName } from './engine/engine-protocol.js';

/** What a model is for. */
export type ModelKind = 'stt' | 'tts' | 'denoise' | 'turn';

/** A model on disk. */
export interface LocalModel {
  /** Name of its folder or file. */
  name: string;
  path: string;
  kind: ModelKind;
  /** The architecture: `whisper`, `streaming transducer`, `kokoro` and so on. */
  family: string;
  /** The engine that runs it; null = onnxruntime, not sherpa-onnx. */
  engine: EngineName | null;
  /** The argument of that engine's constructor; with `engine` null `{ model }`, the file. */
  config: Readonly<Record<string, unknown>>;
  /** Codes without a region; null = unknown. */
  languages: readonly string[] | null;
  /** The language has to be passed with each request. */
  takesLanguage: boolean;
  /** How hotwords have to be written; null = not supported. Some models know capitals only. */
  hotwords: 'as they are' | 'in capitals' | null;
  /** Sample rate of a voice; 0 = unknown. */
  sampleRateHz: number;
  /** The names of a voice model's speakers, if it names them. */
  speakerNames: readonly string[];
  /** Silence after speech, in milliseconds, that a streaming model needs to emit its last words. */
  tailMs: number;
}

/** The metadata in a model's files, and the record of its origin. */
export type Metadata = ReadonlyMap<string, string>;

/** Languages in a voice's metadata: espeak-ng's code first, else the English name. */
export function voiceLanguages(metadata: Metadata): readonly string[] | null {
  const code = baseLanguage(metadata.get('voice') ?? '');
  if (KNOWN.has(code)) return [code];
  const language = (metadata.get('language') ?? '').toLowerCase();
  if (KNOWN.has(baseLanguage(language))) return [baseLanguage(language)];
  const named = [...KNOWN].filter((one) => {
    const name = englishNames().get(one);
    return name !== undefined && language.split(/[^\p{L}]+/u).includes(name);
  });
  return named.length === 0 ? null : named;
}

const KNOWN: ReadonlySet<string> = new Set(LANGUAGES.filter((code) => code !== 'multi').map(baseLanguage));

let names: ReadonlyMap<string, string> | null = null;

function englishNames(): ReadonlyMap<string, string> {
  if (names === null) {
    const shown = new Intl.DisplayNames('en', { type: 'language' });
    names = new Map([...KNOWN].map((code) => [code, (shown.of(code) ?? '').toLowerCase()]));
  }
  return names;
}
