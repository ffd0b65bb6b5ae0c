import { type Clock, delay } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import { decodeWithFfmpeg, type FfmpegOptions } from './ffmpeg.js';
import { mediaFormat } from '../codecs/media-format.js';
import { Resampler } from '../dsp/resample.js';
import { decodeWav } from './wav.js';

/** Seconds of input to resample at once; the event loop serves calls in between. */
const SLICE_S = 1;

/** A WAV above this size, in bytes, is left to ffmpeg where there is one: reading it here would hold up calls. */
const LARGE_WAV = 2_000_000;

/**
 * A file of any common audio format as one channel at a rate. Plain WAV is read here; the rest, and WAV of unusual
 * coding or size, by ffmpeg.
 *
 * @throws ParleyError AUDIO_UNDECODABLE, AUDIO_DECODER_MISSING; the signal's reason
 */
export async function decodeMedia(bytes: Uint8Array, options: Omit<FfmpegOptions, 'format'>): Promise<Int16Array> {
  const format = mediaFormat(bytes);
  if (format === null)
    throw new ParleyError('AUDIO_UNDECODABLE', { reason: 'it is not an audio file of a known format' });
  if (format !== 'wav') return decodeWithFfmpeg(bytes, { ...options, format });
  if (bytes.length > LARGE_WAV) {
    try {
      return await decodeWithFfmpeg(bytes, { ...options, format });
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'AUDIO_DECODER_MISSING') throw error;
    }
  }
  const plain = plainWav(bytes);
  if (plain === null) return decodeWithFfmpeg(bytes, { ...options, format });
  const samples = plain.samples.subarray(0, options.maxLengthS * plain.sampleRateHz);
  return resampled(samples, plain.sampleRateHz, options.sampleRateHz, options.clock);
}

function plainWav(bytes: Uint8Array): { samples: Int16Array; sampleRateHz: number } | null {
  try {
    return decodeWav(bytes);
  } catch {
    return null; // ADPCM, 96 kHz and the like
  }
}

/** As `resample`, giving way between slices. */
async function resampled(samples: Int16Array, fromHz: number, toHz: number, clock: Clock): Promise<Int16Array> {
  if (fromHz === toHz) return samples;
  const resampler = new Resampler(fromHz, toHz);
  const skip = Math.round(resampler.delaySamples);
  const out = new Int16Array(Math.ceil((samples.length * toHz) / fromHz) + 2 * skip + 2);
  let written = 0;
  for (let at = 0; at < samples.length; at += SLICE_S * fromHz) {
    written += resampler.processInto(samples.subarray(at, at + SLICE_S * fromHz), out.subarray(written));
    await delay(clock, 0);
  }
  out.set(resampler.flush(), written);
  return out.subarray(skip, skip + Math.round((samples.length * toHz) / fromHz));
}
