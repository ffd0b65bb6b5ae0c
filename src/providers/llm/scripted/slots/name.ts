import type { Word } from '../words.js';
import { belowHundred } from './number.js';
import { capital, weekdayNamed } from './date.js';

const MAX_NAME_WORDS = 4;

/** Words that end a name: what people go on with, and answers that are no name. */
const NO_NAME = new Set(
  (
    'a an and are at but by can could do does for from get give have hello here hi how i if in is it just kind make me ' +
    'my name named need no nope not of okay on or our people persons please right say so sorry sure table thank thanks ' +
    'that the then there they this time to today tomorrow tonight under wait was we what when where which who why will ' +
    'with would yeah yep yes you your oh mmhm huh well good great fine party pm am actually cancel change correction ' +
    'excuse instead maybe nobody nothing pardon wrong put down book reserve write'
  ).split(' '),
);

/** The longest name at a position, "Anna Maria Miller" or spelled "m i l l e r", as the position behind it. */
export function nameEnd(words: readonly Word[], start: number): number | null {
  const spelled = spelledEnd(words, start);
  if (spelled !== null) return spelled;
  let end = start;
  while (end < words.length && end - start < MAX_NAME_WORDS && isNamePart(words, end)) end++;
  return end > start ? end : null;
}

/** The name as it is written: capitals, spelled letters put together. */
export function nameText(words: readonly Word[]): string {
  if (words.length >= 3 && words.every((word) => word.text.length === 1)) {
    return capital(words.map((word) => word.text).join(''));
  }
  const full = words.length > 2 && words[0]?.text === words.at(-1)?.text ? words.slice(1) : words; // "Bond, James Bond"
  return full.map(({ raw }) => (raw === raw.toLowerCase() ? raw.split("'").map(capital).join("'") : raw)).join(' ');
}

function isNamePart(words: readonly Word[], at: number): boolean {
  const text = words[at]?.text ?? '';
  if (!/^[\p{L}][\p{L}']*$/u.test(text) || NO_NAME.has(text)) return false;
  return weekdayNamed(text) < 0 && belowHundred(words, at) === null;
}

function spelledEnd(words: readonly Word[], start: number): number | null {
  let end = start;
  while (/^\p{L}$/u.test(words[end]?.text ?? '')) end++;
  return end - start >= 3 ? end : null;
}
