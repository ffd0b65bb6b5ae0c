import { baseLanguage, wordSet, wordsOf } from './words.js';

/** Something given piece by piece, where a pause means nothing: a phone number, a spelled name, an e-mail address. */
export interface Dictation {
  kind: 'digits' | 'letters' | 'address';
  /** How complete it is, 0 (surely goes on) to 1 (surely done). */
  completeness: number;
}

const DIGITS: Readonly<Record<string, ReadonlySet<string>>> = {
  en: wordSet('zero oh o nought one two three four five six seven eight nine'),
  de: wordSet('null eins zwei zwo drei vier fünf sechs sieben acht neun'),
  fr: wordSet('zéro un deux trois quatre cinq six sept huit neuf'),
  es: wordSet('cero uno dos tres cuatro cinco seis siete ocho nueve'),
  pt: wordSet('zero um dois duas três quatro cinco seis meia sete oito nove'),
  it: wordSet('zero uno due tre quattro cinque sei sette otto nove'),
  nl: wordSet('nul een één twee drie vier vijf zes zeven acht negen'),
  hi: wordSet('शून्य एक दो तीन चार पाँच पांच छह छः सात आठ नौ ज़ीरो'),
};
const NO_WORDS: ReadonlySet<string> = new Set();
const TENS = wordSet('twenty thirty forty fourty fifty sixty seventy eighty ninety');
const TEENS = wordSet('ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen');
const CJK_DIGITS = /^[零〇一二三四五六七八九０-９两兩幺のいちにさんよごろくななはちきゅうゼロ]{2,}$/u;
const LINKS = wordSet('dash minus hyphen plus slash area code then and strich tiret guion guión');
const REPEATS: Readonly<Record<string, number>> = { double: 2, doppel: 2, triple: 3, doble: 2 };

const LETTER_NAMES = wordSet(`alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike
  november oscar papa quebec romeo sierra tango uniform victor whiskey x-ray yankee zulu`);
const TOP_LEVELS = wordSet('com org net edu gov io ai co uk de fr es it nl pt br in jp cn eu us ca au info biz me');

interface Asked {
  pattern: RegExp;
  kind: Dictation['kind'];
  /** How many digits or letters may be the whole; null = any number. */
  whole: readonly number[] | null;
}

const PHONE = [7, 10, 11, 12];
/** What the agent can have asked for, the more exact first. */
const ASKED: readonly Asked[] = [
  { pattern: /e-?mail|courriel|correo|メール|邮箱|郵箱|ईमेल/iu, kind: 'address', whole: null },
  { pattern: /\b(?:last|final) (?:four|4)\b|\bpin\b/iu, kind: 'digits', whole: [4] },
  { pattern: /\b(?:six|6)[- ]digit/iu, kind: 'digits', whole: [6] },
  { pattern: /\b(?:four|4)[- ]digit/iu, kind: 'digits', whole: [4] },
  {
    pattern: /\b(?:zip|post ?code|postal)|postleitzahl|\bplz\b|code postal|código postal|\bcap\b/iu,
    kind: 'digits',
    whole: [5],
  },
  { pattern: /\b(?:card|credit)|karten?nummer|carte|tarjeta|cartão|carta/iu, kind: 'digits', whole: [15, 16] },
  { pattern: /phone|mobile|telefon|téléphone|teléfono|telefone|電話|电话|फ़?ोन/iu, kind: 'digits', whole: PHONE },
  { pattern: /\bspell|buchstabier|épele|deletre|soletr|sillab|\bspel/iu, kind: 'letters', whole: null },
  {
    pattern: /number|nummer|numéro|número|numero|digit|\bcodes?\b|código|codice|番号|号码|नंबर/iu,
    kind: 'digits',
    whole: null,
  },
];
/** A question that is answered with a mere number. */
const ASKS_HOW_MANY =
  /how (?:many|much|old|long)|what time|what day|which day|\bwhen\b|number of (?:people|guests|persons)|wie ?viele?|wann|combien|quand|cuánt|cuándo|quant[oaie]|quando|hoeveel|wanneer|कितने|何人|何時|几位|几点|多少/iu;

/** What is being dictated at the end of a text, null = nothing. */
export function dictationOf(text: string, language: string, agentSaid: string): Dictation | null {
  const words = wordsOf(text);
  const run = digitRun(words, digitWords(language));
  const asked = ASKS_HOW_MANY.test(agentSaid) ? undefined : ASKED.find(({ pattern }) => pattern.test(agentSaid));
  return addressOf(text, words, asked) ?? lettersOf(words, run, asked) ?? digitsOf(words, run, asked, agentSaid);
}

function digitsOf(
  words: readonly string[],
  run: DigitRun,
  asked: Asked | undefined,
  agentSaid: string,
): Dictation | null {
  if (run.digits === 0) return null;
  const expected = asked?.kind === 'digits';
  const whole = expected ? asked.whole : ownWords(words);
  // "For four" is the size of a party, "five five five" a number being dictated.
  const alone = run.words === words.length && words.length > 0;
  if (!expected && run.digits < 3 && run.words < 2) {
    if (!alone || agentSaid !== '') return whole === null ? null : { kind: 'digits', completeness: 0.2 };
    return { kind: 'digits', completeness: 0.35 };
  }
  if (whole === null) return { kind: 'digits', completeness: run.digits < 4 ? 0.2 : 0.28 };
  const most = Math.max(...whole);
  if (run.digits >= most) return { kind: 'digits', completeness: 0.85 };
  if (run.digits < Math.min(...whole)) return { kind: 'digits', completeness: 0.15 };
  return {
    kind: 'digits',
    completeness: whole.includes(run.digits) ? (run.digits === Math.min(...whole) ? 0.5 : 0.75) : 0.25,
  };
}

/** "My number is" announces a phone number also where nobody asked for it. */
function ownWords(words: readonly string[]): readonly number[] | null {
  const text = words.join(' ');
  if (/(?:card|credit)/u.test(text)) return [15, 16];
  return /\b(?:number is|number's|phone|mobile|call me (?:on|at)|reach me (?:on|at)|nummer ist|numéro est|número es)\b/u.test(
    text,
  )
    ? PHONE
    : null;
}

/** Digits that a text ends in, and how many words they take. */
interface DigitRun {
  digits: number;
  words: number;
}

function digitRun(words: readonly string[], names: ReadonlySet<string>): DigitRun {
  let digits = 0;
  let index = words.length - 1;
  let taken = 0;
  for (; index >= 0; index--) {
    const word = words[index] ?? '';
    const value = digitsIn(word, names);
    if (value > 0) {
      const before = words[index - 1] ?? '';
      const unit = value === 1 && TENS.has(before);
      digits += unit ? 0 : value; // "twenty three" has two digits, and its ten counts both
      const repeat = Object.hasOwn(REPEATS, before) ? (REPEATS[before] ?? 1) : 1;
      digits += (repeat - 1) * value;
    } else if (word === 'hundred' && digitsIn(words[index - 1] ?? '', names) > 0) digits += 2;
    else if (word === 'thousand' && digitsIn(words[index - 1] ?? '', names) > 0) digits += 3;
    else if (!Object.hasOwn(REPEATS, word) && !(LINKS.has(word) && index < words.length - 1)) break;
    taken = words.length - index;
  }
  // Links and repeats in front of the first digit belong to what is said before it.
  return digits === 0 ? { digits: 0, words: 0 } : { digits, words: taken };
}

function digitWords(language: string): ReadonlySet<string> {
  const base = baseLanguage(language);
  return (Object.hasOwn(DIGITS, base) ? DIGITS[base] : undefined) ?? NO_WORDS;
}

function digitsIn(word: string, names: ReadonlySet<string>): number {
  if (names.has(word)) return 1;
  if (TENS.has(word) || TEENS.has(word)) return 2;
  if (/^\d+(?:-\d+)*$/u.test(word)) return word.replaceAll('-', '').length;
  return CJK_DIGITS.test(word) ? word.length : 0;
}

/** "M I L L", "b as in bravo", "bravo oscar bravo". */
function lettersOf(words: readonly string[], run: DigitRun, asked: Asked | undefined): Dictation | null {
  const expected = asked?.kind === 'letters';
  const last = words.at(-1);
  if (last === undefined) return null;
  const tail = words.slice(-4).join(' ');
  if (/(?:^| )\p{L} (?:as in|for|like|wie|comme|de|come) \p{L}+$/u.test(tail))
    return { kind: 'letters', completeness: 0.4 };
  if (/(?:^| )\p{L} (?:as in|as|for|like|wie|comme)$/u.test(tail)) return { kind: 'letters', completeness: 0.1 };
  let letters = 0;
  while (letters < words.length && isLetter(words.at(-1 - letters) ?? '')) letters++;
  if (letters >= 2 || (expected && letters >= 1)) return { kind: 'letters', completeness: letters < 3 ? 0.25 : 0.45 };
  // An identifier of letters and digits, "a b four seven".
  const before = words[words.length - 1 - run.words];
  const mixed = run.digits > 0 && before !== undefined && isLetter(before) && before !== 'a' && before !== 'i';
  return mixed ? { kind: 'letters', completeness: 0.4 } : null;
}

function isLetter(word: string): boolean {
  return /^[\p{Lu}\p{Ll}]$/u.test(word) || LETTER_NAMES.has(word);
}

/** "John dot Miller at example dot com". */
function addressOf(text: string, words: readonly string[], asked: Asked | undefined): Dictation | null {
  const expected = asked?.kind === 'address';
  const at = Math.max(words.lastIndexOf('at'), words.lastIndexOf('arobase'), words.lastIndexOf('arroba'));
  const dot = Math.max(
    words.lastIndexOf('dot'),
    words.lastIndexOf('punkt'),
    words.lastIndexOf('point'),
    words.lastIndexOf('punto'),
  );
  const written = /[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.?$/u.exec(text.trim())?.[0];
  if (written !== undefined) {
    return { kind: 'address', completeness: /@[\w-]+(?:\.[\w-]+)*\.\p{L}{2,}\.?$/u.test(written) ? 0.9 : 0.2 };
  }
  if (!expected && dot < 0) return null;
  const hasHost = at > 0 && dot > at;
  if (hasHost && TOP_LEVELS.has(words.at(-1) ?? '') && dot === words.length - 2)
    return { kind: 'address', completeness: 0.9 };
  if (dot === words.length - 1 || (expected && at === words.length - 1)) return { kind: 'address', completeness: 0.05 };
  if (hasHost || (dot >= 0 && dot >= words.length - 3)) return { kind: 'address', completeness: 0.25 };
  const refuses = words.some((word) => REFUSALS.has(word));
  return expected && !refuses && (at >= 0 || dot >= 0 || words.length <= 3)
    ? { kind: 'address', completeness: 0.25 }
    : null;
}

const REFUSALS = wordSet("no not don't haven't none nein kein non pas nee geen não");
