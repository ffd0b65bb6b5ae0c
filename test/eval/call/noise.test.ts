import { describe, expect, it } from 'vitest';
import { goertzelPower } from './spectrum.js';
import { pinkNoise, repeatedNoise, whiteNoise } from '../../../src/eval/call/caller-end.js';
import { Random } from '../../../src/base/random.js';

const COUNT = 200_000;

describe('noise', () => {
  it.each([
    ['white', whiteNoise],
    ['pink', pinkNoise],
  ])('%s has a mean square of 1, and the same seed gives the same', (_name, make) => {
    const [first, second] = [make(new Random(5)), make(new Random(5))];
    let squares = 0;
    for (let i = 0; i < COUNT; i++) {
      const sample = first();
      squares += sample * sample;
      if (i < 1000) expect(second()).toBe(sample);
    }
    expect(squares / COUNT).toBeGreaterThan(0.93);
    expect(squares / COUNT).toBeLessThan(1.07);
  });

  it('pink falls by 3 dB an octave', () => {
    const source = pinkNoise(new Random(1));
    const samples = Float64Array.from({ length: COUNT }, () => source());
    const [low, high] = [goertzelPower(samples, 0.005, 0.01), goertzelPower(samples, 0.04, 0.08)];
    // A band of an octave holds the same power wherever it lies.
    expect(10 * Math.log10(low / high)).toBeGreaterThan(-1.5);
    expect(10 * Math.log10(low / high)).toBeLessThan(1.5);
  });

  it('a recording repeats', () => {
    const source = repeatedNoise(Int16Array.of(3, -4));
    const rms = Math.sqrt(12.5);
    expect([source(), source(), source()]).toEqual([3 / rms, -4 / rms, 3 / rms]);
    expect(repeatedNoise(new Int16Array(0))()).toBe(0);
  });
});
