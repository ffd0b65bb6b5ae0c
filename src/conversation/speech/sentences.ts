/**
 * Cuts a reply into pieces that are spoken one after another as soon as they are complete. The first piece may be a
 * clause, so that the voice starts early; later ones are sentences, which sound better.
 */

/** A shorter clause is not a separate piece. */
const MIN_CLAUSE_CHARS = 14;
/** Text without punctuation is cut at a space beyond this length. */
const MAX_PIECE_CHARS = 240;

const ABBREVIATION = /(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|no|approx|inc|ltd|jr|sr|a\.m|p\.m|[a-z])\.$/i;
const SENTENCE_END = /[.!?…]["'”’)\]]*(?=\s|$)|[。！？]["'”’」』]*|\n+/g;
const CLAUSE_END = /[,;:–—](?=\s)|[、，；：]/g;

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

/** Whether a piece has a letter or a digit. */
export function isSpeakable(piece: string): boolean {
  return /[\p{L}\p{N}]/u.test(piece);
}

function sentenceEnd(text: string): number | undefined {
  for (const match of text.matchAll(SENTENCE_END)) {
    const end = match.index + match[0].length;
    if (match[0].startsWith('.') && !endsSentence(text, match.index)) continue;
    if (isSpeakable(text.slice(0, end))) return end;
  }
  return undefined;
}

/** Whether the full stop at `index` ends a sentence, not an abbreviation or (at the end so far) a number. */
function endsSentence(text: string, index: number): boolean {
  const upTo = text.slice(0, index + 1);
  if (ABBREVIATION.test(upTo)) return false;
  return index + 1 < text.length || /\p{L}{2}\.$/u.test(upTo);
}

function clauseEnd(text: string): number | undefined {
  for (const match of text.matchAll(CLAUSE_END)) {
    const end = match.index + match[0].length;
    if (end >= MIN_CLAUSE_CHARS) return end;
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
