import { decodeG711, encodeG711, type G711Law } from '../../../audio/codecs/g711.js';
import { pcmBytes, PcmReader } from '../../../transports/pcm.js';

/** The format of a carrier's media socket messages: JSON in text messages, audio in base64. */
export interface MediaDialect {
  /**
   * Parses a message of the carrier.
   * @returns null for a valid message without meaning here
   * @throws SyntaxError, ParleyError for an invalid one
   */
  read(text: string): MediaMessage | null;
  /** Audio to append to the playback. */
  media(streamId: string, payload: string): string;
  /** Requests a report when all audio sent before has been played; `name` contains no quotes. */
  mark(streamId: string, name: string): string;
  /** Drops sent audio that has not been played. */
  clear(streamId: string): string;
  /** Presses keys; `keys` contains no quotes. Omitted if the media socket does not support it. */
  keys?(keys: string): string;
}

/** The carrier's messages over its media socket. */
export type MediaMessage =
  | {
      type: 'start';
      streamId: string;
      /** The carrier's id of the call. */
      callId: string;
      encoding: MediaEncoding;
      sampleRateHz: number;
    }
  /** Audio of the far end, base64; `atMs`: its position on the stream's clock, if known. */
  | { type: 'media'; payload: string; atMs: number | null }
  | { type: 'digits'; digits: string }
  /** Everything before a mark has been played or cleared. */
  | { type: 'mark'; name: string }
  /** The carrier ends the stream; the call may continue. */
  | { type: 'stop' };

/** Encoding of audio on a media socket; `l16` is signed PCM, little-endian. */
export type MediaEncoding = 'mulaw' | 'alaw' | 'l16';

/** Encodes samples to the base64 text of a message. */
export function encodePayload(encoding: MediaEncoding, samples: Int16Array): string {
  return encoding === 'l16' ? pcmBytes(samples).toString('base64') : companded(encoding, samples);
}

/** Decodes base64 text to samples; none if it is invalid; an odd last byte of `l16` is left out. Never throws. */
export function decodePayload(encoding: MediaEncoding, payload: string): Int16Array {
  const bytes = Buffer.from(payload, 'base64');
  // Node skips characters that are not base64.
  if (bytes.length !== base64Bytes(payload)) return new Int16Array(0);
  return encoding === 'l16' ? new PcmReader().read(bytes) : decodeG711(encoding, bytes);
}

/** Number of bytes of a base64 text. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

function companded(law: G711Law, samples: Int16Array): string {
  const codes = Buffer.allocUnsafe(samples.length);
  encodeG711(law, samples, codes);
  return codes.toString('base64');
}
