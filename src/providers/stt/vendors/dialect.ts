import type { ParleyError } from '../../../base/errors.js';
import type { VendorSocket, VendorSocketEvents } from '../../wire/vendor-socket.js';

/** What a vendor's protocol says and understands, of one stream; the socket and the turns are SocketStream's. */
export interface SttDialect {
  /** Where to connect. The address may hold a key. */
  readonly address: { url: string; headers?: Readonly<Record<string, string>>; protocols?: readonly string[] };
  /** Takes part in a connection that others use too. Default: a connection of its own to `address`. */
  dial?(events: VendorSocketEvents): Pick<VendorSocket, 'send' | 'close'>;
  /** Rate that the vendor is sent audio at. */
  readonly sampleRateHz: number;
  /** Audio is sent in messages of this length. */
  readonly chunkMs: number;
  /** Shortest message that the vendor takes; shorter ones at the end of speech are filled with silence. Default 0. */
  readonly minChunkMs?: number;
  /** Only speech is sent, from `leadMs` before the VAD heard it on. Default: everything, silence too. */
  readonly leadMs?: number;
  /** The stream may be used only when `read` has told `ready`. Default: when the connection stands. */
  readonly waitsForReady?: boolean;
  /** The stream is asked for its final words this long after speech has stopped, unless they have come. Default 0. */
  readonly finalizeAfterMs?: number;
  /** Each `finalize` is answered with one piece, which is all that was sent since the one before. */
  readonly onePieceEach?: boolean;
  /** Words that stand still for so long after the end of speech are final: for vendors that never say that they are. */
  readonly quietMs?: number;
  /** Close codes of the vendor's that trying again cannot help against. */
  readonly refusingCodes?: ReadonlySet<number>;
  /** Sent before the connection is closed. */
  readonly farewell?: () => string;
  readonly keepAlive?: { afterMs: number; message: () => string };
  /** Sent first of all. */
  greeting?(): readonly string[];
  /** The message with 16-bit little-endian samples, or several where something comes before it. */
  audio(pcm: Buffer): string | Uint8Array | readonly (string | Uint8Array)[];
  /**
   * Messages that ask for the final words of all that was sent. Empty = there is no such thing, and the vendor's own
   * end of an utterance is waited for.
   * @param silenceMs of what was sent, so much came after the end of speech
   */
  finalize(silenceMs: number): readonly (string | Uint8Array)[];
  /** A message of the vendor's. Returns false where it is none of the protocol's. */
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
  /** What the vendor makes of a stretch of speech; it replaces what it made of it before. `key` counts them. */
  piece(key: number, piece: VendorPiece): void;
  /**
   * No word before `upToMs` will change or be added. Left out: that is the answer to what `finalize` asked.
   */
  finalized(upToMs?: number): void;
  /** What was said to be final goes on after all. */
  reopened(): void;
  /** How likely the vendor's own model thinks it that the user's turn is over, 0..1. */
  turnEnds(probability: number): void;
  failed(error: ParleyError): void;
}

export interface VendorPiece {
  text: string;
  isFinal: boolean;
  confidence?: number | null;
  words?: readonly VendorWord[];
}
