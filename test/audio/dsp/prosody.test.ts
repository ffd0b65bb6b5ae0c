import { describe, expect, it } from 'vitest';
import { PROSODIC_FEATURES, prosodicFeatures } from '../../../src/audio/dsp/prosody.js';

const RATE_HZ = 16_000;

/** A buzz like a voice's, whose pitch and loudness follow a function of the time in seconds; then silence. */
function voice(lengthS: number, pitchAt: (s: number) => number, levelAt: (s: number) => number = () => 1): Int16Array {
  const samples = new Int16Array((lengthS + 0.1) * RATE_HZ);
  let phase = 0;
  for (let at = 0; at < lengthS * RATE_HZ; at++) {
    const s = at / RATE_HZ;
    phase += (2 * Math.PI * pitchAt(s)) / RATE_HZ;
    const harmonics = [1, 2, 3, 4, 5].reduce((sum, n) => sum + Math.sin(n * phase) / n, 0);
    samples[at] = 4000 * levelAt(s) * harmonics;
  }
  return samples;
}

const of = (samples: Int16Array) => {
  const features = prosodicFeatures(samples);
  if (features === null) throw new Error('no features');
  return features;
};

describe('prosodicFeatures', () => {
  it.each([
    ['rises', 12],
    ['falls', -12],
  ])('measures the slope of a voice that %s', (_how, semitonesASecond) => {
    const { f0Slope300, f0Slope1000, f0Level300 } = of(voice(2, (s) => 150 * 2 ** ((semitonesASecond * (s - 1)) / 12)));
    expect(f0Slope300 / semitonesASecond).toBeCloseTo(1, 0);
    expect(f0Slope1000 / semitonesASecond).toBeCloseTo(1, 1);
    expect(Math.sign(f0Level300)).toBe(Math.sign(semitonesASecond));
  });

  it.each([90, 130, 180, 240, 320])('is the same for a flat voice of %i Hz: relative to its speaker', (pitch) => {
    const { f0Level300, f0Level1000, f0Slope1000, f0Spread1000, voiced1000 } = of(voice(2, () => pitch));
    for (const value of [f0Level300, f0Level1000, f0Slope1000, f0Spread1000]) expect(Math.abs(value)).toBeLessThan(0.3);
    expect(voiced1000).toBeGreaterThan(0.9);
  });

  it('measures loudness that fades, and the rate of syllables', () => {
    const fading = of(
      voice(
        2,
        () => 150,
        (s) => Math.max(0.05, 1 - s / 2),
      ),
    );
    expect(fading.levelDb300).toBeLessThan(-5);
    expect(fading.levelSlope1000).toBeLessThan(-5);
    const spoken = of(
      voice(
        2,
        () => 150,
        (s) => 0.05 + 0.5 * (1 + Math.sin(2 * Math.PI * 4 * s)),
      ),
    );
    expect(spoken.rate1000).toBeGreaterThanOrEqual(3);
    expect(spoken.rate1000).toBeLessThanOrEqual(5);
    expect(spoken.speechS).toBeGreaterThan(1.8);
  });

  it('is the same to the bit in two runs, has every feature, and none for silence', () => {
    const samples = voice(1.2, (s) => 150 + 20 * Math.sin(9 * s));
    expect(of(samples)).toEqual(of(samples.slice()));
    expect(Object.keys(of(samples))).toEqual([...PROSODIC_FEATURES]);
    expect(Object.values(of(samples)).every(Number.isFinite)).toBe(true);
    expect(prosodicFeatures(new Int16Array(RATE_HZ))).toBeNull();
    expect(prosodicFeatures(new Int16Array(0))).toBeNull();
  });
});
