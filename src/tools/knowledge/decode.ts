/** Control characters that no text has. */
const CONTROL = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * The text of a text file: UTF-8, UTF-16 with its mark, or the Western single-byte encoding that older programs write.
 * @throws Error where it is no text
 */
export function decodeText(bytes: Uint8Array): string {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes).normalize('NFC');
  if (CONTROL.test(text)) throw new Error('it is not text');
  return text;
}

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}
