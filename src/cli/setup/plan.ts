import { EMBEDDED_DEFAULTS } from '../../agent/resolve.js';
import { baseLanguage } from '../../base/language.js';
import { SCRIPTED_MODEL } from '../../settings/models.js';
import type { SettingsFile } from '../../settings/settings.js';
import { KNOWN_MODELS, type KnownModel } from '../models/known-models.js';
import { UsageError } from '../shared/command.js';
import type { Survey } from './survey.js';

export type PartKind = 'stt' | 'tts' | 'turn' | 'llm';

/** One part of the proposal. */
export interface Part {
  kind: PartKind;
  /** A provider; `null` for the end of turns by silence and words. */
  provider: string | null;
  /** The local model, or the id of the language model; null = the provider's own. */
  model: string | null;
  /** To be downloaded first. */
  download: KnownModel | null;
  /** Why this one, and not a better one. */
  why: string;
  /** Named by a flag: it is an error if it cannot be had. */
  wanted: boolean;
}

/** Names given by flags: `embedded` (`none` for `turn`), a vendor or a local model. */
export type Wishes = Readonly<Partial<Record<PartKind, string | undefined>>>;

/** Half of what a local model takes when it is in use, beside parley itself. */
const LARGE_VOICE_MEMORY = 4e9;
const LARGE_VOICE_PROCESSORS = 4;
const LOCAL = 'sherpa';
const ESPEAK = 'espeak-ng';
const EMBEDDED: readonly string[] = [EMBEDDED_DEFAULTS.sttProvider, EMBEDDED_DEFAULTS.voiceProvider, ESPEAK];
const NO_DOWNLOADS = 'models cannot be downloaded';

/** Local models in order of preference. */
const RECOGNISERS: Readonly<Record<string, readonly string[]>> = {
  en: ['zipformer-en-small'], fr: ['zipformer-fr'], ko: ['zipformer-ko'], zh: ['zipformer-zh-en'], ja: ['sense-voice'],
}; // prettier-ignore
const ANY_LANGUAGE = 'whisper-base';

/**
 * The best recogniser, voice, turn model and language model that can be had here. Vendors with a key come first, then
 * local models, then what is embedded.
 * @throws UsageError for a wish that does not exist
 */
export function proposal(survey: Survey, language: string, wishes: Wishes): Part[] {
  const base = baseLanguage(language);
  return [
    speechPart('stt', survey, base, wishes.stt, [...(RECOGNISERS[base] ?? []), ANY_LANGUAGE]),
    speechPart('tts', survey, base, wishes.tts, voicesFor(base, survey)),
    turnPart(survey, wishes.turn),
    languageModel(survey, wishes.llm),
  ];
}

function voicesFor(language: string, { memoryBytes, processors }: Survey): readonly string[] {
  const isLarge = memoryBytes >= LARGE_VOICE_MEMORY && processors >= LARGE_VOICE_PROCESSORS;
  const known: Readonly<Record<string, readonly string[]>> = {
    en: isLarge ? ['kokoro-en-int8', 'piper-en-amy'] : ['piper-en-amy'],
    de: ['piper-de-thorsten'],
  };
  return known[language] ?? ['kokoro-multi'];
}

function speechPart(
  kind: 'stt' | 'tts',
  survey: Survey,
  language: string,
  wish: string | undefined,
  models: readonly string[],
): Part {
  const embedded = embeddedSpeech(kind, survey, language);
  const wanted = wish !== undefined;
  const part = (provider: string, model: string | null, download: KnownModel | null, why: string): Part => {
    return { kind, provider, model, download, why, wanted };
  };
  const vendors: readonly string[] = survey.detection.languageVendors[kind];
  const second = kind === 'stt' && language === 'en' ? `, ${secondRecogniser(survey)}` : '';
  if (wish === 'embedded' || wish === embedded) return part(embedded, null, null, `embedded${second}`);
  if (wish !== undefined && vendors.includes(wish)) return part(wish, null, null, 'your key');
  if (wish === undefined && vendors[0] !== undefined) return part(vendors[0], null, null, 'your key');
  const local = localPart(kind, survey, wish === undefined ? models : [wish]);
  if (local.part !== null) return { ...local.part, wanted };
  if (wish !== undefined) throw new UsageError(`${kind === 'stt' ? '--stt' : '--voice'} ${wish}: ${local.reason}`);
  return part(embedded, null, null, `embedded${second}; nothing better, because ${local.reason}`);
}

function secondRecogniser({ hasPocketSphinx }: Survey): string {
  return hasPocketSphinx
    ? 'with PocketSphinx for what it does not understand'
    : 'which understands more with PocketSphinx: apt-get install pocketsphinx pocketsphinx-en-us';
}

/** flite speaks English only. */
function embeddedSpeech(kind: 'stt' | 'tts', { detection }: Survey, language: string): string {
  if (kind === 'stt') return EMBEDDED_DEFAULTS.sttProvider;
  return language !== 'en' && detection.voiceProviders.includes(ESPEAK) ? ESPEAK : EMBEDDED_DEFAULTS.voiceProvider;
}

/** The first model that is here or can be downloaded, or why there is none. */
function localPart(
  kind: 'stt' | 'tts',
  { installed, noEngine, noNetwork, freeBytes }: Survey,
  names: readonly string[],
): { part: Part | null; reason: string } {
  let reason = 'there is no such vendor with a key, and no such model';
  if (noEngine !== null) return { part: null, reason: noEngine };
  for (const name of names) {
    const part: Part = { kind, provider: LOCAL, model: name, download: null, why: 'already installed', wanted: false };
    if (installed.some((model) => model.name === name && model.kind === kind)) return { part, reason };
    const known = Object.hasOwn(KNOWN_MODELS, name) ? KNOWN_MODELS[name] : undefined;
    if (known?.kind !== kind) continue;
    reason = noNetwork === null ? (shortOf(known, freeBytes) ?? '') : NO_DOWNLOADS;
    if (reason === '') return { part: { ...part, download: known, why: known.about }, reason };
  }
  return { part: null, reason };
}

/** Archive and content need 2.5 times the size. */
function shortOf({ megabytes }: KnownModel, freeBytes: number): string | null {
  const needed = 2.5e6 * (megabytes ?? 0);
  return freeBytes > needed ? null : `the disk has only ${String(Math.floor(freeBytes / 1e6))} MB left`;
}

function turnPart(survey: Survey, wish: string | undefined): Part {
  const name = wish ?? 'smart-turn';
  const none = (why: string): Part => ({
    kind: 'turn',
    provider: null,
    model: null,
    download: null,
    why,
    wanted: false,
  });
  if (name === 'none' || name === 'embedded') return none('words and silence');
  const known = Object.hasOwn(KNOWN_MODELS, name) ? KNOWN_MODELS[name] : undefined;
  const part = { kind: 'turn', provider: LOCAL, model: name, wanted: wish !== undefined } as const;
  const isHere = survey.installed.some((model) => model.name === name && model.kind === 'turn');
  const missing =
    survey.turnRuntime === null
      ? 'neither onnxruntime-node nor onnxruntime-web is installed'
      : known?.kind !== 'turn'
        ? 'there is no such turn model'
        : survey.noNetwork === null
          ? shortOf(known, survey.freeBytes)
          : NO_DOWNLOADS;
  if (isHere && survey.turnRuntime !== null) return { ...part, download: null, why: 'already installed' };
  if (missing === null && known !== undefined) return { ...part, download: known, why: known.about };
  if (wish !== undefined) throw new UsageError(`--turn ${wish}: ${missing ?? ''}`);
  return none(`words and silence; no model, because ${missing ?? ''}`);
}

function languageModel({ detection }: Survey, wish: string | undefined): Part {
  const part = { kind: 'llm', provider: null, download: null, wanted: wish !== undefined } as const;
  if (wish !== undefined && !detection.models.has(wish)) {
    const ids = [...detection.models.keys()].join(', ');
    throw new UsageError(`--llm-model ${wish}: there is no such model here; there are ${ids}`);
  }
  const model = wish ?? detection.defaults.llmModel;
  if (model !== SCRIPTED_MODEL) return { ...part, model, why: 'found here' };
  const hasEmptyOllama = detection.findings.some(({ name, found, used }) => name === 'ollama' && found && !used);
  const remedy = hasEmptyOllama ? 'Ollama has no model: run ollama pull llama3.2' : 'no key and no Ollama';
  return { ...part, model, why: `follows the rules of agent files; ${remedy}` };
}

/** The part that needs no download and no key. */
export function embeddedPart({ kind }: Part, survey: Survey, language: string): Part {
  const isSpeech = kind === 'stt' || kind === 'tts';
  const provider = isSpeech ? embeddedSpeech(kind, survey, baseLanguage(language)) : null;
  const model = kind === 'llm' ? SCRIPTED_MODEL : null;
  return { kind, provider, model, download: null, why: 'embedded', wanted: false };
}

export function isEmbedded({ kind, provider, model }: Part): boolean {
  if (kind === 'llm') return model === SCRIPTED_MODEL;
  return provider === null || EMBEDDED.includes(provider);
}

/** The members of the settings file that select the parts; what is embedded needs none. */
export function settingsFor(parts: readonly Part[], language: string): SettingsFile {
  const file: Record<string, unknown> = { language };
  for (const part of parts) {
    if (isEmbedded(part)) continue;
    if (part.kind === 'stt') file['stt'] = part.provider;
    if (part.kind === 'stt' && part.model !== null) file['sttModel'] = part.model;
    if (part.kind === 'tts') file['tts'] = part.provider;
    if (part.kind === 'tts' && part.model !== null) file['voiceId'] = part.model;
    if (part.kind === 'turn') file['turnModelPath'] = part.model;
    if (part.kind === 'llm') file['llmModel'] = part.model;
  }
  return file;
}
