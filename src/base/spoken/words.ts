/** A word of an utterance or a pattern, normalised for comparison. */
export interface Word {
  text: string;
  /** As written, for names and free text. */
  raw: string;
}

/** Longer utterances are truncated, which bounds the matching time. */
const MAX_WORDS = 120;
const MAX_CHARS = 4_000;

const FILLERS = new Set(['um', 'umm', 'uhm', 'uh', 'er', 'erm', 'eh', 'hm', 'hmm', 'ah']);
/** Backchannels have many spellings. */
const SOUNDS = new Set(['mm-hm', 'mm-hmm', 'm-hm', 'uh-huh', 'mhm', 'mmhmm', 'mmhm', 'uhhuh']);

const REWRITTEN: Readonly<Record<string, string>> = {
  ok: 'okay',
  alright: 'all right',
  cannot: 'can not',
  "can't": 'can not',
  "won't": 'will not',
  gonna: 'going to',
  wanna: 'want to',
  "let's": 'let us',
  "o'clock": 'oclock',
  "new year's": 'new years',
};
const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/n't$/, ' not'],
  [/'re$/, ' are'],
  [/'ll$/, ' will'],
  [/'ve$/, ' have'],
  [/'d$/, ' would'],
  [/'m$/, ' am'],
  [/^(it|that|this|what|who|where|when|how|there|here|he|she|name)'s$/, '$1 is'],
  [/'s$/, 's'],
];

/**
 * The words of an utterance: lower case, without punctuation and fillers, contractions expanded, "p.m." and "p m" as
 * one word.
 */
export function utteranceWords(text: string): Word[] {
  const words = patternWords(text.slice(0, MAX_CHARS));
  const spoken = words.filter((word) => !FILLERS.has(word.text));
  return spoken.slice(0, MAX_WORDS);
}

/** The words of a pattern; unlike utterances, patterns have no fillers. */
export function patternWords(text: string): Word[] {
  const words: Word[] = [];
  const plain = text.normalize('NFKC').replaceAll('’', "'");
  for (const [raw] of plain.matchAll(/\+?[\p{L}\p{N}]+(?:['.:-][\p{L}\p{N}]+)*/gu)) {
    const written = spell(raw.toLowerCase()).split(' ');
    // A name keeps its capitals and hyphenated halves; a rewritten word has no original.
    const originals = raw.split('-');
    const same = originals.length === written.length && !raw.includes("'s");
    for (const [index, part] of written.entries()) {
      words.push({ text: part, raw: same ? (originals[index] ?? part) : part });
    }
  }
  return joinHalfDays(words);
}

function spell(word: string): string {
  if (SOUNDS.has(word)) return 'mmhm';
  if (/^\d{4}-\d{2}-\d{2}$/.test(word)) return word;
  const half = /^(\d[\d.:]*)?([ap])\.?m$/.exec(word);
  if (half !== null) return half[1] === undefined ? `${half[2] ?? ''}m` : `${half[1]} ${half[2] ?? ''}m`;
  const simple = REWRITTEN[word];
  if (simple !== undefined) return simple;
  let written = word;
  for (const [ending, replacement] of ENDINGS) {
    if (ending.test(written)) {
      written = written.replace(ending, replacement);
      break;
    }
  }
  return written.replaceAll('-', ' ').replace(/(?<=\p{L})\.(?=\p{L})/gu, '');
}

/** Recognisers write "seven p m". "A m" stays two words unless a number precedes it: "a m" may also be letters. */
function joinHalfDays(words: Word[]): Word[] {
  const joined: Word[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as Word;
    const half = word.text === 'p' || (word.text === 'a' && index > 0);
    if (half && words[index + 1]?.text === 'm') {
      joined.push({ text: `${word.text}m`, raw: `${word.text}m` });
      index++;
    } else joined.push(word);
  }
  return joined;
}

/**
 * Similarity of two words: 1 the same, 0.9 singular and plural, 0.7 one or two letters apart in a long word, else 0.
 */
export function likeness(spoken: string, wanted: string): number {
  if (spoken === wanted) return 1;
  if (spoken.length < 4 || wanted.length < 4 || spoken[0] !== wanted[0]) return 0;
  if (`${spoken}s` === wanted || spoken === `${wanted}s`) return 0.9;
  const longest = Math.max(spoken.length, wanted.length);
  if (longest < 6 || /\d/.test(wanted)) return 0;
  return editDistance(spoken, wanted) <= (longest >= 9 ? 2 : 1) ? 0.7 : 0;
}

function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
