import { LANGUAGES } from '../../agent/language.js';
import type { EngineName } from './engine/engine-protocol.js';

/** What a model is for. */
export type ModelKind = 'stt' | 'tts' | 'denoise' | 'turn';

/** A model as it lies on the disk. */
export interface LocalModel {
  /** Of its folder or file. */
  name: string;
  path: string;
  kind: ModelKind;
  /** How it is built: `whisper`, `streaming transducer`, `kokoro` and so on. */
  family: string;
  /** Which engine runs it; null = onnxruntime, not sherpa-onnx. */
  engine: EngineName | null;
  /** What that engine's constructor takes; with `engine` null `{ model }`, the file. */
  config: Readonly<Record<string, unknown>>;
  /** Codes without a region; null = it does not say. */
  languages: readonly string[] | null;
  /** It is told which of its languages is spoken. */
  takesLanguage: boolean;
  /** How words are written that it is to favour; null = it favours none. Some models know capitals only. */
  hotwords: 'as they are' | 'in capitals' | null;
  /** Of a voice; 0 = it does not say. */
  sampleRateHz: number;
  /** The names of a voice model's speakers, where it names them. */
  speakerNames: readonly string[];
  /** Silence behind what was said, in milliseconds, after which a streaming model has given all of its words. */
  tailMs: number;
}

/** What a model's maker wrote into its files, and what is remembered of where it came from. */
export type Metadata = ReadonlyMap<string, string>;

/** Codes of the languages that a voice's metadata names: espeak-ng's code first, else the English name. */
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

/** `en` of `en-US`. */
export function baseLanguage(code: string): string {
  return (code.split(/[-_]/u)[0] ?? '').toLowerCase();
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
