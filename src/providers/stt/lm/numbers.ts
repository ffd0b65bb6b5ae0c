/** Numbers as English words, the way a caller says them. */
const SMALL = (
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen ' +
  'seventeen eighteen nineteen'
).split(' ');
const TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
const ORDINALS: Readonly<Record<string, string>> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

/** Words of a whole number from 0 to 999,999: 342 is "three hundred and forty two". */
export function cardinalWords(value: number): string[] {
  if (!Number.isInteger(value) || value < 0 || value > 999_999) throw new RangeError(`No words for ${String(value)}`);
  if (value < 20) return [SMALL[value] as string];
  if (value < 100) {
    const rest = value % 10;
    return [TENS[Math.floor(value / 10)] as string, ...(rest === 0 ? [] : cardinalWords(rest))];
  }
  if (value < 1000) {
    const rest = value % 100;
    return [
      SMALL[Math.floor(value / 100)] as string,
      'hundred',
      ...(rest === 0 ? [] : ['and', ...cardinalWords(rest)]),
    ];
  }
  const rest = value % 1000;
  return [...cardinalWords(Math.floor(value / 1000)), 'thousand', ...(rest === 0 ? [] : cardinalWords(rest))];
}

/** Words of a rank: 23 is "twenty third". */
export function ordinalWords(value: number): string[] {
  const words = cardinalWords(value);
  const last = words.pop() as string;
  return [...words, ORDINALS[last] ?? (last.endsWith('y') ? `${last.slice(0, -1)}ieth` : `${last}th`)];
}

/** A string of digits, one by one. */
export function digitWords(digits: string): string[] {
  return Array.from(digits, (digit) => SMALL[Number(digit)] as string);
}

/** A year as it is spoken: 1995 is "nineteen ninety five", 2008 "two thousand eight". */
export function yearWords(year: number): string[] {
  const century = Math.floor(year / 100);
  const rest = year % 100;
  if (year >= 2000 && year < 2010) return ['two', 'thousand', ...(rest === 0 ? [] : cardinalWords(rest))];
  if (rest === 0) return [...cardinalWords(century), 'hundred'];
  return [...cardinalWords(century), ...(rest < 10 ? ['oh'] : []), ...cardinalWords(rest)];
}

/** A clock time: 19:30 is "seven thirty", 7:05 "seven oh five", 12:00 "twelve". */
export function clockWords(hour: number, minute: number): string[] {
  const hourWords = cardinalWords(hour % 12 === 0 ? 12 : hour % 12);
  if (minute === 0) return hourWords;
  return [...hourWords, ...(minute < 10 ? ['oh'] : []), ...cardinalWords(minute)];
}
