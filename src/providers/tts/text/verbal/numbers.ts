import { spokenNumber, spokenOrdinal } from '../../../../base/spoken-number.js';

/** Numbers in words. Pure. Cardinals go up to 999,999,999,999; longer ones are said digit by digit. */

/** Gender of a number with what it counts. `alone`: nothing is counted, as in "number one". */
export type Gender = 'alone' | 'masculine' | 'feminine' | 'neuter';

/** How a language says numbers. */
export interface Speller {
  /** Sign between whole and decimals in writing. */
  readonly decimal: ',' | '.';
  /** … and what is said for it. */
  readonly point: string;
  readonly minus: string;
  /** Below 1e12, not negative. */
  readonly cardinal: (value: number, agreement?: Gender) => string;
  /** @param ending of languages that decline it: German `e`, `en`, `er`; Romance `feminine` or none */
  readonly ordinal: (value: number, ending?: string) => string;
  /** Decimals as said behind the point: digit by digit, or as a number. */
  readonly decimals: (digits: string) => string;
  /** A year, where it differs from the cardinal. */
  readonly year: (value: number) => string;
}

const LARGEST = 999_999_999_999;

/** "1.204,50" as a number; null for what is none. Separators may be the other ones where they cannot mean both. */
export function parseNumber(
  text: string,
  decimal: ',' | '.',
): { minus: boolean; whole: string; decimals: string } | null {
  const [, sign = '', digits = ''] = /^([-−–]?)(\d[\d.,'’\u00a0\u202f\u2009]*)$/u.exec(text) ?? [];
  if (digits === '' || !/\d$/.test(digits)) return null;
  const plain = digits.replace(/(?<=\d)['’\u00a0\u202f\u2009](?=\d{3}(?!\d))/gu, '');
  const group = decimal === ',' ? '.' : ',';
  const read = (mark: string, groups: string): { whole: string; decimals: string } | null => {
    const [whole = '', decimals = '', ...more] = plain.split(mark);
    if (more.length > 0 || (plain.includes(mark) && !/^\d+$/.test(decimals))) return null;
    const parts = whole.split(groups);
    if (parts.some((part, at) => !/^\d+$/.test(part) || (at > 0 && part.length !== 3))) return null;
    if (parts.length > 1 && ((parts[0] ?? '').length > 3 || parts[0] === '0')) return null;
    return { whole: parts.join(''), decimals };
  };
  const found = read(decimal, group) ?? read(group, decimal);
  return found === null ? null : { minus: sign !== '', ...found };
}

/** A written number in words; null for what is none. Digits with a zero ahead are said one by one. */
export function sayNumber(text: string, speller: Speller, agreement: Gender = 'alone'): string | null {
  const number = parseNumber(text, speller.decimal);
  if (number === null) return null;
  const { minus, whole, decimals } = number;
  const sign = minus ? `${speller.minus} ` : '';
  if (decimals === '') return sign + sayWhole(whole, speller, agreement);
  return `${sign}${sayWhole(whole, speller, 'alone')} ${speller.point} ${speller.decimals(decimals)}`;
}

function sayWhole(digits: string, speller: Speller, agreement: Gender): string {
  if ((digits.length > 1 && digits.startsWith('0')) || Number(digits) > LARGEST) return sayDigits(digits, speller);
  return speller.cardinal(Number(digits), agreement);
}

/** "0173" as "zero one seven three". */
export function sayDigits(digits: string, speller: Speller): string {
  return [...digits].map((digit) => (/\d/.test(digit) ? speller.cardinal(Number(digit)) : digit)).join(' ');
}

const ROMAN = /^(?=[IVXLC])(C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})$/;

/** 14 of "XIV", up to 399; 0 for what is no Roman number. */
export function romanValue(text: string): number {
  if (!ROMAN.test(text)) return 0;
  const values: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100 };
  return [...text].reduce((sum, letter, at, all) => {
    const value = values[letter] ?? 0;
    return sum + (value < (values[all[at + 1] ?? ''] ?? 0) ? -value : value);
  }, 0);
}

/** The groups of three digits, the highest first, with their power of a thousand. */
function thousands(value: number): { group: number; power: number }[] {
  const groups: { group: number; power: number }[] = [];
  for (let rest = value, power = 0; rest > 0; rest = Math.floor(rest / 1000), power++) {
    if (rest % 1000 > 0) groups.unshift({ group: rest % 1000, power });
  }
  return groups;
}

/** @param isBritish "one hundred and five" */
export function englishSpeller(isBritish: boolean): Speller {
  const below1000 = (value: number, isLast: boolean): string => {
    const rest = value % 100;
    const and = isBritish && rest > 0 && (value > 100 || !isLast) ? 'and ' : '';
    if (value < 100) return spokenNumber(value);
    return `${spokenNumber(Math.floor(value / 100))} hundred${rest === 0 ? '' : ` ${and}${spokenNumber(rest)}`}`;
  };
  const cardinal = (value: number): string => {
    if (value === 0) return 'zero';
    const groups = thousands(value);
    return groups
      .map(({ group, power }, at) => {
        const joined = isBritish && power === 0 && at > 0 && group < 100 ? 'and ' : '';
        return joined + below1000(group, true) + ['', ' thousand', ' million', ' billion'][power];
      })
      .join(' ');
  };
  const speller: Speller = {
    decimal: '.',
    point: 'point',
    minus: 'minus',
    cardinal,
    ordinal: (value) => {
      const rest = value % 100;
      if (value <= 31) return spokenOrdinal(value);
      if (rest === 0) return `${cardinal(value)}th`;
      const last = rest <= 20 || rest % 10 === 0 ? rest : rest % 10;
      const ending = last < 20 ? spokenOrdinal(last) : cardinal(last).replace(/y$/, 'ieth');
      return cardinal(value).replace(/[a-z]+$/, ending);
    },
    decimals: (digits) => sayDigits(digits, speller),
    year: cardinal,
  };
  return speller;
}

const GERMAN_UNITS =
  'null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn'.split(
    ' ',
  );
const GERMAN_TENS = ['', '', 'zwanzig', 'dreißig', 'vierzig', 'fünfzig', 'sechzig', 'siebzig', 'achtzig', 'neunzig'];

function germanBelow1000(value: number): string {
  const [hundreds, rest] = [Math.floor(value / 100), value % 100];
  const head = hundreds === 0 ? '' : `${GERMAN_UNITS[hundreds] ?? ''}hundert`;
  if (rest === 0) return head;
  if (rest < 20) return head + (GERMAN_UNITS[rest] ?? '');
  const [tens, unit] = [Math.floor(rest / 10), rest % 10];
  return `${head}${unit === 0 ? '' : `${GERMAN_UNITS[unit] ?? ''}und`}${GERMAN_TENS[tens] ?? ''}`;
}

function germanCardinal(value: number, agreement: Gender = 'alone'): string {
  if (value === 0) return 'null';
  const words: string[] = [];
  let small = '';
  for (const { group, power } of thousands(value)) {
    if (power === 3) words.push(group === 1 ? 'eine Milliarde' : `${germanBelow1000(group)} Milliarden`);
    else if (power === 2) words.push(group === 1 ? 'eine Million' : `${germanBelow1000(group)} Millionen`);
    else if (power === 1) small += `${germanBelow1000(group)}tausend`;
    else small += germanBelow1000(group);
  }
  if (small !== '') words.push(small);
  const said = words.join(' ');
  if (!said.endsWith('ein')) return said;
  if (agreement === 'alone' || said !== 'ein') return agreement === 'alone' ? `${said}s` : said;
  return agreement === 'feminine' ? 'eine' : 'ein';
}

export const GERMAN_SPELLER: Speller = {
  decimal: ',',
  point: 'Komma',
  minus: 'minus',
  cardinal: germanCardinal,
  ordinal: (value, ending = 'er') => {
    const rest = value % 100;
    const stem: Readonly<Record<number, string>> = { 1: 'erst', 3: 'dritt', 7: 'siebt', 8: 'acht' };
    const own = stem[rest];
    const cardinal = germanCardinal(value, 'masculine');
    if (own !== undefined) return `${cardinal.slice(0, -(GERMAN_UNITS[rest] ?? '').length)}${own}${ending}`;
    return `${cardinal}${rest > 0 && rest < 20 ? 't' : 'st'}${ending}`;
  },
  decimals: (digits) => sayDigits(digits, GERMAN_SPELLER),
  year: (value) => {
    const [century, rest] = [Math.floor(value / 100), value % 100];
    if (value < 1100 || value > 1999) return germanCardinal(value);
    const small = rest === 0 ? '' : germanCardinal(rest);
    return `${GERMAN_UNITS[century] ?? ''}hundert${small}`;
  },
};

const FRENCH_UNITS =
  'zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf'.split(
    ' ',
  );
const FRENCH_TENS = ['', '', 'vingt', 'trente', 'quarante', 'cinquante', 'soixante', 'septante', '', 'nonante'];

/** @param region `BE` and `CH` say "septante" and "nonante"; `CH` says "huitante" too */
export function frenchSpeller(region: string): Speller {
  const hasOwnTens = region === 'BE' || region === 'CH';
  const below100 = (value: number): string => {
    if (value < 20) return FRENCH_UNITS[value] ?? '';
    let tens = Math.floor(value / 10);
    let unit = value % 10;
    if (tens === 8 && region === 'CH')
      return unit === 0 ? 'huitante' : unit === 1 ? 'huitante et un' : `huitante-${FRENCH_UNITS[unit] ?? ''}`;
    if (tens === 8 || (tens === 9 && !hasOwnTens)) {
      const rest = value - 80;
      return rest === 0 ? 'quatre-vingts' : `quatre-vingt-${FRENCH_UNITS[rest] ?? ''}`;
    }
    if (tens === 7 && !hasOwnTens) {
      tens = 6;
      unit += 10;
    }
    const head = FRENCH_TENS[tens] ?? '';
    if (unit === 0) return head;
    if (unit === 1 || unit === 11) return `${head} et ${FRENCH_UNITS[unit] ?? ''}`;
    return `${head}-${FRENCH_UNITS[unit] ?? ''}`;
  };
  const below1000 = (value: number, isLast: boolean): string => {
    const [hundreds, rest] = [Math.floor(value / 100), value % 100];
    const small = rest === 0 ? '' : below100(rest);
    const said = isLast ? small : small.replace(/quatre-vingts$/, 'quatre-vingt');
    if (hundreds === 0) return said;
    const head = hundreds === 1 ? 'cent' : `${FRENCH_UNITS[hundreds] ?? ''} cent`;
    if (rest === 0) return hundreds > 1 && isLast ? `${head}s` : head;
    return `${head} ${said}`;
  };
  const cardinal = (value: number, agreement: Gender = 'alone'): string => {
    if (value === 0) return 'zéro';
    const said = thousands(value)
      .map(({ group, power }) => {
        if (power === 0) return below1000(group, true);
        if (power === 1) return group === 1 ? 'mille' : `${below1000(group, false)} mille`;
        const name = power === 2 ? 'million' : 'milliard';
        return `${below1000(group, true)} ${name}${group > 1 ? 's' : ''}`;
      })
      .join(' ');
    return agreement === 'feminine' ? said.replace(/(^|[ -])un$/, '$1une') : said;
  };
  return {
    decimal: ',',
    point: 'virgule',
    minus: 'moins',
    cardinal,
    ordinal: (value, ending = '') => {
      if (value === 1) return ending === 'feminine' ? 'première' : 'premier';
      const said = cardinal(value).replace(/(cent|vingt)s$/, '$1');
      if (said.endsWith('cinq')) return `${said}uième`;
      if (said.endsWith('neuf')) return `${said.slice(0, -1)}vième`;
      return `${said.replace(/e$/, '')}ième`;
    },
    // "3,14" is "trois virgule quatorze".
    decimals: (digits) => {
      const zeros = /^0*/.exec(digits)?.[0] ?? '';
      const rest = digits.slice(zeros.length);
      const said =
        rest.length > 3
          ? [...rest].map((digit) => FRENCH_UNITS[Number(digit)]).join(' ')
          : rest === ''
            ? ''
            : cardinal(Number(rest));
      return [...[...zeros].map(() => 'zéro'), said].filter((part) => part !== '').join(' ');
    },
    year: cardinal,
  };
}

const SPANISH_UNITS =
  'cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve'.split(
    ' ',
  );
const SPANISH_TENS = ['', '', '', 'treinta', 'cuarenta', 'cincuenta', 'sesenta', 'setenta', 'ochenta', 'noventa'];
const SPANISH_HUNDREDS =
  ' ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos'.split(' ');
const SPANISH_ORDINALS =
  ' primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo undécimo duodécimo'.split(' ');
const SPANISH_TENTHS = [
  '',
  'décimo',
  'vigésimo',
  'trigésimo',
  'cuadragésimo',
  'quincuagésimo',
  'sexagésimo',
  'septuagésimo',
  'octogésimo',
  'nonagésimo',
];

function spanishBelow1000(value: number): string {
  if (value === 100) return 'cien';
  const [hundreds, rest] = [Math.floor(value / 100), value % 100];
  const small =
    rest === 0
      ? ''
      : rest < 30
        ? (SPANISH_UNITS[rest] ?? '')
        : `${SPANISH_TENS[Math.floor(rest / 10)] ?? ''}${rest % 10 === 0 ? '' : ` y ${SPANISH_UNITS[rest % 10] ?? ''}`}`;
  return [SPANISH_HUNDREDS[hundreds] ?? '', small].filter((part) => part !== '').join(' ');
}

/** Before a masculine noun: "veintiún euros", "un millón". */
function apocope(said: string): string {
  return said.replace(/veintiuno$/, 'veintiún').replace(/(^|\s)uno$/, '$1un');
}

function spanishCardinal(value: number, agreement: Gender = 'alone'): string {
  if (value === 0) return 'cero';
  const feminine = (said: string): string =>
    said
      .replace(/cientos/g, 'cientas')
      .replace('quinientos', 'quinientas')
      .replace(/uno$/, 'una');
  const millions = Math.floor(value / 1e6);
  const rest = value % 1e6;
  const small = thousands(rest)
    .map(({ group, power }) => {
      const said = spanishBelow1000(group);
      if (power === 1) return group === 1 ? 'mil' : `${agreement === 'feminine' ? feminine(said) : apocope(said)} mil`;
      return agreement === 'feminine' ? feminine(said) : agreement === 'alone' ? said : apocope(said);
    })
    .join(' ');
  // A Spanish "billón" is a million millions.
  const large = millions === 0 ? '' : millions === 1 ? 'un millón' : `${apocope(spanishCardinal(millions))} millones`;
  return [large, small].filter((part) => part !== '').join(' ');
}

/** @param decimal the sign of the region: Mexico and its neighbours write "1,204.50" */
export function spanishSpeller(decimal: ',' | '.'): Speller {
  return {
    decimal,
    point: decimal === ',' ? 'coma' : 'punto',
    minus: 'menos',
    cardinal: spanishCardinal,
    ordinal: (value, ending = '') => {
      const said =
        value <= 12
          ? (SPANISH_ORDINALS[value] ?? '')
          : value < 100
            ? [SPANISH_TENTHS[Math.floor(value / 10)], SPANISH_ORDINALS[value % 10]]
                .filter((part) => part !== '')
                .join(' ')
            : spanishCardinal(value);
      if (ending === 'feminine') return said.replace(/o(?=$| )/g, 'a');
      return ending === 'short' ? said.replace(/(primer|tercer)o$/, '$1') : said;
    },
    decimals: (digits) =>
      digits.length <= 2 && !digits.startsWith('0')
        ? spanishCardinal(Number(digits))
        : [...digits].map((digit) => SPANISH_UNITS[Number(digit)]).join(' '),
    year: spanishCardinal,
  };
}
