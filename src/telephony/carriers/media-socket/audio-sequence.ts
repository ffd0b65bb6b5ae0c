import { type MediaDialect, type MediaMessage, base64Bytes } from './dialect.js';
import type { MessageFields } from './message-fields.js';

/** A message of a carrier that numbers its audio: 1, 2, 3 …; 0 = without a number. */
export type SequencedMessage =
  Exclude<MediaMessage, { type: 'media' }> | { type: 'sound'; payload: string; chunk: number };

const CHUNK = '"chunk":';
/** Maximum number of missing messages to accept. */
const MOST_MISSING = 100;
/** Longest audio in one message. */
const MOST_MS = 1_000;

/**
 * Reads the messages of consecutive streams, and computes the position of audio from its number, if all messages are
 * equally long: for carriers whose timestamps are not positions.
 *
 * @param read parses other messages, and unusual ones
 */
export function sequenceReader(read: (text: string) => SequencedMessage | null): MediaDialect['read'] {
  let bytesPerMs = 8;
  let last = { chunk: 0, endMs: 0 };
  const placed = (payload: string, chunk: number): MediaMessage => {
    const lengthMs = base64Bytes(payload) / bytesPerMs;
    if (chunk === 0 || lengthMs > MOST_MS) return { type: 'media', payload, atMs: null };
    const missing = chunk - last.chunk - 1;
    const atMs = last.endMs + (missing > 0 && missing <= MOST_MISSING ? missing * lengthMs : 0);
    last = { chunk, endMs: atMs + lengthMs };
    return { type: 'media', payload, atMs };
  };
  return (text) => {
    const message = cutSound(text) ?? read(text);
    if (message === null) return null;
    if (message.type === 'sound') return placed(message.payload, message.chunk);
    if (message.type === 'start') {
      bytesPerMs = ((message.encoding === 'l16' ? 2 : 1) * message.sampleRateHz) / 1000;
      last = { chunk: 0, endMs: 0 };
    }
    return message;
  };
}

/** The sound in a whole message; null = it is our own, coming back. */
export function soundIn(message: Partial<Record<string, unknown>>, fields: MessageFields): SequencedMessage | null {
  const { track, payload, chunk } = fields.objectIn(message, 'media');
  if (track === 'outbound' || track === 'outbound_track') return null;
  const number = Number(chunk);
  return {
    type: 'sound',
    payload: fields.text(payload, 'media.payload'),
    chunk: Number.isSafeInteger(number) && number > 0 ? number : 0,
  };
}

/** Null = use the full parser. */
function cutSound(text: string): SequencedMessage | null {
  const payload = cutPayload(text);
  const chunk = payload === null ? null : cutNumber(text, CHUNK);
  return payload === null || chunk === null ? null : { type: 'sound', payload, chunk };
}

/**
 * Audio arrives 50 times a second per call: cutting it out of the message's text takes a third of the time of parsing
 * it. Unusual messages go to the full parser.
 */

const SOUND = '"event":"media"';
const TRACK = '"track":"';
const PAYLOAD = '"payload":"';
const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACE = 0x7d;
const ZERO = 0x30;
/** Maximum length of a number. */
const MOST_DIGITS = 12;

/** The far end's audio in a message, base64; null = none, or the message needs the full parser. */
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
 * The integer after a key, quoted or not; null = none, or the message needs the full parser.
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
