/** The distance of a transcript from the spoken words. */
export interface WordErrors {
  /** Smallest number of inserted, deleted and substituted words. */
  errors: number;
  /** Words of the reference. */
  words: number;
}

/**
 * Word errors by edit distance (Levenshtein), ignoring case and punctuation. The word error rate is `errors / words` and
 * may exceed 1.
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

/** The word error rate over many pairs; 0 if all references are empty. */
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
