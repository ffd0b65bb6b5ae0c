import { faultOf } from '../schema/issues.js';
import { LANGUAGES } from '../agent/language.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import { baseLanguage } from '../base/language.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import type { SpeechHints, SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { Languages } from '../session/hearing/language-providers.js';
import type { SessionOptions } from '../session/session-options.js';
import { chooseTts } from '../providers/tts/registry.js';
import type { Providers } from './providers.js';

/** Requests for another language, by the language of the request; `{}` is the name of the requested one. */
const WISHES: Readonly<Record<string, readonly string[]>> = {
  en: [
    '{}',
    '{} please',
    'in {} please',
    'do you speak {}',
    'can we speak {} please',
    'could you speak {}',
    'can we continue in {}',
    'I speak {}',
    'I would like to speak {}',
    'I would rather speak {}',
  ],
  fr: [
    '{}',
    "{} s'il vous plaît",
    "en {} s'il vous plaît",
    'vous parlez {}',
    'parlez-vous {}',
    'on peut parler {}',
    'on peut continuer en {}',
    'je parle {}',
    'je voudrais parler {}',
    'je préfère parler {}',
  ],
};

/**
 * Sentences with which a user who speaks `language` may ask for another one of `languages`. Without sentences for a
 * language: only the names.
 */
export function languageWishes(language: string, languages: readonly string[]): readonly string[] {
  const base = baseLanguage(language);
  const others = new Set(languages.map(baseLanguage).filter((other) => other !== base && other !== 'multi'));
  // Node takes tens of milliseconds to load its table of names.
  if (others.size === 0) return [];
  const names = new Intl.DisplayNames([base], { type: 'language', fallback: 'none' });
  return [...others].flatMap((other) => {
    const name = names.of(other);
    return name === undefined ? [] : (WISHES[base] ?? ['{}']).map((wish) => wish.replace('{}', name));
  });
}

export interface LanguagesOptions {
  agent: ResolvedAgent;
  stt: SttProvider;
  tts: TtsProvider;
  /** Hints for the recogniser of a language. */
  hints: (language: string) => SpeechHints;
  /** Recognisers that replace the agent's own for languages that it does not support. */
  otherStt: () => readonly SttProvider[];
  /** The voice provider of a language that the agent's own does not support. */
  otherTts: (language: string) => Promise<TtsProvider>;
}

/**
 * Requests of the agent that its recogniser does not support.
 * @returns ParleyErrors CONFIG_INVALID, STT_LANGUAGE_UNSUPPORTED
 */
export function sttFaults({ stt, language }: ResolvedAgent, { name, abilities = {} }: SttProvider): ParleyError[] {
  const faults: ParleyError[] = [];
  if (stt.multilingual && abilities.multilingual !== true) {
    const msg = `the recogniser "${name}" understands one language at a time`;
    faults.push(faultOf(['speech_to_text', 'multilingual'], msg));
  }
  if (stt.model !== null && abilities.models !== true) {
    faults.push(faultOf(['speech_to_text', 'model'], `the recogniser "${name}" has no models to choose from`));
  } else if (stt.model !== null && abilities.hasModel?.(stt.model) === false) {
    faults.push(faultOf(['speech_to_text', 'model'], `the recogniser "${name}" has no model "${stt.model}" here`));
  }
  if (language !== 'multi' && abilities.understands?.(language) === false) {
    const known = new Set(LANGUAGES.filter((code) => abilities.understands?.(code)).map(baseLanguage));
    const supported = `${[...known].join(', ') || 'none'}; name another recogniser in speech_to_text.provider`;
    const provider = `The recogniser "${name}"`;
    faults.push(new ParleyError('STT_LANGUAGE_UNSUPPORTED', { provider, language, supported }));
  }
  return faults;
}

/**
 * Checks that a voice supports the agent's requests.
 * @throws ParleyError CONFIG_INVALID
 */
export function checkVoiceModel({ voice }: ResolvedAgent, { name, hasModels = false }: TtsProvider): void {
  if (voice.model === null || hasModels) return;
  throw faultOf(['voice', 'model'], `the voice provider "${name}" has no models to choose from`);
}

/** The options of the recogniser, and the languages that the session may change to. */
export function spokenLanguages(
  options: LanguagesOptions,
  operatorLanguage: string,
): Pick<SessionOptions, 'startLanguage' | 'sttOptions' | 'languages'> {
  const { agent, stt } = options;
  const { language } = agent;
  const cannotFollow = language === 'multi' && stt.abilities?.understands?.('multi') === false;
  const first = [operatorLanguage, 'en-US'].find(
    (code) => code !== 'multi' && stt.abilities?.understands?.(code) !== false,
  );
  const mayChange = agent.switchLanguage !== null || language === 'multi';
  return {
    startLanguage: cannotFollow ? (first ?? 'en-US') : undefined,
    sttOptions: { model: agent.stt.model ?? undefined, multilingual: agent.stt.multilingual || undefined },
    languages: mayChange ? languagesOf(options) : null,
  };
}

function languagesOf(options: LanguagesOptions): Languages {
  return {
    follows: options.agent.language === 'multi',
    find: async (language) => {
      const { stt, otherStt } = options;
      const hears = [stt, ...otherStt()].find((one) => one.abilities?.understands?.(language) !== false);
      if (hears === undefined) return { missing: `no speech recognition here understands "${language}"` };
      try {
        const speaks = await voiceFor(language, options);
        await Promise.all([hears.warmUp(), speaks.tts.warmUp({ language, ...speaks })]);
        return { stt: hears, hints: options.hints(language), ...speaks };
      } catch (error) {
        return { missing: reasonOf(error) };
      }
    },
  };
}

/** The agent's own voice if it speaks the language; otherwise one that does, with the same rate and pitch. */
async function voiceFor(language: string, { agent, tts, otherTts }: LanguagesOptions) {
  const { voiceId, model, settings } = agent.voice;
  const isOwn = baseLanguage(language) === baseLanguage(agent.language === 'multi' ? 'en' : agent.language);
  if (isOwn || tts.speaks === undefined) return { tts, voiceId, model, settings };
  if (await tts.speaks(language)) {
    return { tts, voiceId: tts.multilingual === true ? voiceId : null, model, settings };
  }
  const other = await otherTts(language);
  // The embedded voices share their settings; other providers' settings differ.
  const areEmbedded = [tts, other].every(({ name }) => name === 'flite' || name === 'espeak-ng');
  return { tts: other, voiceId: null, model: null, settings: areEmbedded ? settings : {} };
}

/**
 * Vendors for languages that the embedded engines lack, by provider name; the first one that supports a language is
 * used.
 */
export interface LanguageVendors {
  stt: readonly string[];
  tts: readonly string[];
}

export const NO_LANGUAGE_VENDORS: LanguageVendors = { stt: [], tts: [] };

/** The recogniser of a language if the agent names none: `usual` if it supports the language or no vendor does. */
export function chooseStt(
  language: string,
  usual: string,
  vendors: LanguageVendors,
  providers: Pick<Providers, 'stt'>,
): string {
  const understands = (name: string): boolean => providers.stt(name).abilities?.understands?.(language) !== false;
  return [usual, ...vendors.stt].find(understands) ?? usual;
}

/**
 * The voice provider of a language if the agent names none: an embedded one, otherwise a vendor.
 * @throws ParleyError TTS_LANGUAGE_UNSUPPORTED with what would help
 */
export async function chooseVoice(
  language: string,
  vendors: LanguageVendors,
  providers: Pick<Providers, 'tts'>,
): Promise<string> {
  try {
    return await chooseTts(language);
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== 'TTS_LANGUAGE_UNSUPPORTED') throw error;
    for (const name of vendors.tts) {
      const speaks = providers.tts(name).speaks?.bind(providers.tts(name));
      if (speaks === undefined || (await speaks(language))) return name;
    }
    throw error;
  }
}
