/** What a phone number is searched by. */
export type PhonePattern =
  { kind: 'whole'; number: string } | { kind: 'begins'; start: string } | { kind: 'ends'; digits: string };

/** Spaces, and what stands between digits for reading. */
const FORMATTING = /[\s().\-/]/g;

/**
 * Reads a number as people write it, formatting left aside: `+1 (202) 555-0103` (or `001…`) is that number, `+1202*` all
 * that begin so, and digits without a country's code all that end so (`5550103`; a `0` in front is the country's own way
 * to dial and is left aside, too). Anything else is what it is, such as a SIP address.
 */
export function phonePattern(text: string): PhonePattern {
  const plain = text.replace(FORMATTING, '').replace(/^00(?=[1-9])/, '+');
  if (/^\+\d+\*$/.test(plain)) return { kind: 'begins', start: plain.slice(0, -1) };
  if (/^\d+$/.test(plain)) return { kind: 'ends', digits: plain.replace(/^0(?=\d)/, '') };
  return { kind: 'whole', number: /^\+\d+$/.test(plain) ? plain : text.trim() };
}

/** A number from behind, as `call_numbers` keeps it. */
export function reversed(number: string): string {
  return [...number].toReversed().join('');
}
