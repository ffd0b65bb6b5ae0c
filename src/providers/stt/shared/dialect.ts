import type { ParleyError } from '../../../base/errors.js';
import type { VendorSocket, VendorSocketEvents } from '../../wire/vendor-socket.js';

/** A vendor's protocol for one stream; SocketStream handles the socket and the turns. */
export interface SttDialect {
  /** The URL to connect to. It may contain a key. */
  readonly address: { url: string; headers?: Readonly<Record<string, string>>; protocols?: readonly string[] };
  /** Joins a shared connection. Default: opens its own connection to `address`. */
  dial?(events: VendorSocketEvents): Pick<VendorSocket, 'send' | 'close'>;
  /** Sample rate of the audio for the vendor. */
  readonly sampleRateHz: number;
  /** Length of audio messages. */
  readonly chunkMs: number;
  /** Minimum message length of the vendor; shorter ones at the end of speech are padded with silence. Default 0. */
  readonly minChunkMs?: number;
  /** Sends only speech, from `leadMs` before the VAD's onset. Default: everything, including silence. */
  readonly leadMs?: number;
  /** The stream is ready only after `read` reports `ready`. Default: when connected. */
  readonly waitsForReady?: boolean;
  /** Delay of `finalize` after the end of speech, unless the final transcript has arrived. Default 0. */
  readonly finalizeAfterMs?: number;
  /** Each `finalize` is answered with one piece, which covers all audio since the previous one. */
  readonly onePieceEach?: boolean;
  /**
   * A transcript that is unchanged for this long after the end of speech counts as final: for vendors without final
   * results.
   */
  readonly quietMs?: number;
  /** Close codes for which a retry cannot succeed. */
  readonly refusingCodes?: ReadonlySet<number>;
  /** Sent before the connection is closed. */
  readonly farewell?: () => string;
  readonly keepAlive?: { afterMs: number; message: () => string };
  /** The first message. */
  greeting?(): readonly string[];
  /** One or more messages with 16-bit little-endian samples. */
  audio(pcm: Buffer): string | Uint8Array | readonly (string | Uint8Array)[];
  /**
   * Messages that request the final transcript. Empty = not supported; the vendor's own endpointing applies.
   * @param silenceMs length of the silence sent after the end of speech
   */
  finalize(silenceMs: number): readonly (string | Uint8Array)[];
  /** Parses a vendor message. Returns false if it is not part of the protocol. */
  read(message: string, tell: DialectEvents): boolean;
}

/** Times in milliseconds of audio sent. */
export interface VendorWord {
  text: string;
  startMs: number;
  endMs: number;
  confidence: number | null;
}

export interface DialectEvents {
  ready(): void;
  /** The vendor's transcript of a stretch of speech; replaces its earlier one. `key` numbers them. */
  piece(key: number, piece: VendorPiece): void;
  /** No word before `upToMs` will change or be added. Absent: this answers `finalize`. */
  finalized(upToMs?: number): void;
  /** Speech that was final has resumed. */
  reopened(): void;
  /** The probability of the vendor's own model that the user's turn is over, 0..1. */
  turnEnds(probability: number): void;
  failed(error: ParleyError): void;
}

export interface VendorPiece {
  text: string;
  isFinal: boolean;
  confidence?: number | null;
  words?: readonly VendorWord[];
}
