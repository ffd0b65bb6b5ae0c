import { belowHundred } from './number.js';
import type { Word } from './words.js';

/** Dictated digits: "five five five, oh one two", "double five", "plus four nine", "555 0123". */
export function digitsAt(words: readonly Word[], start: number): { digits: string; end: number } | null {
  let digits = '';
  let at = start;
  let end = start;
  while (at < words.length) {
    const word = words[at]?.text ?? '';
    if (/^\+?\d+$/.test(word)) {
      digits += digits === '' ? word : word.replace('+', '');
      at++;
    } else if (word === 'plus' && digits === '') {
      digits = '+';
      at++;
      continue;
    } else if (word === 'oh' || word === 'o') {
      digits += '0';
      at++;
    } else if (word === 'and' && digits !== '') {
      at++;
      continue;
    } else {
      const times = word === 'double' ? 2 : word === 'triple' ? 3 : 1;
      const from = times === 1 ? at : at + 1;
      const found = words[from]?.text === 'oh' ? { value: 0, end: from + 1 } : belowHundred(words, from);
      if (found === null || (times > 1 && found.value > 9)) break;
      digits += String(found.value).repeat(times);
      at = found.end;
    }
    end = at;
  }
  return /\d/.test(digits) ? { digits, end } : null;
}

/** Digits in groups of three, read one by one with short pauses: "5 5 5, 0 1 2". */
export function spokenDigits(digits: string): string {
  const groups = digits.replace('+', '').match(/\d{1,3}/g) ?? [];
  const spoken = groups.map((group) => [...group].join(' ')).join(', ');
  return digits.startsWith('+') ? `plus ${spoken}` : spoken;
}

/**
 * Whether the digits have the check digit of the numbers of cards (ISO/IEC 7812-1, annex B), and their length. One number
 * in ten also fits without its last digit: those that begin with 2, 4, 5 or 6 have at least 16 digits, with 34 or 37 they
 * have 15.
 */
export function isCardNumber(digits: string): boolean {
  if (!/^(?:[2456]\d{15,18}|3[47]\d{13}|(?!3[47])[013789]\d{11,18})$/.test(digits)) return false;
  const sum = [...digits].toReversed().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
