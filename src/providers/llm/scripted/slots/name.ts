import type { Word } from '../../../../base/spoken/words.js';
import { capital, weekdayNamed } from '../../../../base/spoken/date.js';
import { belowHundred } from '../../../../base/spoken/number.js';

export interface FoundName {
  name: string;
  end: number;
  spelled: boolean;
}

const MAX_NAME_WORDS = 4;
/** Fewer letters in a row are initials. */
const MIN_SPELLED = 3;

/** Words that end a name: conjunctions and the like, and answers that are not names. */
const NO_NAME = new Set(
  (
    'a an and are at but by can could do does for from get give have hello here hi how i if in is it just kind make me ' +
    'my name named need no nope not of okay on or our people persons please right say so sorry sure table thank thanks ' +
    'that the then there they this time to today tomorrow tonight under wait was we what when where which who why will ' +
    'with would yeah yep yes you your oh mmhm huh well good great fine party pm am actually cancel change correction ' +
    'excuse instead maybe nobody nothing pardon wrong put down book reserve write be use us let go like as obviously ' +
    'spelled spelt spelling surname first last double'
  ).split(' '),
);

/** Between a name and its letters. */
const SPELLED = new Set(['spelled', 'spelt', 'spelling', 'that', 'is', 'it', 'which', 'letters']);

/** Words that recognisers write for the name of a letter. */
const LETTER_NAMES: Readonly<Record<string, string>> = {
  ay: 'a', be: 'b', bee: 'b', see: 'c', sea: 'c', cee: 'c', dee: 'd', ee: 'e', eff: 'f', gee: 'g', aitch: 'h', eye: 'i',
  jay: 'j', kay: 'k', okay: 'k', el: 'l', ell: 'l', em: 'm', en: 'n', oh: 'o', owe: 'o', pea: 'p', pee: 'p', cue: 'q',
  queue: 'q', are: 'r', ar: 'r', ess: 's', tea: 't', tee: 't', you: 'u', vee: 'v', ex: 'x', why: 'y', zee: 'z', zed: 'z',
}; // prettier-ignore

/** The ICAO alphabet, with common spellings of recognisers. */
const ICAO =
  'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu'.split(
    ' ',
  );

interface Letters {
  text: string;
  end: number;
}

/**
 * The longest name at a position: "Anna Maria Miller", spelled "m i double l e r", "n for Nora, o for Otto", or both:
 * "Novak, n o v a k", where the letters decide.
 */
export function nameAt(words: readonly Word[], start: number): FoundName | null {
  const letters = lettersAt(words, start, letterAt);
  if (letters !== null) return { name: capital(letters.text), end: letters.end, spelled: true };
  let end = start;
  while (end < words.length && end - start < MAX_NAME_WORDS && isNamePart(words, end)) {
    if (end > start && lettersAt(words, end, letterAt) !== null) break;
    end++;
  }
  if (end === start) return null;
  let at = end;
  while (SPELLED.has(words[at]?.text ?? '')) at++;
  const spelled = lettersAt(words, at, letterAt);
  const said = words.slice(start, spelled === null ? end : end - 1);
  if (spelled === null) return { name: nameText(said), end, spelled: false };
  return { name: `${nameText(said)} ${capital(spelled.text)}`.trim(), end: spelled.end, spelled: true };
}

/**
 * A name spelled with words that sound like letters ("see oh oh p e are"), for an answer that is nothing else. Null
 * unless at least one word is a letter.
 */
export function soundedName(words: readonly Word[], start: number): FoundName | null {
  const letters = lettersAt(words, start, soundedLetterAt);
  if (letters?.end !== words.length) return null;
  const hasLetter = words.slice(start).some((word) => /^[b-hj-z]$/.test(word.text));
  return hasLetter ? { name: capital(letters.text), end: letters.end, spelled: true } : null;
}

/** The name as written: capitalised. */
function nameText(words: readonly Word[]): string {
  const full = words.length > 2 && words[0]?.text === words.at(-1)?.text ? words.slice(1) : words; // "Bond, James Bond"
  return full.map(({ raw }) => (raw === raw.toLowerCase() ? raw.split("'").map(capital).join("'") : raw)).join(' ');
}

function isNamePart(words: readonly Word[], at: number): boolean {
  const text = words[at]?.text ?? '';
  if (!/^[\p{L}][\p{L}']*$/u.test(text) || NO_NAME.has(text)) return false;
  return weekdayNamed(text) < 0 && belowHundred(words, at) === null;
}

type ReadLetter = (words: readonly Word[], at: number) => Letters | null;

/** At least three letters in a row. */
function lettersAt(words: readonly Word[], start: number, read: ReadLetter): Letters | null {
  let text = '';
  let end = start;
  for (let next = read(words, end); next !== null; next = read(words, end)) {
    text += next.text;
    end = next.end;
  }
  return text.length >= MIN_SPELLED ? { text, end } : icaoAt(words, start);
}

/** "m", "double l", "d for david", "d as in david". */
function letterAt(words: readonly Word[], at: number): Letters | null {
  const text = (offset: number): string => words[at + offset]?.text ?? '';
  if (text(0) === 'double') {
    if (text(1) === 'u' || text(1) === 'you') return { text: 'w', end: at + 2 };
    return isLetter(text(1)) ? { text: text(1).repeat(2), end: at + 2 } : null;
  }
  if (!isLetter(text(0))) return null;
  const link = text(1) === 'as' && text(2) === 'in' ? 2 : text(1) === 'for' || text(1) === 'like' ? 1 : 0;
  const example = text(link + 1);
  const named = link > 0 && example.length > 1 && example.startsWith(text(0));
  return { text: text(0), end: at + (named ? link + 2 : 1) };
}

function soundedLetterAt(words: readonly Word[], at: number): Letters | null {
  const letter = letterAt(words, at);
  const sounded = LETTER_NAMES[words[at]?.text ?? ''];
  return letter ?? (sounded === undefined ? null : { text: sounded, end: at + 1 });
}

function icaoAt(words: readonly Word[], start: number): Letters | null {
  let end = start;
  while (ICAO.includes(words[end]?.text ?? '')) end++;
  if (end - start < MIN_SPELLED) return null;
  return { text: words.slice(start, end).map((word) => word.text.charAt(0)).join(''), end }; // prettier-ignore
}

function isLetter(text: string): boolean {
  return /^\p{L}$/u.test(text);
}
