/** Comparing what was said with what is written of it. */

/** The words of a text, without regard to case and punctuation. */
function wordsOf(text: string): string[] {
  return found(text).map(({ word }) => word);
}

/** Whether a text has all the words of a part of it, in one row. */
export function contains(text: string, part: string): boolean {
  const words = wordsOf(part);
  return words.length > 0 && ` ${wordsOf(text).join(' ')} `.includes(` ${words.join(' ')} `);
}

/** More words that agree are no coincidence. */
const SURE_WORDS = 3;

/**
 * Where in `text` somebody's own words, as far as they were heard, stand: what lies before them, and behind. Null = nowhere.
 * @param own all that they said; its end may not have been heard
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

/** Languages without spaces have characters for words. */
const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;

function found(text: string): { word: string; start: number }[] {
  return [...text.matchAll(WORD)].map((match) => ({
    word: match[0].toLowerCase().replaceAll('’', "'"),
    start: match.index,
  }));
}
