import type { Cancel, Clock } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import type { Transport } from '../../transports/transport.js';

/** A line between the user of a recording and an agent. All of it is in this process, the network in between is real. */
export interface RecordingLine {
  /** The agent's end. */
  readonly transport: Transport;
  /** The user's end: begins to speak with the next tick. To be called when the session runs. */
  speak(): void;
  /** The user hangs up; frees all that the line holds. May be called twice. */
  hangUp(): Promise<void>;
}

export interface LineOptions {
  /** What the user says: mono, 16 kHz. */
  samples: Int16Array;
  clock: Clock;
  ticker: Ticker;
  /** So many frames of 20 ms of it have been sent now; the last sample of the last one was spoken now. */
  onSaid: (frames: number) => void;
  /**
   * What has come from the agent to the user's end, decoded, at any rate; null = a tick of silence. Nothing is held back
   * there to be played evenly: what that takes is the user's device's.
   */
  onHeard: (frame: Int16Array | null) => void;
}

/** @throws the system's error where there are no sockets to be had */
export type OpenLine = (options: LineOptions) => Promise<RecordingLine>;

/** Gives `say` the recording's frames, one a tick; ticks that the machine was too late for are made up, as a line would. */
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
