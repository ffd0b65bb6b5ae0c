import { cardinalWords, clockWords, digitWords, ordinalWords, yearWords } from './numbers.js';

/** The languages whose acoustic models the recogniser ships with. */
export type SpeechLanguage = 'en' | 'fr';

/** Longest text that is looked at, in characters: a prompt of many pages holds its topic's words well before that. */
const MAX_TEXT_CHARS = 60_000;

const SYMBOLS: Readonly<Record<SpeechLanguage, Readonly<Record<string, string>>>> = {
  en: { '&': 'and', '%': 'percent', '@': 'at', '+': 'plus' },
  fr: { '&': 'et', '%': 'pour cent', '@': 'arobase', '+': 'plus' },
};
const CURRENCIES: Readonly<Record<string, string>> = { $: 'dollars', '£': 'pounds', '€': 'euros' };

/**
 * Cuts running text into sentences of plain spoken words: lower case, numbers, times and amounts spelled out (in
 * English), markup, links and placeholders such as `{{name}}` taken as breaks. Never throws.
 */
export function spokenSentences(text: string, language: SpeechLanguage): string[][] {
  const sentences: string[][] = [];
  const plain = text
    .slice(0, MAX_TEXT_CHARS)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’`´]/g, "'")
    .replace(/\{\{?[^{}]*\}?\}|<[^<>]*>|https?:\/\/\S+|[^\s@]{1,64}@[^\s@]{1,255}/g, '\n')
    .replace(/\b([ap])\.m\b\.?/g, '$1m ');
  for (const part of plain.split(/[.!?;:…](?=\s|$)|[\n\r"“”«»()[\]*#|_=]|\s[-–—]+\s|—/)) {
    const words = part.split(/[\s/]+|,(?!\d)/).flatMap((token) => wordsOf(token, language));
    if (words.length > 0) sentences.push(words);
  }
  return sentences;
}

/** The spoken words of one token; none where nothing in it can be said. */
function wordsOf(token: string, language: SpeechLanguage): string[] {
  if (/\d/.test(token)) return language === 'en' ? numberWords(token) : [];
  const symbol = SYMBOLS[language][token];
  if (symbol !== undefined) return symbol.split(' ');
  const letters = language === 'en' ? token.normalize('NFD').replace(/\p{M}/gu, '') : token;
  const cleaned = letters.replace(/[^\p{L}'-]/gu, '').replace(/^[-']+|-+$/g, '');
  if (cleaned === '' || cleaned.length > 40) return [];
  if (language === 'fr') return frenchWords(cleaned);
  if (cleaned === 'am' || cleaned === 'pm') return cleaned === 'pm' ? ['p', 'm'] : ['am'];
  return cleaned.replace(/'$/, '').split('-').filter(Boolean);
}

/**
 * The French dictionary has elided articles and inverted pronouns as words of their own: "l'addition" is "l'" and
 * "addition", "avez-vous" is "avez" and "vous".
 */
function frenchWords(token: string): string[] {
  if (token === "aujourd'hui" || token === "d'accord" || token === 'rendez-vous') return [token];
  const elided = /^((?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)')(.+)$/.exec(token);
  if (elided !== null) return [elided[1] as string, ...frenchWords(elided[2] as string)];
  const inverted = /^(.+)-(je|tu|il|elle|on|nous|vous|ils|elles|ce|moi|toi|le|la|les|y|en)$/.exec(token);
  return inverted === null ? [token] : [...frenchWords(inverted[1] as string), inverted[2] as string];
}

function numberWords(token: string): string[] {
  const time = /^(\d{1,2}):([0-5]\d)([ap]m)?/.exec(token);
  if (time !== null && Number(time[1]) < 24) {
    return [...clockWords(Number(time[1]), Number(time[2])), ...halfOfDay(time[3])];
  }
  const match = /^([$£€])?(\d[\d,]*)(?:\.(\d+))?(st|nd|rd|th|[ap]m|%|s)?[.,!?]*$/.exec(token);
  if (match === null) return (token.match(/\d+|\p{L}+/gu) ?? []).flatMap((part) => plainNumber(part));
  const [, currency, whole = '', fraction, suffix] = match;
  const digits = whole.replaceAll(',', '');
  if (suffix === 'am' || suffix === 'pm') return [...plainNumber(digits), ...halfOfDay(suffix)];
  if (suffix !== undefined && /^(st|nd|rd|th)$/.test(suffix) && digits.length < 4) return ordinalWords(Number(digits));
  const words = plainNumber(digits);
  if (currency !== undefined) {
    return [...words, CURRENCIES[currency] as string, ...(fraction === undefined ? [] : plainNumber(fraction))];
  }
  if (fraction !== undefined) words.push('point', ...digitWords(fraction.slice(0, 4)));
  return suffix === '%' ? [...words, 'percent'] : words;
}

/** Up to six digits as a number (a year where it looks like one), longer strings digit by digit; letters as they are. */
function plainNumber(part: string): string[] {
  if (!/^\d+$/.test(part)) return [part];
  const value = Number(part);
  if ((part.startsWith('0') && part.length > 1) || part.length > 6) return digitWords(part.slice(0, 20));
  return value >= 1900 && value < 2100 ? yearWords(value) : cardinalWords(value);
}

function halfOfDay(suffix: string | undefined): string[] {
  if (suffix === undefined) return [];
  return suffix === 'pm' ? ['p', 'm'] : ['a', 'm'];
}
