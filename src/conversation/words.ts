/** Words of a transcript in a form that can be compared: lower case, no punctuation, apostrophes kept. */
export function wordsOf(text: string): string[] {
  return (
    text
      .toLowerCase()
      .normalize('NFKC')
      .replaceAll('’', "'")
      .match(/[\p{L}\p{N}]+(?:['-][\p{L}\p{N}]+)*/gu) ?? []
  );
}

/** The language without its region: `en` for `en-US`. */
export function baseLanguage(language: string): string {
  return language.split('-')[0] ?? language;
}
