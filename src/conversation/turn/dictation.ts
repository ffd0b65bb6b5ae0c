import { baseLanguage } from '../../base/language.js';
import { wordSet, wordsOf } from '../language/words.js';

/**
 * Information given in pieces, in which a pause does not mean the end: a phone number, a spelled name, an e-mail
 * address.
 */
export interface Dictation {
  kind: 'digits' | 'letters' | 'code' | 'date' | 'address';
  /** From 0 (surely continues) to 1 (surely complete). */
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

/**
 * What is being dictated at the end of a turn, null = nothing.
 * @param parts the turn's words, divided by its pauses
 */
export function dictationOf(parts: readonly string[], language: string, agentSaid: string): Dictation | null {
  const text = parts.join(' ');
  const words = wordsOf(text);
  const names = digitWords(language);
  const run = digitRun(words, names);
  const asked = answerKindOf(agentSaid);
  return (
    addressOf(text, words, asked) ??
    codeOf(words, names, asked) ??
    lettersOf(words, run, asked, language) ??
    dateOf(words, run, asked) ??
    digitsOf(words, run, { asked, agentSaid, groups: groupsOf(parts, names) })
  );
}

interface DigitContext {
  asked: AnswerKind | null;
  agentSaid: string;
  /**
   * Number of digits of each part at the end of the turn that contains only digits, and at the end of the part before.
   */
  groups: readonly number[];
}

function digitsOf(words: readonly string[], run: DigitRun, context: DigitContext): Dictation | null {
  const { asked, agentSaid, groups } = context;
  if (run.digits === 0 || asked?.kind === 'date') return null;
  const expected = asked?.kind === 'digits' || asked?.kind === 'code';
  const whole = expected ? asked.whole : ownWords(words);
  // "For four" is a party size, "five five five" a dictated number.
  const alone = run.words === words.length && words.length > 0;
  if (!expected && run.digits < 3 && run.words < 2) {
    if (asked?.kind === 'place' && alone) return { kind: 'digits', completeness: 0.15 };
    if (!alone || agentSaid !== '') return whole === null ? null : { kind: 'digits', completeness: 0.2 };
    return { kind: 'digits', completeness: 0.35 };
  }
  const known = whole === null ? null : byLength(run.digits, whole);
  // Fewer digits than required are not complete, however they are grouped.
  const short = whole !== null && run.digits < Math.min(...whole);
  return { kind: 'digits', completeness: short ? SHORT : Math.max(known ?? 0, byGroups(groups)) };
}

/** Completeness of a turn that surely continues. */
const SHORT = 0.06;

function byLength(digits: number, whole: readonly number[]): number {
  const least = Math.min(...whole);
  if (digits >= Math.max(...whole)) return 0.85;
  if (!whole.includes(digits)) return 0.25;
  return digits === least ? 0.5 : 0.75;
}

/** Usual lengths of numbers, if the expected length is unknown. */
const USUAL_TOTALS: ReadonlySet<number> = new Set([8, 9, 10, 11, 12, 16]);

/**
 * For a number of unknown length the groups decide: a long group in one breath is the whole number, and after groups of
 * equal length a group of another length is the last.
 */
function byGroups(groups: readonly number[]): number {
  const total = groups.reduce((sum, digits) => sum + digits, 0);
  const last = groups.at(-1) ?? 0;
  const before = groups.slice(0, -1);
  if (total < 4) return 0.2;
  if (before.length === 0) return total >= 7 ? 0.6 : 0.35;
  const even = before.every((digits) => digits === before[0]);
  if (before.length >= 2 && even && last !== before[0]) return 0.6;
  if (total >= 7 && last > Math.max(...before)) return 0.5;
  return USUAL_TOTALS.has(total) ? 0.5 : total < 7 ? 0.25 : 0.35;
}

function groupsOf(parts: readonly string[], names: ReadonlySet<string>): number[] {
  const groups: number[] = [];
  for (const part of parts.toReversed()) {
    const words = wordsOf(part);
    const run = digitRun(words, names);
    if (run.digits > 0) groups.unshift(run.digits);
    if (run.words < words.length) break;
  }
  return groups;
}

/** "My number is" announces a phone number even without a question. */
function ownWords(words: readonly string[]): readonly number[] | null {
  const text = words.join(' ');
  if (/(?:card|credit)/u.test(text)) return CARD;
  return /\b(?:number is|number's|phone|mobile|call me (?:back )?(?:on|at)|reach me (?:on|at)|nummer ist|numéro est|número es)\b/u.test(
    text,
  )
    ? PHONE
    : null;
}

/** A year completes a date of birth; a day or month alone does not. */
function dateOf(words: readonly string[], run: DigitRun, asked: AnswerKind | null): Dictation | null {
  if (asked?.kind !== 'date' || words.length === 0) return null;
  const written = words.filter((word) => /^\d+(?:-\d+)*$/u.test(word)).join('-');
  const year = run.digits >= 4 || /(?:^|-)(?:19|20)\d\d$|(?:^|-)\d{1,2}-\d{1,2}-\d{2}$/u.test(written);
  if (year && words.length >= 2) return { kind: 'date', completeness: 0.9 };
  const begun = run.digits > 0 || words.some((word) => MONTHS.has(word) || ORDINAL.test(word));
  return begun ? { kind: 'date', completeness: 0.2 } : null;
}

const MONTHS =
  wordSet(`january february march april may june july august september october november december januar februar märz
  mai juni juli oktober dezember janvier février mars avril juin juillet août septembre octobre novembre décembre enero febrero
  marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre janeiro fevereiro março maio junho julho setembro
  outubro novembro dezembro gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre januari februari maart mei
  augustus`);
const ORDINAL = /^(?:first|second|third|\w+th|twenty-\w+|thirty-\w+|\d+(?:st|nd|rd|th))$/u;

/** Post codes and booking references, letters and digits mixed: "s w one a two a a". */
function codeOf(words: readonly string[], names: ReadonlySet<string>, asked: AnswerKind | null): Dictation | null {
  if (asked?.kind !== 'code') return null;
  let code = '';
  for (const word of words.toReversed()) {
    const sign = /^\p{L}$/u.test(word) && !names.has(word) ? word : LETTER_NAMES.has(word) ? word.slice(0, 1) : null;
    const digits = digitsIn(word, names);
    if (sign === null && digits === 0) break;
    code = (sign ?? '0'.repeat(digits)) + code;
  }
  if (!/\p{L}/u.test(code) || code.length < 2) return null; // only digits: handled as a number
  const whole = asked.whole?.includes(6) === true ? code.length >= 6 : POST_CODE.test(code);
  return { kind: 'code', completeness: whole ? 0.88 : 0.2 };
}

/** British, Canadian, Dutch; each digit is written as 0. */
const POST_CODE = /^(?:[a-z]{1,2}0[a-z0]?0[a-z]{2}|[a-z]0[a-z]0[a-z]0|0000[a-z]{2})$/u;

/** Digits at the end of a text, and the number of words they take. */
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
      digits += unit ? 0 : value; // "twenty three" has two digits: the ten and the unit
      const repeat = Object.hasOwn(REPEATS, before) ? (REPEATS[before] ?? 1) : 1;
      digits += (repeat - 1) * value;
    } else if (word === 'hundred' && digitsIn(words[index - 1] ?? '', names) > 0) digits += 2;
    else if (word === 'thousand' && digitsIn(words[index - 1] ?? '', names) > 0) digits += 3;
    else if (!Object.hasOwn(REPEATS, word) && !(LINKS.has(word) && index < words.length - 1)) break;
    taken = words.length - index;
  }
  // Connecting words and repeats before the first digit belong to the preceding text.
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
function lettersOf(
  words: readonly string[],
  run: DigitRun,
  asked: AnswerKind | null,
  language: string,
): Dictation | null {
  const expected = asked?.kind === 'letters';
  const last = words.at(-1);
  if (last === undefined) return null;
  const spelled = spelledLike(words, language);
  if (spelled !== null) return { kind: 'letters', completeness: spelled };
  let letters = 0;
  while (letters < words.length && isLetter(words.at(-1 - letters) ?? '')) letters++;
  if (letters >= 2 || (expected && letters >= 1)) return { kind: 'letters', completeness: letters < 3 ? 0.25 : 0.45 };
  // An identifier of letters and digits, "a b four seven".
  const before = words[words.length - 1 - run.words];
  const mixed = run.digits > 0 && before !== undefined && isLetter(before) && before !== 'a' && before !== 'i';
  return mixed ? { kind: 'letters', completeness: 0.4 } : null;
}

/** "B as in bravo" continues with the next letter, "b as in" with its word. "I like" is not a letter in English. */
const LIKE: Readonly<Record<string, readonly string[]>> = {
  en: ['as in', 'as', 'for', 'like'],
  de: ['wie'],
  fr: ['comme'],
  es: ['de', 'como'],
  pt: ['de', 'como'],
  it: ['come'],
  nl: ['van', 'als'],
};

function spelledLike(words: readonly string[], language: string): number | null {
  const base = baseLanguage(language);
  const tail = words.slice(-4).join(' ');
  for (const like of (Object.hasOwn(LIKE, base) ? LIKE[base] : undefined) ?? []) {
    const letter = base === 'en' && like !== 'as in' ? '[b-hj-z]' : '\\p{L}';
    if (new RegExp(`(?:^| )${letter} ${like} \\p{L}+$`, 'u').test(tail) && tail !== `${like} in`) return 0.4;
    if (new RegExp(`(?:^| )${letter} ${like}$`, 'u').test(tail)) return 0.1;
  }
  return null;
}

function isLetter(word: string): boolean {
  return /^[\p{Lu}\p{Ll}]$/u.test(word) || LETTER_NAMES.has(word);
}

/** "John dot Miller at example dot com". */
function addressOf(text: string, words: readonly string[], asked: AnswerKind | null): Dictation | null {
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

/** What the agent has asked for, as far as it determines how an answer ends. */
export interface AnswerKind {
  kind: 'digits' | 'letters' | 'code' | 'address' | 'date' | 'place';
  /** Possible numbers of digits or characters of a complete answer; null = any. */
  whole: readonly number[] | null;
}

/** Lengths of phone numbers without and with country code. */
export const PHONE = [7, 10, 11, 12];
export const CARD = [15, 16];

interface Question extends AnswerKind {
  pattern: RegExp;
}

/** The more specific first. */
const QUESTIONS: readonly Question[] = [
  { pattern: /e-?mail|courriel|correo|メール|邮箱|郵箱|ईमेल/iu, kind: 'address', whole: null },
  {
    pattern:
      /\bborn\b|birth|geburt|geboren|naissance|\bné\(?e?\)? le|nacimiento|nascimento|nascita|geboorte|生年月日|出生|जन्म/iu,
    kind: 'date',
    whole: null,
  },
  { pattern: /\b(?:last|final) (?:four|4)\b|\bpin\b/iu, kind: 'digits', whole: [4] },
  {
    pattern: /security code|\bcv[cv]\b|prüf(?:ziffer|nummer)|code de sécurité|código de seguridad/iu,
    kind: 'digits',
    whole: [3, 4],
  },
  {
    pattern: /\b(?:zip|post ?code|postal)|postleitzahl|\bplz\b|code postal|código postal|\bcap\b|邮编|郵便番号/iu,
    kind: 'code',
    whole: [5],
  },
  {
    pattern: /reference|booking code|confirmation (?:code|number)|buchungs(?:nummer|code)|\bpnr\b/iu,
    kind: 'code',
    whole: [6],
  },
  { pattern: /\b(?:card|credit)|karten?nummer|carte|tarjeta|cartão|carta/iu, kind: 'digits', whole: CARD },
  {
    pattern: /phone|mobile|to reach you|call you back|telefon|téléphone|teléfono|telefone|電話|电话|फ़?ोन/iu,
    kind: 'digits',
    whole: PHONE,
  },
  { pattern: /\bspell|buchstabier|épele|deletre|soletr|sillab|\bspel/iu, kind: 'letters', whole: null },
  {
    pattern:
      /\b(?:your|the|street|delivery|billing|home) address|deliver(?:ed)?\?|anschrift|adresse|dirección|direccion|endereço|indirizzo|adres\b|住所|地址|पता/iu,
    kind: 'place',
    whole: null,
  },
  {
    pattern: /number|nummer|numéro|número|numero|digit|\bcodes?\b|código|codice|番号|号码|नंबर/iu,
    kind: 'digits',
    whole: null,
  },
];

/** A question whose answer is a plain number. */
const HOW_MANY =
  /how (?:many|much|old|long)|what time|what day|which day|\bwhen\b|number of (?:people|guests|persons)|wie ?viele?|wann|combien|quand|cuánt|cuándo|quant[oaie]|quando|hoeveel|wanneer|कितने|何人|何時|几位|几点|多少/iu;

const COUNTS: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
};

/** "Your six-digit code", "the 3 digits on the back". */
function countedDigits(said: string): number | null {
  const count = /\b(\w+)[- ]digits?\b/iu.exec(said)?.[1]?.toLowerCase() ?? '';
  if (Object.hasOwn(COUNTS, count)) return COUNTS[count] ?? null;
  return /^\d{1,2}$/u.test(count) ? Number(count) : null;
}

/** @returns null = no question, or one with any kind of answer */
export function answerKindOf(agentSaid: string): AnswerKind | null {
  if (agentSaid === '') return null;
  const asked = QUESTIONS.find(({ pattern }) => pattern.test(agentSaid)) ?? null;
  if (asked?.kind === 'date') return asked;
  if (HOW_MANY.test(agentSaid)) return null;
  const count = countedDigits(agentSaid);
  if (count !== null) return { kind: 'digits', whole: [count] };
  return asked;
}
