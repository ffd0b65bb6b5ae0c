import { faultOf } from '../config/issues.js';
import { LANGUAGES } from '../config/language.js';
import type { ResolvedAgent } from '../config/resolve.js';
import { ParleyError, reasonOf } from '../errors.js';
import type { SpeechHints, SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { Languages } from '../session/language-switch.js';
import type { SessionOptions } from '../session/session-options.js';
import { baseOf } from './language-wishes.js';

export interface LanguagesOptions {
  agent: ResolvedAgent;
  stt: SttProvider;
  tts: TtsProvider;
  /** The words to expect of a user who speaks a language. */
  hints: (language: string) => SpeechHints;
  /** Recognisers that may stand in for the agent's own where that does not understand a language. */
  otherStt: () => readonly SttProvider[];
  /** The voice provider of a language that the agent's own does not speak. */
  otherTts: (language: string) => Promise<TtsProvider>;
}

/**
 * Whether the recogniser can do what the agent asks of it.
 * @throws ParleyError CONFIG_INVALID, STT_LANGUAGE_UNSUPPORTED
 */
export function checkStt({ stt, language }: ResolvedAgent, { name, abilities = {} }: SttProvider): void {
  if (stt.multilingual && abilities.multilingual !== true) {
    throw faultOf(['speech_to_text', 'multilingual'], `the recogniser "${name}" understands one language at a time`);
  }
  if (stt.model !== null && abilities.models !== true) {
    throw faultOf(['speech_to_text', 'model'], `the recogniser "${name}" has no models to choose from`);
  }
  if (stt.model !== null && abilities.hasModel?.(stt.model) === false) {
    throw faultOf(['speech_to_text', 'model'], `the recogniser "${name}" has no model "${stt.model}" here`);
  }
  if (language !== 'multi' && abilities.understands?.(language) === false) {
    const known = new Set(LANGUAGES.filter((code) => abilities.understands?.(code)).map(baseOf));
    const supported = `${[...known].join(', ') || 'none'}; name another recogniser in speech_to_text.provider`;
    throw new ParleyError('STT_LANGUAGE_UNSUPPORTED', { provider: `The recogniser "${name}"`, language, supported });
  }
}

/**
 * Whether a voice can do what the agent asks of it.
 * @throws ParleyError CONFIG_INVALID
 */
export function checkVoiceModel({ voice }: ResolvedAgent, { name, hasModels = false }: TtsProvider): void {
  if (voice.model === null || hasModels) return;
  throw faultOf(['voice', 'model'], `the voice provider "${name}" has no models to choose from`);
}

/** What the recogniser is asked for, and the languages that the session may change to. */
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
    ...(cannotFollow && { startLanguage: first ?? 'en-US' }),
    sttOptions: {
      ...(agent.stt.model !== null && { model: agent.stt.model }),
      ...(agent.stt.multilingual && { multilingual: true }),
    },
    ...(mayChange && { languages: languagesOf(options) }),
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

/** The agent's own voice where it speaks the language; else one that does, at the same pace and pitch. */
async function voiceFor(language: string, { agent, tts, otherTts }: LanguagesOptions) {
  const { voiceId, model, settings } = agent.voice;
  const isOwn = baseOf(language) === baseOf(agent.language === 'multi' ? 'en' : agent.language);
  if (isOwn || tts.speaks === undefined) return { tts, voiceId, model, settings };
  if (await tts.speaks(language)) {
    return { tts, voiceId: tts.multilingual === true ? voiceId : null, model, settings };
  }
  const other = await otherTts(language);
  // The embedded voices take the same settings; those of others mean nothing to them.
  const areEmbedded = [tts, other].every(({ name }) => name === 'flite' || name === 'espeak-ng');
  return { tts: other, voiceId: null, model: null, settings: areEmbedded ? settings : {} };
}
