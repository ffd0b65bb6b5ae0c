/** Messages between the page and its audio worklets, and the line's format. */

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
  /** Fade out and keep the buffer. */
  | { type: 'hold' }
  /** Continue where it was held. */
  | { type: 'resume' }
  /** Fade out and drop the buffer. */
  | { type: 'clear' };

/** From the playback worklet, about 30 times a second. */
export interface PlaybackState {
  /** Audio is being played. */
  playing: boolean;
  held: boolean;
  /** Root mean square of the audio played since the last report, 0 to 1. */
  level: number;
  /** Samples at 16 kHz played since the start. */
  playedSamples: number;
  bufferedMs: number;
  /** Audio buffered before playing starts. */
  targetMs: number;
  /** Number of times that audio was late. */
  underruns: number;
}
