import type { MediaEncoding } from './encodings.js';

/** How a carrier words what goes over its media socket: JSON in text messages, sound in base64. */
export interface MediaDialect {
  /**
   * A message of the carrier's.
   * @returns null for one that has no meaning here, though it may be right
   * @throws SyntaxError, ParleyError for what cannot be read
   */
  read(text: string): MediaMessage | null;
  /** Sound to be played behind what has been sent before. */
  media(streamId: string, payload: string): string;
  /** Asks for a report when everything sent before has been played; `name` contains no quotes. */
  mark(streamId: string, name: string): string;
  /** What has been sent and not been played is not to be played any more. */
  clear(streamId: string): string;
  /** Has keys pressed; `keys` has no quotes in it. Carriers whose media sockets cannot do that leave it out. */
  keys?(keys: string): string;
}

/** What a carrier tells over its media socket. */
export type MediaMessage =
  | {
      type: 'start';
      streamId: string;
      /** The carrier's own id of the call. */
      callId: string;
      encoding: MediaEncoding;
      sampleRateHz: number;
    }
  /** Sound of the far end, base64; `atMs`: its place on the stream's own clock, where the carrier tells one. */
  | { type: 'media'; payload: string; atMs: number | null }
  | { type: 'digits'; digits: string }
  /** Everything before a mark has been played, or been cleared. */
  | { type: 'mark'; name: string }
  /** The carrier ends the stream, which need not be the call's end. */
  | { type: 'stop' };
