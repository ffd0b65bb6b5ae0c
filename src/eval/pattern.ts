import { faultOf, type Location } from '../schema/issues.js';

/** A condition on a text. */
export type TextTest = (text: string) => boolean;

/**
 * Compiles a pattern of a suite: `/…/flags` is a regular expression; all else is words that the text contains, whatever
 * their case, punctuation and spaces.
 * @param location where faults are
 * @throws InvalidConfigError for a broken regular expression
 */
export function textTest(pattern: string, location: Location = []): TextTest {
  const expression = /^\/(.+)\/([a-z]*)$/s.exec(pattern);
  if (expression === null) {
    const words = ` ${plainWords(pattern)} `;
    return (text) => ` ${plainWords(text)} `.includes(words);
  }
  try {
    const [, source = '', flags = ''] = expression;
    // A `g` would make the expression remember where it stopped.
    const regular = new RegExp(source, `${flags.replaceAll(/[gy]/g, '')}${flags.includes('i') ? '' : 'i'}`);
    return (text) => regular.test(text);
  } catch (error) {
    throw faultOf(location, `Not a regular expression: ${(error as Error).message}`);
  }
}

/** Lower case, without punctuation, one space between words; accents stay. */
export function plainWords(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/['’]/g, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
