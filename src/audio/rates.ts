import { ParleyError } from '../errors.js';

/** What parley takes in and gives out, from telephones to studio sound. */
const MIN_RATE_HZ = 8_000;
const MAX_RATE_HZ = 48_000;

/** @throws ParleyError AUDIO_RATE_UNSUPPORTED for anything but a whole number of Hz from 8000 to 48000 */
export function checkRate(sampleRateHz: number): void {
  if (!Number.isInteger(sampleRateHz) || sampleRateHz < MIN_RATE_HZ || sampleRateHz > MAX_RATE_HZ) {
    throw new ParleyError('AUDIO_RATE_UNSUPPORTED', { sampleRateHz });
  }
}
