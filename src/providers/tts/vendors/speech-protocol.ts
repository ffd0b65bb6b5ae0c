import type { VendorVoiceSettings } from './vendor-voice.js';
import type { TimedText } from './word-aligner.js';

/**
 * How one vendor's WebSocket is spoken with: plain data in and out, no sockets. Utterances are told apart by ids of
 * ours; where a vendor has no such thing, one utterance at a time runs on a connection, and events leave the id out.
 */
export interface SpeechProtocol {
  /** One of its own for each connection, where something is to be remembered of it. Default: one for all. */
  forConnection?(): SpeechProtocol;
  /** 16 bit, mono. */
  readonly sampleRateHz: number;
  /** Utterances at once on one connection. */
  readonly concurrent: number;
  /** Utterances that may be asked for within a minute on one connection. Default: no limit. */
  readonly perMinute?: number;
  /** What tells that an utterance that was taken back is over: until then it counts. */
  readonly cancelEnds: 'at once' | 'done' | 'cancelled';
  /** Sent where nothing else was for so long. Left out: the vendor has nothing to send. */
  readonly keepAlive?: { afterMs: number; message: () => string };
  /** Sent before the connection is closed. */
  readonly farewell?: string;
  /** Where the voice is spoken, `ws:` or `wss:`: utterances with the same address share connections. */
  address(voice: VendorVoiceSettings): string;
  /** What of a voice is told when a connection begins, beside its address: connections differ in it too. Default nothing. */
  bound?(voice: VendorVoiceSettings): string;
  headers(): Readonly<Record<string, string>>;
  /** What is sent first on a new connection. Default nothing. */
  hello?(voice: VendorVoiceSettings): readonly Outgoing[];
  /** Asks for an utterance. */
  begin(id: string, text: string, voice: VendorVoiceSettings): readonly Outgoing[];
  /** Takes it back. */
  cancel(id: string): readonly Outgoing[];
  /** What a text message tells, in order; none for one that matters to nobody. Throws where it cannot be read. */
  read(message: string): readonly SpeechEvent[];
  /** The same for a binary message. Default: none is expected. */
  readBinary?(data: Buffer): readonly SpeechEvent[];
}

/** What is sent: an object goes as JSON. */
export type Outgoing = object | string;

export type SpeechEvent =
  /** Little-endian PCM, cut anywhere. */
  | { type: 'audio'; id?: string; bytes: Uint8Array }
  /**
   * Times from the utterance's first sample, or from where a part of it begins: with the audio that comes in the same
   * message and follows here (`withAudio`), else at the end of the words before.
   */
  | { type: 'words'; id?: string; words: readonly TimedText[]; withAudio?: boolean }
  /** To be answered with this. */
  | { type: 'reply'; message: Outgoing }
  | { type: 'done'; id?: string }
  | { type: 'cancelled'; id?: string }
  /** Without an id: all utterances of the connection have failed. */
  | { type: 'error'; id?: string; reason: string; retryable: boolean };
