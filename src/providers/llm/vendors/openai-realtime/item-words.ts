/** Compares spoken words with their transcript. */

/** The words of a text, ignoring case and punctuation. */
function wordsOf(text: string): string[] {
  return found(text).map(({ word }) => word);
}

/** Whether a text contains all words of a part, in sequence. */
export function contains(text: string, part: string): boolean {
  const words = wordsOf(part);
  return words.length > 0 && ` ${wordsOf(text).join(' ')} `.includes(` ${words.join(' ')} `);
}

/** This many matching words are no coincidence. */
const SURE_WORDS = 3;

/**
 * Finds the speaker's own words, as far as they were heard, in `text`: returns the text before and after. Null = not
 * found.
 * @param own all of the speaker's words; the end may not have been heard
 */
export function followed(own: string, text: string): [before: string, behind: string] | null {
  const said = wordsOf(own);
  const written = found(text);
  if (said.length === 0 || written.length === 0) return null;
  for (let start = 0; start < written.length; start++) {
    let same = 0;
    while (same < said.length && said[same] === written[start + same]?.word) same++;
    const isWhole = same === said.length || start + same === written.length;
    if (same === 0 || (!isWhole && same < SURE_WORDS)) continue;
    const first = written[start]?.start ?? 0;
    const next = written[start + same]?.start ?? text.length;
    return [text.slice(0, first).trim(), text.slice(next).trim()];
  }
  return null;
}

/** In languages without spaces, each character is a word. */
const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;

function found(text: string): { word: string; start: number }[] {
  return [...text.matchAll(WORD)].map((match) => ({
    word: match[0].toLowerCase().replaceAll('’', "'"),
    start: match.index,
  }));
}
