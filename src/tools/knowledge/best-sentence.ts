import { sentences } from './chunker.js';
import type { Passage } from './knowledge.js';
import { textQuery } from './query.js';
import { wordsOf } from './words.js';

/** Longest answer that is said as it stands, in characters. */
const MAX_CHARS = 300;

/**
 * The sentence of the passages that says most of what was asked, for whoever cannot word an answer; null where none has
 * half of the question's words.
 */
export function bestSentence(question: string, language: string, passages: readonly Passage[]): string | null {
  const { stems } = textQuery(question, language);
  if (stems.length === 0) return null;
  let best: { text: string; score: number } | null = null;
  passages.forEach(({ text, heading }, rank) => {
    const above = covered(stems, heading ?? '');
    for (const sentence of sentences(text)) {
      if (sentence.length > MAX_CHARS) continue;
      const own = covered(stems, sentence);
      const together = new Set([...own, ...above]);
      if (own.size === 0 || together.size * 2 < stems.length) continue;
      // What is in the sentence itself counts more than what stands above it, an earlier passage more than a later one.
      const score = own.size + together.size / 2 - rank / 10;
      if (best === null || score > best.score) best = { text: sentence, score };
    }
  });
  return (best as { text: string } | null)?.text ?? null;
}

function covered(stems: readonly string[], text: string): Set<string> {
  const words = wordsOf(text);
  return new Set(stems.filter((stem) => words.some((word) => word.startsWith(stem))));
}
