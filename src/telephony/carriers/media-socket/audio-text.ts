/**
 * Sound comes 50 times a second for each call: it is cut out of the text of its message, which takes a third of what
 * reading the whole of it does. What is written in an unusual way is left to those who read the whole.
 */

const SOUND = '"event":"media"';
const TRACK = '"track":"';
const PAYLOAD = '"payload":"';
const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACE = 0x7d;
const ZERO = 0x30;
/** Beyond this a number is none. */
const MOST_DIGITS = 12;

/** The far end's sound in a message, base64; null = there is none, or the message has to be looked at as a whole. */
export function cutPayload(text: string): string | null {
  if (!text.includes(SOUND) || text.charCodeAt(text.length - 1) !== BRACE) return null;
  const track = text.indexOf(TRACK);
  if (track >= 0 && text.startsWith('outbound', track + TRACK.length)) return null;
  const from = text.indexOf(PAYLOAD) + PAYLOAD.length;
  const to = text.indexOf('"', from);
  if (from < PAYLOAD.length || to < 0) return null;
  const payload = text.slice(from, to);
  return payload.includes('\\') ? null : payload;
}

/**
 * The whole number behind a key, in quotes or not; null = there is none, or it has to be looked for otherwise.
 * @param key with its quotes and its colon, such as `"chunk":`
 */
export function cutNumber(text: string, key: string): number | null {
  const found = text.indexOf(key);
  if (found < 0) return null;
  const isQuoted = text.charCodeAt(found + key.length) === QUOTE;
  const from = found + key.length + (isQuoted ? 1 : 0);
  let number = 0;
  let at = from;
  for (let digit = text.charCodeAt(at) - ZERO; digit >= 0 && digit <= 9; digit = text.charCodeAt(++at) - ZERO) {
    number = number * 10 + digit;
  }
  const end = text.charCodeAt(at);
  const isWhole = at > from && at - from <= MOST_DIGITS && (isQuoted ? end === QUOTE : end === COMMA || end === BRACE);
  return isWhole ? number : null;
}
