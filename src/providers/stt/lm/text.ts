/** Numbers as spoken English words. */
const SMALL = (
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen ' +
  'seventeen eighteen nineteen'
).split(' ');
const TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
const ORDINALS: Readonly<Record<string, string>> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

/** Words of a whole number from 0 to 999,999: 342 is "three hundred and forty two". */
export function cardinalWords(value: number): string[] {
  if (!Number.isInteger(value) || value < 0 || value > 999_999) throw new RangeError(`No words for ${String(value)}`);
  if (value < 20) return [SMALL[value] as string];
  if (value < 100) {
    const rest = value % 10;
    return [TENS[Math.floor(value / 10)] as string, ...(rest === 0 ? [] : cardinalWords(rest))];
  }
  if (value < 1000) {
    const rest = value % 100;
    return [
      SMALL[Math.floor(value / 100)] as string,
      'hundred',
      ...(rest === 0 ? [] : ['and', ...cardinalWords(rest)]),
    ];
  }
  const rest = value % 1000;
  return [...cardinalWords(Math.floor(value / 1000)), 'thousand', ...(rest === 0 ? [] : cardinalWords(rest))];
}

/** Words of a rank: 23 is "twenty third". */
export function ordinalWords(value: number): string[] {
  const words = cardinalWords(value);
  const last = words.pop() as string;
  return [...words, ORDINALS[last] ?? (last.endsWith('y') ? `${last.slice(0, -1)}ieth` : `${last}th`)];
}

/** A string of digits, one by one. */
export function digitWords(digits: string): string[] {
  return Array.from(digits, (digit) => SMALL[Number(digit)] as string);
}

/** A year as it is spoken: 1995 is "nineteen ninety five", 2008 "two thousand eight". */
export function yearWords(year: number): string[] {
  const century = Math.floor(year / 100);
  const rest = year % 100;
  if (year >= 2000 && year < 2010) return ['two', 'thousand', ...(rest === 0 ? [] : cardinalWords(rest))];
  if (rest === 0) return [...cardinalWords(century), 'hundred'];
  return [...cardinalWords(century), ...(rest < 10 ? ['oh'] : []), ...cardinalWords(rest)];
}

/** A clock time: 19:30 is "seven thirty", 7:05 "seven oh five", 12:00 "twelve". */
export function clockWords(hour: number, minute: number): string[] {
  const hourWords = cardinalWords(hour % 12 === 0 ? 12 : hour % 12);
  if (minute === 0) return hourWords;
  return [...hourWords, ...(minute < 10 ? ['oh'] : []), ...cardinalWords(minute)];
}

/** The languages of the embedded recogniser. */
export type SpeechLanguage = 'en' | 'fr';

/** Longest text that is processed, in characters: a prompt of many pages names its topic well before that. */
const MAX_TEXT_CHARS = 60_000;

const SYMBOLS: Readonly<Record<SpeechLanguage, Readonly<Record<string, string>>>> = {
  en: { '&': 'and', '%': 'percent', '@': 'at', '+': 'plus' },
  fr: { '&': 'et', '%': 'pour cent', '@': 'arobase', '+': 'plus' },
};
const CURRENCIES: Readonly<Record<string, string>> = { $: 'dollars', '£': 'pounds', '€': 'euros' };

/**
 * Splits text into sentences of plain spoken words: lower case, numbers, times and amounts spelled out (in English);
 * markup, links and placeholders such as `{{name}}` are breaks. Never throws.
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

/** The spoken words of one token; empty if nothing in it is pronounceable. */
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
 * The French dictionary has elided articles and inverted pronouns as separate words: "l'addition" is "l'" and
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

/** Up to six digits as a number (a year if it looks like one), longer strings digit by digit; letters unchanged. */
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
