import type { SpeechHints } from '../stt.js';

/** Words to favour, highest weight first, without those of weight 0 or less. */
export function favoured({ keywords }: SpeechHints, limit: number): readonly (readonly [string, number])[] {
  return [...keywords]
    .filter(([word, weight]) => weight > 0 && word.trim() !== '')
    .sort(([, a], [, b]) => b - a)
    .slice(0, limit)
    .map(([word, weight]) => [word.trim(), weight]);
}

export function favouredWords(hints: SpeechHints, limit: number, maxChars = 100): string[] {
  return favoured(hints, limit)
    .map(([word]) => word)
    .filter((word) => word.length <= maxChars);
}
