/**
 * Keypad digits that the detector finds in recordings, at 8 and 16 kHz: the ones that are there and, in speech and
 * noise, the ones that are not.
 *
 *   npm run build && PARLEY_AUDIO_DIR=<folder of .wav files> node bench/run.mjs digits
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DtmfDetector } from '../dist/audio/tones/dtmf.js';
import { resample } from '../dist/audio/dsp/resample.js';
import { decodeWav } from '../dist/audio/files/wav.js';

const folder = process.env['PARLEY_AUDIO_DIR'];
if (folder === undefined) throw new Error('PARLEY_AUDIO_DIR names no folder');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.wav'));
let seconds = 0;
for (const file of files) {
  const { samples, sampleRateHz } = decodeWav(readFileSync(join(folder, file)));
  seconds += samples.length / sampleRateHz;
  const digits = [8_000, 16_000].map((rate) =>
    new DtmfDetector(rate)
      .push(resample(samples, sampleRateHz, rate))
      .map(({ digit }) => digit)
      .join(''),
  );
  if (digits.some((found) => found !== '')) console.log(`${file}: ${digits.join(' at 8 kHz, ')} at 16 kHz`);
}
console.log(`${files.length} recordings, ${Math.round(seconds)} s`);
