/** What the page and its audio worklets say to each other, and the line's format. */

/** Rate of the talk socket, both ways. */
export const LINE_RATE_HZ = 16_000;

/** 20 ms at the line's rate. */
export const CHUNK_SAMPLES = 320;

/** From the capture worklet: 20 ms of the microphone. */
export interface CapturedChunk {
  /** 320 samples at 16 kHz, signed 16-bit. */
  samples: Int16Array<ArrayBuffer>;
  /** Root mean square, 0..1. */
  level: number;
}

/** To the playback worklet. */
export type PlaybackCommand =
  | { type: 'audio'; samples: Int16Array<ArrayBuffer> }
  /** Fall silent and keep the buffer. */
  | { type: 'hold' }
  /** Go on from where it was held. */
  | { type: 'resume' }
  /** Fall silent and drop the buffer. */
  | { type: 'clear' };

/** From the playback worklet, some 30 times a second. */
export interface PlaybackState {
  /** Audio is being played. */
  playing: boolean;
  held: boolean;
  /** Root mean square of what was played since the last state, 0..1. */
  level: number;
  /** Samples at 16 kHz played since the start. */
  playedSamples: number;
  bufferedMs: number;
  /** What is gathered before playing begins. */
  targetMs: number;
  /** Times that audio came too late. */
  underruns: number;
}
