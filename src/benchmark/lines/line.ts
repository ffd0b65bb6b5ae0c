import type { Cancel, Clock } from '../../base/clock.js';
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

/** Passes the recording's frames to `say`, one per tick; catches up on skipped ticks. */
export function sayInFrames(options: LineOptions, frameLength: number, say: (frame: Int16Array) => void): Cancel {
  const { samples, ticker, onSaid } = options;
  let at = 0;
  const stop = ticker.subscribe((skipped) => {
    for (let missed = 0; missed <= skipped; missed++) {
      if (at >= samples.length) return;
      const frame = new Int16Array(frameLength);
      frame.set(samples.subarray(at, at + frameLength));
      onSaid(1);
      say(frame);
      at += frameLength;
    }
  });
  return stop;
}
