/**
 * Languages of the interface whose espeak-ng voice has another code than theirs in lower case. What is not here is
 * looked up as it is, then without its region.
 */
const ALIASES: Readonly<Record<string, string>> = {
  'en-AU': 'en-gb',
  'en-IN': 'en-gb',
  'en-NZ': 'en-gb',
  en: 'en-us',
  multi: 'en-us',
  fr: 'fr-fr',
  'fr-CA': 'fr-fr',
  'de-CH': 'de',
  zh: 'cmn',
  'zh-TW': 'cmn',
  no: 'nb',
  nn: 'nb',
  mo: 'ro',
};

export interface EspeakVoice {
  /** espeak-ng's code of the language, such as `en-us` or `cmn`: what `-v` takes. */
  id: string;
  name: string;
  /** The same as the name of its file, such as `gmw/en-US`: what `-v` takes with a variant behind it. */
  file: string;
}

/** The table that `espeak-ng --voices` prints: priority, language, age and sex, name, file, others. */
export function parseEspeakVoices(table: string): EspeakVoice[] {
  const voices: EspeakVoice[] = [];
  for (const line of table.split('\n').slice(1)) {
    const [, id, , name, file] = line.trim().split(/\s+/);
    if (id === undefined || name === undefined || file === undefined) continue;
    voices.push({ id, name: name.replaceAll('_', ' '), file });
  }
  return voices;
}

/** espeak-ng's voice for a language of the interface, if it has one. */
export function espeakVoiceFor(language: string, voices: readonly EspeakVoice[]): string | undefined {
  const candidates = [ALIASES[language], language.toLowerCase(), language.split('-')[0]?.toLowerCase()];
  return candidates.find((id) => id !== undefined && voices.some((voice) => voice.id === id));
}
