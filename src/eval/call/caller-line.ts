import type { Transport, TransportMessage } from '../../transports/transport.js';
import type { CallerAudio } from '../caller/caller.js';

/** The caller's end of a call under test. */
export interface CallerLine {
  /** The agent's end. */
  readonly transport: Transport;
  /** Both sides as they were sent and heard, 20 ms a piece; null = nothing is recorded. */
  readonly recording: { caller: readonly Int16Array[]; agent: readonly Int16Array[]; sampleRateHz: number } | null;
  /** Starts to send and to listen. Call it when the session runs. */
  connect(): void;
  /** Says this. Resolves when all of it was sent, or the line is over. */
  say(words: CallerWords): Promise<void>;
  /** Presses keys. Resolves when all were sent, or the line is over. */
  press(keys: string): Promise<void>;
  hangUp(): void;
  /** Hangs up and frees the line. May be called twice. */
  release(): Promise<void>;
}

export interface CallerWords {
  text: string;
  /** Null where the line carries text. */
  audio: CallerAudio | null;
}

export interface CallerLineEvents {
  /** Messages beside the audio, such as the agent's words. */
  onMessage(message: TransportMessage): void;
  /** The agent presses keys. */
  onDigits(keys: string): void;
  /** The agent transfers the call: what becomes of it. */
  onTransfer(target: string): ReturnType<NonNullable<Transport['transfer']>>;
  /**
   * The caller begins or ceases to hear the agent's voice. Text lines never call it.
   * @param agoMs it did so that long ago
   */
  onAgentSpeaks(isSpeaking: boolean, agoMs: number): void;
}
