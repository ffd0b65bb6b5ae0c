import { spokenText, spokenWords, type SpokenWord } from '../speakable.js';
import { englishRules } from './english.js';
import { europeanRules } from './european.js';
import { joinRanges, joinThousands, type SpeechRule, sayByRules } from './place.js';

/** Rules by language and region, made once. */
const RULES = new Map<string, readonly SpeechRule[] | undefined>();

/**
 * The words of a text with what a voice is to say for them: numbers, dates, times, money, telephone numbers, units,
 * addresses and abbreviations in words. English, German, French and Spanish; other languages keep what is written.
 * Each word keeps its text and place.
 * @param language a code of the interface's list; `multi` changes nothing
 * @param region the country whose forms are used, such as `CH`; default: that of the language's code
 */
export function verbalWords(text: string, language: string, region?: string): SpokenWord[] {
  return verbalised(spokenWords(text), language, region);
}

export function verbalised(words: readonly SpokenWord[], language: string, region?: string): SpokenWord[] {
  const rules = rulesOf(language, region);
  if (rules === undefined) return [...words];
  const [base = ''] = language.split('-');
  const joined = base === 'fr' || base === 'es' ? joinThousands(words) : words;
  return sayByRules(joinRanges(joined, TO[base] ?? ''), rules);
}

const TO: Readonly<Record<string, string>> = { en: 'to', de: 'bis', fr: 'à', es: 'a' };

const LETTER_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  en: { '-': 'dash', '.': 'dot', _: 'underscore', '@': 'at', '/': 'slash', '#': 'hash', '+': 'plus', '*': 'star', '&': 'and' },
  de: { '-': 'Strich', '.': 'Punkt', _: 'Unterstrich', '@': 'ät', '/': 'Schrägstrich', '#': 'Raute', '+': 'plus', '*': 'Stern', '&': 'und' },
  fr: { '-': 'tiret', '.': 'point', _: 'tiret bas', '@': 'arobase', '/': 'barre', '#': 'dièse', '+': 'plus', '*': 'étoile', '&': 'et' },
  es: { '-': 'guion', '.': 'punto', _: 'guion bajo', '@': 'arroba', '/': 'barra', '#': 'almohadilla', '+': 'más', '*': 'asterisco', '&': 'y' },
}; // prettier-ignore

/** A text letter by letter, with a pause where it has a space: "AB-12" as "A B dash one two". */
export function spelledOut(text: string, language: string, region?: string): string {
  const [base = ''] = language.split('-');
  const names = LETTER_NAMES[base] ?? {};
  const letter = (sign: string): string => {
    if (/\p{N}/u.test(sign)) return spokenText(verbalWords(sign, language, region));
    return names[sign] ?? (/\p{L}/u.test(sign) ? sign.toLocaleUpperCase(language === 'multi' ? 'en' : language) : '');
  };
  const groups = text
    .trim()
    .split(/\s+/u)
    .map((group) =>
      [...group]
        .map(letter)
        .filter((name) => name !== '')
        .join(' '),
    );
  return groups.filter((group) => group !== '').join(', ');
}

function rulesOf(language: string, given: string | undefined): readonly SpeechRule[] | undefined {
  const [base = '', own = ''] = language.split('-');
  const region = given ?? own;
  const key = `${base} ${region}`;
  if (!RULES.has(key)) RULES.set(key, base === 'en' ? englishRules(region) : europeanRules(base, region));
  return RULES.get(key);
}
