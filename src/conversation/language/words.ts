/** Words of a transcript in comparable form: lower case, no punctuation, apostrophes kept. */
export function wordsOf(text: string): string[] {
  return (
    text
      .toLowerCase()
      .normalize('NFKC')
      .replaceAll('’', "'")
      .match(/[\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*/gu) ?? []
  );
}

/** Words and signs (`#`, `*`, `€`, `%`…) in comparable form: equal forms ask for the same answer. */
export function sameForm(text: string): string {
  return (text.toLowerCase().normalize('NFKC').replaceAll('’', "'").match(SAME) ?? []).join(' ');
}

const SAME = /[\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*|[\p{S}#*%&@]/gu;

/** The words of a list in one text, separated by white space. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ''));
}

/** The phrases of a list in one text, separated by commas. */
export function phraseSet(text: string): ReadonlySet<string> {
  return new Set(text.split(',').map((phrase) => phrase.trim().replaceAll(/\s+/g, ' ')));
}
