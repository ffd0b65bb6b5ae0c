/** English number words, by value. */
export const UNITS = [
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen',
  'sixteen seventeen eighteen nineteen',
]
  .join(' ')
  .split(' ');
/** By tens; '' for those below twenty. */
export const TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
/** 0 to 19. */
export const ORDINALS =
  'zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth'.split(
    ' ',
  );

/** 21 as "twenty one"; whole numbers up to 999,999, others in digits. */
export function spokenNumber(value: number): string {
  if (!Number.isInteger(value) || value < 0 || value > 999_999) return String(value);
  if (value < 20) return UNITS[value] ?? '';
  if (value < 100) return join(TENS[Math.floor(value / 10)] ?? '', value % 10);
  if (value < 1000) return join(`${spokenNumber(Math.floor(value / 100))} hundred`, value % 100);
  return join(`${spokenNumber(Math.floor(value / 1000))} thousand`, value % 1000);
}

/** 21 as "twenty first"; 1 to 31. */
export function spokenOrdinal(value: number): string {
  if (value < 20) return ORDINALS[value] ?? '';
  if (value % 10 === 0) return value === 20 ? 'twentieth' : 'thirtieth';
  return `${TENS[Math.floor(value / 10)] ?? ''} ${ORDINALS[value % 10] ?? ''}`;
}

function join(head: string, rest: number): string {
  return rest === 0 ? head : `${head} ${spokenNumber(rest)}`;
}
