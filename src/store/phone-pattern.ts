/** A search by phone number. */
export type PhonePattern =
  { kind: 'whole'; number: string } | { kind: 'begins'; start: string } | { kind: 'ends'; digits: string };

/** Spaces and separators between digits. */
const FORMATTING = /[\s().\-/]/g;

/**
 * Reads a search text and ignores formatting. `+1 (202) 555-0103` (or `001…`) is a whole number and `+1202*` a prefix.
 * Digits without a country code, such as `5550103`, are a suffix. A leading `0` of these is a national dialling prefix
 * and is ignored. Anything else, such as a SIP address, is taken literally.
 */
export function phonePattern(text: string): PhonePattern {
  const plain = text.replace(FORMATTING, '').replace(/^00(?=[1-9])/, '+');
  if (/^\+\d+\*$/.test(plain)) return { kind: 'begins', start: plain.slice(0, -1) };
  if (/^\d+$/.test(plain)) return { kind: 'ends', digits: plain.replace(/^0(?=\d)/, '') };
  return { kind: 'whole', number: /^\+\d+$/.test(plain) ? plain : text.trim() };
}

/** A reversed number, as `call_numbers` stores it. */
export function reversed(number: string): string {
  return [...number].toReversed().join('');
}
