import type { EngineTranscript } from '../../local/engine/engine-protocol.js';

/** A word with its times in milliseconds of the stream. */
export interface HeardWord {
  text: string;
  startMs: number;
  endMs: number;
  /** 0..1. */
  confidence: number | null;
}

/** Length of the last token, which no later one bounds. */
const LAST_PIECE_MS = 160;
/** A longer token ends in a pause. */
const LONGEST_PIECE_MS = 400;

/**
 * Joins a model's tokens into words: a SentencePiece token that begins a word has a leading space (or `▁`), a
 * Paraformer token that continues in the next ends in `@@`; each Chinese character is a word.
 * @returns none if the model gives no times, or the tokens do not add up to its text
 */
export function wordsOf({ text, tokens, timesS, logProbs }: EngineTranscript): HeardWord[] {
  if (tokens.length === 0 || tokens.length !== timesS.length) return [];
  const hasSpaces = tokens.some((token) => /^[▁\s]/u.test(token));
  const words: (HeardWord & { logProb: number; pieces: number })[] = [];
  let continues = false;
  for (const [index, token] of tokens.entries()) {
    const piece = token.replace(/^[▁\s]+/u, '').replace(/@@$/u, '');
    const startMs = 1000 * (timesS[index] ?? 0);
    const nextMs = index + 1 < timesS.length ? 1000 * (timesS[index + 1] ?? 0) : startMs + LAST_PIECE_MS;
    const endMs = Math.min(Math.max(nextMs, startMs), startMs + LONGEST_PIECE_MS);
    const isNew = hasSpaces ? /^[▁\s]/u.test(token) : !continues;
    continues = token.endsWith('@@');
    const last = words.at(-1);
    const logProb = logProbs[index] ?? Number.NaN;
    if (last === undefined || (isNew && last.text !== '')) {
      words.push({ text: piece, startMs, endMs, confidence: null, logProb, pieces: 1 });
    } else {
      last.text += piece;
      last.endMs = endMs;
      last.logProb += logProb;
      last.pieces++;
    }
  }
  const plain = (one: string): string => one.replaceAll(/[\s▁]/gu, '');
  if (plain(words.map((word) => word.text).join('')) !== plain(text)) return [];
  return words
    .filter((word) => word.text !== '')
    .map(({ logProb, pieces, ...word }) => ({
      ...word,
      confidence: Number.isNaN(logProb) ? null : Math.exp(Math.min(0, logProb / pieces)),
    }));
}

/** The model's confidence in the whole text, 0..1; null = unknown. */
export function confidenceOf({ logProbs }: EngineTranscript): number | null {
  if (logProbs.length === 0) return null;
  return Math.exp(Math.min(0, logProbs.reduce((sum, one) => sum + one, 0) / logProbs.length));
}

/** Models that know capitals only mean nothing by them. */
export function readable(text: string): string {
  const isShouted = /\p{Lu}/u.test(text) && !/\p{Ll}/u.test(text);
  return (isShouted ? text.toLowerCase() : text).trim();
}
