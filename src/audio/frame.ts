import { TICK_MS } from '../base/ticker.js';
import { ParleyError } from '../base/errors.js';

/**
 * The one audio format inside parley: mono signed 16-bit samples in an Int16Array, with the rate passed separately.
 * Time on the media path is a count of samples from the session's start, never wall time.
 */

/** Length of one frame of the media path. Every session is paced in steps of this length. */
export const FRAME_MS = TICK_MS;

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

/** Pieces of audio, one behind the other. */
export function joinedSamples(pieces: readonly Int16Array[]): Int16Array {
  const all = new Int16Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** Supported sample rates, from telephone to studio sound. */
const MIN_RATE_HZ = 8_000;
const MAX_RATE_HZ = 48_000;

/** @throws ParleyError AUDIO_RATE_UNSUPPORTED for anything but a whole number of Hz from 8000 to 48000 */
export function checkRate(sampleRateHz: number): void {
  if (!Number.isInteger(sampleRateHz) || sampleRateHz < MIN_RATE_HZ || sampleRateHz > MAX_RATE_HZ) {
    throw new ParleyError('AUDIO_RATE_UNSUPPORTED', { sampleRateHz });
  }
}

/** The error for audio that is not an Int16Array, with how to convert it: it would play as silence or noise. */
export function notInt16(argument: string, samples: unknown): ParleyError {
  const kind = Object.prototype.toString.call(samples).slice('[object '.length, -1);
  const remedy =
    samples instanceof Float32Array
      ? 'multiply by 32767 and round: Int16Array.from(floats, (x) => Math.round(Math.max(-1, Math.min(1, x)) * 32767))'
      : ArrayBuffer.isView(samples)
        ? 'bytes of 16-bit PCM become one by new Int16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2)'
        : 'mono samples of 16 bits';
  return new ParleyError('ARGUMENT_INVALID', { argument, reason: `an Int16Array is expected, not ${kind}: ${remedy}` });
}
