/** Scripts that write without spaces, or join small words to others, and have short words: indexed by pairs of characters. */
const PAIRED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]+/gu;
/** Scripts that write without spaces and have long words: a dictionary divides them. */
const UNSPACED = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

const segmenters = new Map<string, Intl.Segmenter>();

/**
 * A text with spaces where the index is to see words, also in scripts that write none. Texts and queries go through
 * this alike.
 */
export function spaced(text: string): string {
  return text
    .normalize('NFKC')
    .replace(PAIRED, (run) => ` ${pairs(run).join(' ')} `)
    .replace(UNSPACED, (run) => ` ${divided(run).join(' ')} `);
}

/** The words of a spaced text, lower case and without the accents that the index ignores. */
export function wordsOf(text: string): string[] {
  return withoutAccents(spaced(text).toLowerCase()).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}

/** Only accents of Latin, Greek and Cyrillic letters: the marks of other scripts are vowels. */
function withoutAccents(text: string): string {
  return text
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '')
    .normalize('NFC');
}

function pairs(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => (characters[index] ?? '') + character);
}

function divided(run: string): string[] {
  const language = /\p{Script=Thai}/u.test(run)
    ? 'th'
    : /\p{Script=Lao}/u.test(run)
      ? 'lo'
      : /\p{Script=Khmer}/u.test(run)
        ? 'km'
        : 'my';
  let segmenter = segmenters.get(language);
  if (segmenter === undefined) {
    segmenter = new Intl.Segmenter(language, { granularity: 'word' });
    segmenters.set(language, segmenter);
  }
  return [...segmenter.segment(run)].map(({ segment }) => segment);
}
