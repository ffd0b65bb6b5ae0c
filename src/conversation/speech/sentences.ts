import { unfinishedMarkup, withoutMarkup } from '../../base/speech-markup.js';

/**
 * Cuts a reply into pieces that are spoken one after another as soon as they are complete. The first piece may be a
 * clause, so that the voice starts early; later ones are sentences, which sound better.
 */

/** A shorter clause is not a separate piece. */
const MIN_CLAUSE_CHARS = 14;
/** Text without punctuation is cut at a space beyond this length. */
const MAX_PIECE_CHARS = 240;

const ABBREVIATION =
  /(?:^|[\s(])(?:mr|mrs|ms|dr|dra|prof|st|vs|etc|e\.g|i\.e|no|approx|inc|ltd|jr|sr|sra|srta|a\.m|p\.m|ca|bzw|nr|tel|tél|inkl|zzgl|ggf|evtl|hr|fr|mm|env|uds?|avda|núm|pág|aprox|p\.ex|ex|p\.ej|ej|z\.b|d\.h|mio|mrd|tsd|ee|mo|\p{L})\.$/iu;
/** Longer than any abbreviation or ordinal number with the word before it: only so much is looked at. */
const MAX_ABBREVIATION_CHARS = 30;
/** A German ordinal number behind an article, a preposition or another: "am 3. Mai", "am 1. und 2. Mai", "am 24./25. Mai". */
const ORDINAL =
  /(?:^|[\s(])(?:am|im|der|die|das|den|dem|des|vom|zum|beim|bis|ab|einen?|einem|\d{1,2}\.\s(?:und|oder))\s(?:\d{1,2}\.\/)?\d{1,4}\.$/iu;
const SENTENCE_END = /[.!?…]["'”’)\]]*(?=\s|$)|[。！？]["'”’」』]*|\n+/g;
const CLAUSE_END = /[,;:–—](?=\s)|[、，；：]/g;

/** "www.acme.", "ann@acme.", "https://acme." */
const UNFINISHED_ADDRESS = /(?:^|[\s(<])(?:www|(?:www\.|https?:\/\/|\S{1,64}@)\S{0,200})\.$/iu;

export interface Cut {
  /** Complete pieces, in order. */
  pieces: string[];
  /** The rest, which waits for more text. */
  rest: string;
}

/**
 * @param text all text that is not cut yet
 * @param first whether it is the start of the reply
 */
export function cutSentences(text: string, first: boolean): Cut {
  const pieces: string[] = [];
  let rest = text;
  for (;;) {
    const end = sentenceEnd(rest) ?? (first && pieces.length === 0 ? clauseEnd(rest) : undefined) ?? forcedEnd(rest);
    if (end === undefined) return { pieces, rest };
    const piece = rest.slice(0, end).trim();
    rest = rest.slice(end).trimStart();
    if (isSpeakable(piece)) pieces.push(piece);
  }
}

/** Whether a piece has a letter or a digit besides its mark-up. */
export function isSpeakable(piece: string): boolean {
  return /[\p{L}\p{N}]/u.test(withoutMarkup(piece));
}

/** Whether a cut at a position would part a tag, or what stands between two. */
function isInMarkup(text: string, at: number): boolean {
  return text.includes('<') && unfinishedMarkup(text.slice(0, at)) >= 0;
}

function sentenceEnd(text: string): number | undefined {
  for (const match of text.matchAll(SENTENCE_END)) {
    const end = match.index + match[0].length;
    if (match[0].startsWith('.') && !endsSentence(text, match.index)) continue;
    if (isInMarkup(text, end)) continue;
    if (isSpeakable(text.slice(0, end))) return end;
  }
  return undefined;
}

/** Whether the full stop at `index` ends a sentence, not an abbreviation or (at the end so far) a number. */
function endsSentence(text: string, index: number): boolean {
  const last = text.slice(Math.max(0, index - MAX_ABBREVIATION_CHARS), index + 1);
  if (ABBREVIATION.test(last) || ORDINAL.test(last)) return false;
  // "In der Hauptstr. 5": what follows says whether it is a street's number.
  const next = text.slice(index + 1, index + 3);
  if (/\p{L}str\.$/iu.test(last) && (next.trim() === '' || /^\s\d/.test(next))) return false;
  // At the end of what has arrived, an address goes on, and a number may; waiting for other words would cost time.
  return index + 1 < text.length || (/\p{L}{2}\.$/u.test(last) && !UNFINISHED_ADDRESS.test(text));
}

function clauseEnd(text: string): number | undefined {
  for (const match of text.matchAll(CLAUSE_END)) {
    const end = match.index + match[0].length;
    if (end >= MIN_CLAUSE_CHARS && !isInMarkup(text, end)) return end;
  }
  return undefined;
}

function forcedEnd(text: string): number | undefined {
  if (text.length <= MAX_PIECE_CHARS) return undefined;
  const space = text.lastIndexOf(' ', MAX_PIECE_CHARS);
  if (space > 0) return space + 1;
  const splitsPair = /[\uD800-\uDBFF]/.test(text[MAX_PIECE_CHARS - 1] ?? '');
  return splitsPair ? MAX_PIECE_CHARS - 1 : MAX_PIECE_CHARS;
}
