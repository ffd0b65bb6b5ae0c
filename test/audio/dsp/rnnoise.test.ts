import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { rnnoise } from '../../../src/audio/dsp/rnnoise.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { noise, toSamples } from '../signals.js';

const SPEECH = decodeWav(
  readFileSync(fileURLToPath(new URL('../../../fixtures/audio/booking/rms/table.wav', import.meta.url))),
).samples;

/** What a denoiser makes of a stream that is cut into pieces of these lengths. */
async function denoised(samples: Int16Array, strength: number, ...pieces: number[]): Promise<Int16Array> {
  const denoiser = await rnnoise(strength);
  const out: number[] = [];
  let at = 0;
  for (let piece = 0; at < samples.length; piece++) {
    const length = pieces[piece % pieces.length] ?? 320;
    out.push(...denoiser.process(samples.subarray(at, at + length)));
    at = Math.min(samples.length, at + length);
    expect(out.length).toBeLessThanOrEqual(at);
    expect(out.length).toBeGreaterThanOrEqual(at - denoiser.delaySamples);
  }
  denoiser.close();
  denoiser.close();
  return Int16Array.from(out);
}

function power(samples: Int16Array): number {
  return samples.reduce((sum, value) => sum + value * value, 0) / samples.length;
}

/** By how many samples `b` lies later than `a`, looked for around none. */
function shift(a: Int16Array, b: Int16Array): number {
  let [best, at] = [-Infinity, 0];
  for (let by = -400; by <= 400; by++) {
    let sum = 0;
    for (let i = 4000; i < b.length - 4000; i += 3) sum += a[i]! * b[i + by]!;
    if (sum > best) [best, at] = [sum, by];
  }
  return at;
}

describe('RNNoise', () => {
  it('leaves speech where it was, to the sample', async () => {
    expect(shift(SPEECH, await denoised(SPEECH, 1, 320))).toBe(0);
    expect(shift(SPEECH, await denoised(SPEECH, 0, 320))).toBe(0);
  });

  it('gives the input back at strength 0, but for two resamplings', async () => {
    const out = await denoised(SPEECH, 0, 320);
    const difference = Int16Array.from(out, (value, at) => value - (SPEECH[at] ?? 0));
    expect(power(difference) / power(SPEECH)).toBeLessThan(0.01);
  });

  it('makes the same of a stream however it is cut', async () => {
    const whole = await denoised(SPEECH, 1, 320);
    const cut = await denoised(SPEECH, 1, 1, 977, 160, 33);
    const length = Math.min(whole.length, cut.length);
    expect(cut.subarray(0, length)).toEqual(whole.subarray(0, length));
  });

  it('takes out steady noise, the more the stronger it is', async () => {
    const hiss = toSamples(noise(3 * 16_000, 600, 7));
    const [half, full] = [await denoised(hiss, 0.5, 320), await denoised(hiss, 1, 320)];
    const last = (samples: Int16Array): number => power(samples.subarray(-16_000));
    expect(last(full)).toBeLessThan(last(hiss) / 20);
    expect(last(half)).toBeLessThan(last(hiss) / 2);
    expect(last(half)).toBeGreaterThan(last(full));
  });

  it('keeps the streams of two sessions apart', async () => {
    const [a, b] = [await rnnoise(), await rnnoise()];
    const alone = await denoised(SPEECH, 1, 320);
    const out: number[] = [];
    for (let at = 0; at < SPEECH.length; at += 320) {
      b.process(toSamples(noise(320, 4000, at + 1)));
      out.push(...a.process(SPEECH.subarray(at, at + 320)));
    }
    a.close();
    b.close();
    expect(Int16Array.from(out)).toEqual(alone);
  });
});
