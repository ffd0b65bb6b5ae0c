import { spokenWords, type SpokenWord } from '../speakable.js';
import { englishRules } from './english.js';
import { europeanRules } from './european.js';
import { type SpeechRule, sayByRules } from './place.js';

const MONTH_FIRST = englishRules(false);
const DAY_FIRST = englishRules(true);

/**
 * The words of a text with what a voice is to say for them: numbers, dates, times, money, telephone numbers, units,
 * addresses and abbreviations in words where voices read them wrong or in different ways. English, German, French and
 * Spanish; other languages keep what is written. Each word keeps its text and place.
 * @param language a code of the interface's list; `multi` changes nothing
 */
export function verbalWords(text: string, language: string): SpokenWord[] {
  const words = spokenWords(text);
  const rules = rulesOf(language);
  return rules === undefined ? words : sayByRules(words, rules);
}

function rulesOf(language: string): readonly SpeechRule[] | undefined {
  const [base = '', region] = language.split('-');
  if (base === 'en') return region === undefined || region === 'US' ? MONTH_FIRST : DAY_FIRST;
  return europeanRules(base);
}
