import type { Word } from '../words.js';
import { belowHundred } from './number.js';

/** Digits that were dictated: "five five five, oh one two", "double five", "plus four nine", "555 0123". */
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

/** Digits in threes, so that they are read one by one with small pauses: "5 5 5, 0 1 2". */
export function spokenDigits(digits: string): string {
  const groups = digits.replace('+', '').match(/\d{1,3}/g) ?? [];
  const spoken = groups.map((group) => [...group].join(' ')).join(', ');
  return digits.startsWith('+') ? `plus ${spoken}` : spoken;
}
