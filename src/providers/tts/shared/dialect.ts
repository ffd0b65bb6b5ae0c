import type { VendorVoiceSettings } from './vendor-voice-settings.js';
import type { TimedText } from '../text/word-aligner.js';

/**
 * One vendor's WebSocket protocol: pure data, no I/O. Utterances have ids of ours; if a vendor does not support ids,
 * only one utterance runs per connection, and events leave the id out.
 */
export interface TtsDialect {
  /** Creates a stateful instance per connection. Default: one instance for all. */
  forConnection?(): TtsDialect;
  /** 16 bit, mono. */
  readonly sampleRateHz: number;
  /** Maximum concurrent utterances per connection. */
  readonly concurrent: number;
  /** Maximum utterances per minute on one connection. Default: no limit. */
  readonly perMinute?: number;
  /** The event that ends a cancelled utterance: until then it counts as running. */
  readonly cancelEnds: 'at once' | 'done' | 'cancelled';
  /** Keep-alive message for an idle connection. Absent: none. */
  readonly keepAlive?: { afterMs: number; message: () => string };
  /** Sent before the connection is closed. */
  readonly farewell?: string;
  /** The voice's URL, `ws:` or `wss:`: utterances with the same URL share connections. */
  address(voice: VendorVoiceSettings): string;
  /** Voice options that are fixed per connection, in addition to its URL. Default: none. */
  bound?(voice: VendorVoiceSettings): string;
  headers(): Readonly<Record<string, string>>;
  /** The first message on a new connection. Default: none. */
  hello?(voice: VendorVoiceSettings): readonly DialectMessage[];
  /** Whether `begin` reads phonemes in the text (`withPhonemes`). Default: no. */
  takesPhonemes?(voice: VendorVoiceSettings): boolean;
  /** Requests an utterance. */
  begin(id: string, text: string, voice: VendorVoiceSettings): readonly DialectMessage[];
  cancel(id: string): readonly DialectMessage[];
  /** The events in a text message, in order; empty for an irrelevant one. Throws on invalid input. */
  read(message: string): readonly SpeechEvent[];
  /** The same for a binary message. Default: none are expected. */
  readBinary?(data: Buffer): readonly SpeechEvent[];
}

/** An outgoing message: an object is sent as JSON. */
export type DialectMessage = object | string;

export type SpeechEvent =
  /** Little-endian PCM in chunks of any size. */
  | { type: 'audio'; id?: string; bytes: Uint8Array }
  /**
   * Times from the utterance's first sample, or from the start of a part of it: that of the audio in the same message,
   * which follows (`withAudio`), else the end of the previous words.
   */
  | { type: 'words'; id?: string; words: readonly TimedText[]; withAudio?: boolean }
  /** The reply to send. */
  | { type: 'reply'; message: DialectMessage }
  | { type: 'done'; id?: string }
  | { type: 'cancelled'; id?: string }
  /** Without an id: all utterances of the connection have failed. */
  | { type: 'error'; id?: string; reason: string; retryable: boolean };
