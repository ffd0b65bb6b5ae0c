import type { MediaDialect, MediaMessage } from './dialect.js';
import { base64Bytes } from './encodings.js';
import type { MessageFields } from './message-fields.js';
import { cutNumber, cutPayload } from './audio-text.js';

/** A message of a carrier that numbers its pieces of sound: 1, 2, 3 …; 0 = this one has no number. */
export type SequencedMessage =
  Exclude<MediaMessage, { type: 'media' }> | { type: 'sound'; payload: string; chunk: number };

const CHUNK = '"chunk":';
/** The most missing pieces that are believed. */
const MOST_MISSING = 100;
/** Nobody sends so much sound in one piece. */
const MOST_MS = 1_000;

/**
 * Reads the messages of one stream after the other, and gives sound its place by the number of its piece, all pieces
 * being of one length: for carriers whose timestamps are not those of the sound.
 *
 * @param read what is not sound, and sound that is written in an unusual way
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

/** Null = it has to be looked at as a whole. */
function cutSound(text: string): SequencedMessage | null {
  const payload = cutPayload(text);
  const chunk = payload === null ? null : cutNumber(text, CHUNK);
  return payload === null || chunk === null ? null : { type: 'sound', payload, chunk };
}
