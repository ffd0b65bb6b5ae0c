import { CLAUSE_PAUSE_MS, SENTENCE_PAUSE_MS } from '../tts.js';

/**
 * Cuts text where a speaker would breathe. Pure; takes time linear in the text.
 */
export interface Clause {
  /** The text from `start` up to, not including, `end`; spaces around it are outside. */
  start: number;
  end: number;
  /** The silence a speaker leaves after it, in milliseconds at normal speed. 0 after the last. */
  pauseMs: number;
}

export interface ClauseOptions {
  /** Sentences up to this length stay whole, because their melody spans them. Default 120. */
  maxChars?: number;
}

/** An end is looked for in this much of a word, which may be endless. Longer than any abbreviation. */
const TAIL_CHARS = 24;

/** Ends of sentences in the scripts of the interface's languages, with what may close after them. */
const SENTENCE_END = /[.!?…。！？｡؟۔।॥։።၊။]+["'”’»)\]」』】]*$/u;
const WIDE_SENTENCE_END = /[。！？｡][”’」』】）]*$/u;
const CLAUSE_END = /(?:[,;:—–،؛、，；：]|--)["'”’»)\]」』】]*$/u;
const WIDE_CLAUSE_END = /[、，；：][”’」』】）]*$/u;

/** Words whose full stop does not end a sentence, whatever follows (lower case, without the stop). */
const TITLES = new Set(
  'mr mrs ms dr prof rev hon gen col capt lt sgt st mt fr sr jr vs no nr fig vol approx est dept bzw sog ca evtl dra sra srta mme mlle mgr ing'.split(
    ' ',
  ),
);
/** Those that may end one: they do where a capital follows. */
const ABBREVIATIONS = new Set(
  'etc inc ltd co corp ave blvd rd jan feb mar apr jun jul aug sep sept oct nov dec usw'.split(' '),
);

/** The clauses of `text` in order; together they hold all that is not space. */
export function splitClauses(text: string, options: ClauseOptions = {}): Clause[] {
  const maxChars = options.maxChars ?? 120;
  const clauses: Clause[] = [];
  for (const sentence of sentences(text)) clauses.push(...shorten(text, sentence, maxChars));
  const last = clauses.at(-1);
  if (last !== undefined) last.pauseMs = 0;
  return clauses;
}

function sentences(text: string): Clause[] {
  const found: Clause[] = [];
  const words = [...text.matchAll(/\S+/gu)].flatMap((match) => widePieces(match[0], match.index));
  let start = -1;
  for (const [index, word] of words.entries()) {
    if (start < 0) start = word.start;
    const next = words[index + 1];
    const lineEnds = next !== undefined && /\n/.test(text.slice(word.end, next.start));
    if (next === undefined || lineEnds || endsSentence(word, next)) {
      found.push({ start, end: word.end, pauseMs: SENTENCE_PAUSE_MS });
      start = -1;
    }
  }
  return found;
}

interface Piece {
  start: number;
  end: number;
  text: string;
}

/** Chinese and Japanese punctuation ends a piece without a space after it. */
function widePieces(run: string, at: number): Piece[] {
  const parts = run.match(/[^。！？｡、，；：]+[。！？｡、，；：”’」』】）]*|[。！？｡、，；：”’」』】）]+/gu) ?? [run];
  let start = at;
  return parts.map((text) => {
    const piece = { start, end: start + text.length, text };
    start = piece.end;
    return piece;
  });
}

function endsSentence(word: Piece, next: Piece): boolean {
  const tail = word.text.slice(-TAIL_CHARS);
  if (WIDE_SENTENCE_END.test(tail)) return true;
  // Without a space after it an end is part of the word, as in a wide piece that a comma ended.
  if (!SENTENCE_END.test(tail) || word.end === next.start) return false;
  const nextIsCapital = /^["'“‘«([¿¡]*(?:\p{Lu}|\p{Lo})/u.test(next.text);
  const nextIsSmall = /^\p{Ll}/u.test(next.text);
  const stem = /^["'“‘«([]*(.*?)\.["'”’»)\]]*$/u.exec(tail)?.[1];
  if (stem === undefined) return !(tail.includes('…') && nextIsSmall); // ! ? and others end it
  if (stem.endsWith('..')) return !nextIsSmall; // three dots trail off or end
  const bare = stem.toLowerCase();
  if (TITLES.has(bare)) return false;
  if (/^\p{L}$/u.test(stem)) return stem === 'I' && nextIsCapital; // an initial
  if (ABBREVIATIONS.has(bare) || /^(?:\p{L}\.)+\p{L}$/u.test(stem)) return nextIsCapital; // e.g., p.m, U.S
  return !nextIsSmall;
}

/** Cuts a sentence that is too long at clause ends, or failing that between words, into pieces of similar length. */
function shorten(text: string, sentence: Clause, maxChars: number): Clause[] {
  const pieces: Clause[] = [];
  let { start } = sentence;
  while (sentence.end - start > maxChars) {
    const cut = bestCut(text, start, sentence.end, maxChars);
    if (cut === undefined) break;
    pieces.push({ start, end: cut.end, pauseMs: cut.pauseMs });
    start = cut.next;
  }
  return [...pieces, { start, end: sentence.end, pauseMs: sentence.pauseMs }];
}

/** The last clause end within reach, else the last space, else the limit itself. A stub of a few words is no clause. */
function bestCut(
  text: string,
  start: number,
  end: number,
  maxChars: number,
): { end: number; next: number; pauseMs: number } | undefined {
  const least = start + Math.min(25, maxChars / 4);
  const spaces = [...text.slice(start, start + maxChars + 1).matchAll(/\s+|(?<=[、，；：])(?=\S)/gu)]
    .map((match) => ({ end: start + match.index, next: start + match.index + match[0].length }))
    .filter((space) => space.end >= least && space.next < end);
  const atClause = spaces.findLast(({ end: at }) => {
    const before = text.slice(Math.max(start, at - 8), at);
    return CLAUSE_END.test(before) || WIDE_CLAUSE_END.test(before);
  });
  if (atClause !== undefined) return { ...atClause, pauseMs: CLAUSE_PAUSE_MS };
  const space = spaces.at(-1);
  if (space !== undefined) return { ...space, pauseMs: 0 };
  let at = start + maxChars;
  if (/[\uDC00-\uDFFF]/.test(text.charAt(at))) at -= 1;
  return at > start && at < end ? { end: at, next: at, pauseMs: 0 } : undefined;
}
