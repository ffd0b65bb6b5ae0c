/** What was heard in one turn of the user. */
export interface HeardWords {
  /** Final words that nothing will change. */
  settled: string;
  /** The words that the next transcript may replace. */
  latest: string;
  isFinal: boolean;
}

/**
 * The words after another transcript. It replaces the latest words; but after final ones only where it revises them,
 * which is where it begins alike: otherwise the user has gone on, and it comes after them.
 */
export function withWords(words: HeardWords, text: string, isFinal: boolean): HeardWords {
  const goesOn = words.isFinal && words.latest !== '' && firstWord(words.latest) !== firstWord(text);
  const settled = goesOn ? `${words.settled} ${words.latest}`.trim() : words.settled;
  return { settled, latest: text.trim(), isFinal };
}

function firstWord(text: string): string {
  return /[\p{L}\p{N}']+/u.exec(text)?.[0].toLowerCase() ?? '';
}
