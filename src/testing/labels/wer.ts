/** How far a transcript is from what was said. */
export interface WordErrors {
  /** Words put in, left out or replaced, at the least. */
  errors: number;
  /** Words that were said. */
  words: number;
}

/**
 * Word errors by edit distance (Levenshtein), as the speech community counts them; case and punctuation are ignored.
 * The word error rate is `errors / words`, and may be above 1.
 */
export function wordErrors(said: string, heard: string): WordErrors {
  const reference = plainWords(said);
  const hypothesis = plainWords(heard);
  let previous = hypothesis.map((_, index) => index + 1);
  previous.unshift(0);
  for (const [row, word] of reference.entries()) {
    const current = [row + 1];
    for (const [column, other] of hypothesis.entries()) {
      const replaced = (previous[column] as number) + (word === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] as number) + 1, (current[column] as number) + 1));
    }
    previous = current;
  }
  return { errors: previous[hypothesis.length] as number, words: reference.length };
}

/** The word error rate of many pairs together. 0 where nothing was said. */
export function wordErrorRate(pairs: Iterable<readonly [said: string, heard: string]>): number {
  let errors = 0;
  let words = 0;
  for (const [said, heard] of pairs) {
    const one = wordErrors(said, heard);
    errors += one.errors;
    words += one.words;
  }
  return words === 0 ? 0 : errors / words;
}

function plainWords(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[’`]/g, "'")
      .match(/[\p{L}\p{N}']+/gu) ?? []
  );
}
