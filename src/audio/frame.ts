/**
 * The one audio format inside parley: mono signed 16-bit samples in an Int16Array, with their rate named beside them.
 * Time on the media path is a count of samples from the session's start, never wall time.
 */

/** Length of one frame of the media path. Every session is paced in steps of this length. */
export const FRAME_MS = 20;

/** The rate at which the engine listens: VAD, STT and digit detection all take 16 kHz. */
export const HEARING_RATE_HZ = 16_000;

/** Samples in one 20 ms frame at `sampleRateHz` (160 at 8 kHz, 320 at 16 kHz, 480 at 24 kHz, 960 at 48 kHz). */
export function frameSamples(sampleRateHz: number): number {
  return (sampleRateHz * FRAME_MS) / 1000;
}

/** Length of `samples` samples in milliseconds. */
export function samplesToMs(samples: number, sampleRateHz: number): number {
  return (samples * 1000) / sampleRateHz;
}

/** Whole samples in `ms` milliseconds, rounded to the nearest. */
export function msToSamples(ms: number, sampleRateHz: number): number {
  return Math.round((ms * sampleRateHz) / 1000);
}
