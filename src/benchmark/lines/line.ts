import type { Clock } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import type { Transport } from '../../transports/transport.js';

/** A line between a recorded user and an agent. Both ends are in this process, with a real network between them. */
export interface RecordingLine {
  /** The agent's end. */
  readonly transport: Transport;
  /** The user's end starts to speak at the next tick. Call it when the session runs. */
  speak(): void;
  /** Hangs up the user's end and frees the line. May be called twice. */
  hangUp(): Promise<void>;
}

export interface LineOptions {
  /** The user's audio: mono, 16 kHz. */
  samples: Int16Array;
  clock: Clock;
  ticker: Ticker;
  /** Called when 20 ms frames of the user's audio are sent; the last sample of the last frame is spoken now. */
  onSaid: (frames: number) => void;
  /**
   * Called with decoded audio that reaches the user's end, at any rate; null = a tick of silence. There is no jitter
   * buffer: its delay belongs to the user's device.
   */
  onHeard: (frame: Int16Array | null) => void;
}

/** @throws the system's error if no socket can be opened */
export type OpenLine = (options: LineOptions) => Promise<RecordingLine>;
