import type { MediaEncoding } from './encodings.js';

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
