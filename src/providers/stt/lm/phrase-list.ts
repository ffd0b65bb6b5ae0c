import type { WeightedSentence } from './ngram.js';

/**
 * The format of our own phrase lists (`data/stt/*.txt`). Lines starting with `#` are comments.
 *
 *     [class day]         members of {day}, one or several a line, separated by |
 *     monday | tuesday
 *     [class date]        members may name other classes
 *     on {day} | tomorrow
 *     [phrases 2]         sentences, each counting 2; a | separates sentences too
 *     a table on {day}
 *     [answers date 2]    what users answer to a question for a date, each counting 2
 *     {date} please
 *     [words]             single words that must be known
 */
export interface PhraseList {
  /** By token, such as `{day}`: classes with single-word members. */
  readonly wordClasses: WordClasses;
  /** By name: classes whose members are phrases or refer to other classes. */
  readonly phraseClasses: ReadonlyMap<string, readonly string[]>;
  readonly phrases: readonly { readonly text: string; readonly weight: number }[];
  readonly words: readonly string[];
  /** Answers by what the question asks for. */
  readonly answers: ReadonlyMap<string, readonly { readonly text: string; readonly weight: number }[]>;
}

/** A class of single words is one token of the language model. */
export type WordClasses = ReadonlyMap<string, readonly string[]>;

/** Maximum number of sentences from one line with classes. */
const MAX_VARIANTS = 60;
/** Maximum nesting of classes. */
const MAX_DEPTH = 4;

/** Parses a phrase list. Throws a RangeError naming the line of a syntax error. */
export function parsePhraseList(source: string): PhraseList {
  const classes = new Map<string, string[]>();
  const phrases: { text: string; weight: number }[] = [];
  const words: string[] = [];
  const answers = new Map<string, { text: string; weight: number }[]>();
  let add: (item: string) => void = () => {
    throw new RangeError('A phrase list starts with a [section]');
  };
  for (const [index, raw] of source.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const heading = /^\[(class|phrases|words|answers)(?:\s+(\S+))?(?:\s+(\d+))?\]$/.exec(line);
    if (heading === null) {
      if (line.startsWith('[')) throw new RangeError(`Line ${String(index + 1)} of the phrase list: ${line}`);
      for (const item of line.split('|')) add(item.trim());
      continue;
    }
    const [, kind, argument, count] = heading;
    if (kind === 'class') {
      const members: string[] = [];
      classes.set(argument ?? '', members);
      add = (item) => members.push(item);
    } else if (kind === 'phrases') {
      const weight = Number(argument ?? 1);
      add = (item) => phrases.push({ text: item, weight });
    } else if (kind === 'answers') {
      const list = answers.get(argument ?? '') ?? [];
      answers.set(argument ?? '', list);
      add = (item) => list.push({ text: item, weight: Number(count ?? 1) });
    } else {
      add = (item) => words.push(...item.split(/\s+/));
    }
  }
  const wordClasses = new Map<string, string[]>();
  for (const [name, members] of classes) {
    if (members.some((member) => /[\s{]/.test(member))) continue;
    wordClasses.set(`{${name}}`, members);
    classes.delete(name);
  }
  return { wordClasses, phraseClasses: classes, phrases, words, answers };
}

/**
 * Expands a phrase with classes into sentences whose weights add up to `weight`; word classes stay as tokens. With more
 * than 60 combinations, every member of every class still occurs. The phrase is cut at an unknown class name.
 */
export function expandPhrase(text: string, weight: number, list: PhraseList): WeightedSentence[] {
  const pieces = text.split(/\{\{?\s*([\w-]*)[^{}]*\}?\}/);
  const fragments: string[] = [''];
  for (const [index, piece] of pieces.entries()) {
    if (index % 2 === 0) fragments[fragments.length - 1] += piece;
    else if (list.phraseClasses.has(piece) || list.wordClasses.has(`{${piece}}`))
      fragments[fragments.length - 1] += `{${piece}}`;
    else fragments.push('');
  }
  return fragments.flatMap((fragment) => {
    const variants = expandClasses(fragment, list, MAX_DEPTH);
    return variants
      .map((variant) => variant.split(/\s+/).filter(Boolean))
      .filter((words) => words.length > 0)
      .map((words) => ({ words, weight: weight / variants.length }));
  });
}

function expandClasses(text: string, list: PhraseList, depth: number): string[] {
  const pieces = text.split(/\{([\w-]+)\}/);
  if (pieces.length === 1) return [text];
  if (depth === 0) return [];
  const slots = pieces
    .filter((_, index) => index % 2 === 1)
    .map((name) => {
      if (list.wordClasses.has(`{${name}}`)) return [`{${name}}`];
      return (list.phraseClasses.get(name) ?? []).flatMap((member) => expandClasses(member, list, depth - 1));
    });
  if (slots.some((members) => members.length === 0)) return [];
  const product = slots.reduce((size, members) => size * members.length, 1);
  const largest = Math.max(...slots.map((members) => members.length));
  const count = Math.min(product, Math.max(MAX_VARIANTS, largest));
  const variants: string[] = [];
  for (let i = 0; i < count; i++) {
    let rest = i;
    let variant = pieces[0] as string;
    for (const [slot, members] of slots.entries()) {
      // All combinations if there are few; else every member in turn, with a shift between slots per round.
      const walk = i + slot * Math.floor(i / members.length);
      variant += members[(count === product ? rest : walk) % members.length] as string;
      variant += pieces[2 * slot + 2] as string;
      rest = Math.floor(rest / members.length);
    }
    variants.push(variant);
  }
  return variants;
}
