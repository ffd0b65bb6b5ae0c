import { stopWords, textLanguage, wordsOf } from './words.js';

/** A word to look for, or the beginning of words. It has letters, digits and their marks only. */
export interface Term {
  word: string;
  isPrefix: boolean;
}

/** A query for the index. */
export interface TextQuery {
  /** A passage needs one of them. */
  terms: readonly Term[];
  /** The words of the query, each without its ending. */
  stems: readonly string[];
}

/** Longer queries are truncated. */
const MAX_WORDS = 40;
/** Shorter prefixes match too much. */
const MIN_STEM = 4;

/** Inflectional endings by language; the longest that fits is removed. */
const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  en: [
    'ingly',
    'ation',
    'ions',
    'ings',
    'edly',
    'ies',
    'ied',
    'ing',
    'ion',
    'ers',
    'est',
    'ed',
    'es',
    'er',
    'ly',
    's',
    'y',
    'e',
  ],
  de: ['ungen', 'heiten', 'keiten', 'ern', 'ung', 'est', 'em', 'en', 'er', 'es', 'et', 'st', 'e', 'n', 's', 't'],
  fr: [
    'ements',
    'ement',
    'ations',
    'ation',
    'euses',
    'antes',
    'aient',
    'ants',
    'ante',
    'ent',
    'ant',
    'ees',
    'ons',
    'ait',
    'ez',
    'er',
    'ee',
    'es',
    'ux',
    'al',
    'e',
    's',
  ],
  es: [
    'aciones',
    'acion',
    'mente',
    'iendo',
    'ando',
    'ados',
    'adas',
    'idos',
    'idas',
    'ado',
    'ada',
    'ido',
    'ida',
    'es',
    'ar',
    'er',
    'ir',
    'as',
    'os',
    'an',
    'en',
    'a',
    'e',
    'o',
    's',
  ],
  it: [
    'azioni',
    'azione',
    'mente',
    'ando',
    'endo',
    'ati',
    'ate',
    'ato',
    'ata',
    'are',
    'ere',
    'ire',
    'a',
    'e',
    'i',
    'o',
  ],
  pt: [
    'acoes',
    'acao',
    'mente',
    'ando',
    'endo',
    'ados',
    'adas',
    'ado',
    'ada',
    'oes',
    'ao',
    'es',
    'ar',
    'er',
    'ir',
    'as',
    'os',
    'a',
    'e',
    'o',
    's',
  ],
  nl: ['heden', 'ingen', 'ing', 'en', 'er', 'es', 'e', 's', 't'],
  pl: ['ami', 'ach', 'owi', 'ego', 'emu', 'ie', 'em', 'om', 'ow', 'ej', 'ym', 'a', 'e', 'i', 'o', 'u', 'y'],
  sv: ['arna', 'erna', 'orna', 'ande', 'het', 'ar', 'er', 'or', 'en', 'et', 'na', 'a', 'e', 's', 't'],
  da: ['erne', 'ende', 'hed', 'er', 'en', 'et', 'e', 's', 't'],
  no: ['ene', 'ende', 'het', 'er', 'en', 'et', 'a', 'e', 's', 't'],
  tr: ['larin', 'lerin', 'lari', 'leri', 'lar', 'ler', 'dan', 'den', 'nin', 'in', 'un', 'da', 'de', 'a', 'e', 'i', 'u'],
  ru: [
    'иями',
    'ями',
    'ами',
    'ого',
    'его',
    'ому',
    'ему',
    'ыми',
    'ими',
    'иях',
    'ях',
    'ах',
    'ии',
    'ия',
    'ий',
    'ый',
    'ой',
    'ая',
    'яя',
    'ое',
    'ее',
    'ые',
    'ие',
    'ов',
    'ев',
    'ей',
    'ам',
    'ям',
    'ом',
    'ем',
    'ть',
    'а',
    'я',
    'о',
    'е',
    'ы',
    'и',
    'у',
    'ю',
    'ь',
  ],
};

/** Numbers are spoken as words and written as digits. */
const FIGURES: ReadonlyMap<string, string> = new Map(
  (
    'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen ' +
    'nineteen twenty'
  )
    .split(' ')
    .map((word, index): [string, string] => [word, String(index + 1)])
    .concat(
      'thirty forty fifty sixty seventy eighty ninety hundred'
        .split(' ')
        .map((word, index) => [word, String((index + 3) * 10)]),
    ),
);

/**
 * Builds the query for a question: the content words, and for those from four letters on a prefix that covers other
 * inflections, any of which is enough; the ranking prefers passages with more and rarer terms.
 * @param language such as `en-US` or `multi`
 */
export function textQuery(text: string, language: string): TextQuery {
  const all = [...new Set(wordsOf(text))].slice(0, MAX_WORDS);
  const stop = stopWords(language);
  const meant = all.filter((word) => !stop.has(word));
  const words = meant.length > 0 ? meant : all;
  const base = textLanguage(language);
  const stems = words.map((word) => stemOf(word, base));
  const terms = words.flatMap((word, index) => {
    const stem = stems[index] ?? word;
    const figure = base === 'en' ? FIGURES.get(word) : undefined;
    return [
      { word, isPrefix: false },
      ...(stem.length >= MIN_STEM && /^\p{L}/u.test(stem) ? [{ word: stem, isPrefix: true }] : []),
      ...(figure === undefined ? [] : [{ word: figure, isPrefix: false }]),
    ];
  });
  return { terms, stems };
}

/** A word without its ending, but at least four letters. */
function stemOf(word: string, base: string): string {
  const ending = ENDINGS[base]?.find((it) => word.endsWith(it) && word.length - it.length >= MIN_STEM);
  return ending === undefined ? word : word.slice(0, -ending.length);
}

/** Damping constant of the ranks (Cormack, Clarke and Büttcher, SIGIR 2009). */
const K = 60;

/** Reciprocal rank fusion: merges several rankings, best first, without comparing scores. */
export function fuse<T>(rankings: readonly (readonly T[])[]): T[] {
  const scores = new Map<T, number>();
  for (const ranking of rankings) {
    ranking.forEach((it, rank) => scores.set(it, (scores.get(it) ?? 0) + 1 / (K + rank + 1)));
  }
  return [...scores.entries()].sort(([, a], [, b]) => b - a).map(([it]) => it);
}
