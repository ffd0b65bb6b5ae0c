import { describe, expect, it } from 'vitest';
import { makeLoop } from '../../../src/audio/dsp/mix.js';
import { sine } from '../signals.js';

/** The largest step from one sample to the next over three rounds. */
function largestStep(loop: Int16Array): number {
  let largest = 0;
  for (let at = 1; at < 3 * loop.length; at++) {
    const step = Math.abs(loop[at % loop.length]! - loop[(at - 1) % loop.length]!);
    if (step > largest) largest = step;
  }
  return largest;
}

describe('a loop', () => {
  it('has no click at its seam', () => {
    // Two and a half periods off: put end to end as it is, this one jumps.
    const samples = sine(16_000, 310.7, 16_000, 10_000);
    const steady = Math.ceil(10_000 * 2 * Math.PI * (310.7 / 16_000));
    expect(largestStep(samples)).toBeGreaterThan(steady);
    const loop = makeLoop(samples, 16_000);
    expect(loop.length).toBe(16_000 - 4800);
    // At the seam both ends may add up to √2 of the sound.
    expect(largestStep(loop)).toBeLessThan(1.5 * steady);
  });

  it('keeps the power of noise through the seam', () => {
    let seed = 1;
    const noise = Int16Array.from({ length: 32_000 }, () => {
      seed = (seed * 16_807) % 2_147_483_647;
      return Math.round((seed / 2_147_483_647 - 0.5) * 20_000);
    });
    const loop = makeLoop(noise, 16_000);
    const power = (from: number, to: number): number =>
      loop.subarray(from, to).reduce((sum, value) => sum + value * value, 0) / (to - from);
    expect(power(0, 4800) / power(4800, loop.length)).toBeCloseTo(1, 1);
  });

  it('is made of a click, too, and of nothing', () => {
    expect(makeLoop(new Int16Array(2).fill(9), 16_000)).toEqual(new Int16Array(2).fill(9));
    expect(makeLoop(new Int16Array(0), 16_000)).toHaveLength(0);
  });
});
