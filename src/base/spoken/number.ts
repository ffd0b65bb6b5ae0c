import { ORDINALS, TENS, UNITS } from '../spoken-number.js';
import type { Word } from './words.js';

const TENS_ORDINALS: Readonly<Record<string, number>> = { twentieth: 20, thirtieth: 30 };
const UNIT_OF = new Map(UNITS.map((word, value) => [word, value]));
const TEN_OF = new Map(TENS.map((word, value) => [word, value * 10] as const).filter(([word]) => word !== ''));
const ORDINAL_OF = new Map(ORDINALS.map((word, value) => [word, value]));

/** A number that was found, and the position after it. */
export interface Found {
  value: number;
  end: number;
}

/** "four", "4", "twenty one", "a hundred and five", "a couple", "half a dozen", "two dozen" at a position; up to 999,999. */
export function numberAt(words: readonly Word[], start: number): Found | null {
  const word = words[start]?.text ?? '';
  const next = words[start + 1]?.text;
  if (word === 'a' || word === 'one') {
    if (next === 'couple') return { value: 2, end: start + (words[start + 2]?.text === 'of' ? 3 : 2) };
    if (next === 'dozen') return { value: 12, end: start + 2 };
  }
  if (word === 'half') {
    const dozen = next === 'a' ? start + 2 : start + 1;
    return words[dozen]?.text === 'dozen' ? { value: 6, end: dozen + 1 } : null;
  }
  if (word === 'dozen') return { value: 12, end: start + 1 };
  const thousands = belowThousand(words, start);
  if (thousands === null) return null;
  if (words[thousands.end]?.text === 'dozen') return { value: thousands.value * 12, end: thousands.end + 1 };
  if (words[thousands.end]?.text !== 'thousand') return thousands;
  const rest = belowThousand(words, thousands.end + 1);
  const value = thousands.value * 1000;
  return rest === null ? { value, end: thousands.end + 1 } : { value: value + rest.value, end: rest.end };
}

function belowThousand(words: readonly Word[], start: number): Found | null {
  const first = words[start]?.text === 'a' && words[start + 1]?.text === 'hundred' ? 1 : null;
  const head = first === null ? belowHundred(words, start) : { value: 1, end: start + 1 };
  if (head === null || words[head.end]?.text !== 'hundred') return head;
  let at = head.end + 1;
  if (words[at]?.text === 'and') at++;
  const rest = belowHundred(words, at);
  if (rest === null) return { value: head.value * 100, end: head.end + 1 };
  return { value: head.value * 100 + rest.value, end: rest.end };
}

/** Number words as recognisers write them when nothing else is said. */
const SOUNDS_LIKE: Readonly<Record<string, string>> = {
  won: 'one',
  to: 'two',
  too: 'two',
  for: 'four',
  fore: 'four',
  ate: 'eight',
};
/** Words before the number in an answer that holds nothing else. */
const ANSWER_LEADS = new Set(
  'it is that would will be there for just only table we are oh well at about around yes yeah maybe a party of'.split(
    ' ',
  ),
);
const AFTER_NUMBER = new Set('please people persons guests adults thanks thank you'.split(' '));

/**
 * An answer that is a number only by its sound, "for", "that would be for", "to people": the words with the number in
 * place, and its position. Null for others, such as "I want to".
 * @param counted words that the question counts, such as "loaves"
 */
export function soundedNumber(
  words: readonly Word[],
  counted: ReadonlySet<string>,
): { words: readonly Word[]; start: number } | null {
  let start = words.length - 1;
  const follows = ({ text }: Word): boolean => AFTER_NUMBER.has(text) || (counted.has(text) && !(text in SOUNDS_LIKE));
  while (start > 0 && follows(words[start]!)) start--;
  const number = SOUNDS_LIKE[words[start]?.text ?? ''];
  if (number === undefined || !words.slice(0, start).every((word) => ANSWER_LEADS.has(word.text))) return null;
  return { words: words.with(start, { text: number, raw: number }), start };
}

/** "seven", "07", "twenty one": a number as in times, without hundreds. Digits up to six. */
export function belowHundred(words: readonly Word[], start: number): Found | null {
  const word = words[start]?.text ?? '';
  if (/^\d{1,6}$/.test(word)) return { value: Number(word), end: start + 1 };
  const unit = UNIT_OF.get(word);
  if (unit !== undefined) return { value: unit, end: start + 1 };
  const ten = TEN_OF.get(word);
  if (ten === undefined) return null;
  const low = UNIT_OF.get(words[start + 1]?.text ?? '');
  return low !== undefined && low >= 1 && low <= 9
    ? { value: ten + low, end: start + 2 }
    : { value: ten, end: start + 1 };
}

/** "third", "3rd", "twenty first" at a position; 1 to 31. */
export function ordinalAt(words: readonly Word[], start: number): Found | null {
  const word = words[start]?.text ?? '';
  const digits = /^(\d{1,2})(?:st|nd|rd|th)$/.exec(word);
  if (digits !== null) return inMonth(Number(digits[1]), start + 1);
  const single = ORDINAL_OF.get(word) ?? TENS_ORDINALS[word];
  if (single !== undefined) return inMonth(single, start + 1);
  const ten = TEN_OF.get(word);
  const low = ORDINAL_OF.get(words[start + 1]?.text ?? '');
  return ten !== undefined && low !== undefined && low <= 9 ? inMonth(ten + low, start + 2) : null;
}

function inMonth(value: number, end: number): Found | null {
  return value >= 1 && value <= 31 ? { value, end } : null;
}
