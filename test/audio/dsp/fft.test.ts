import { describe, expect, it } from 'vitest';
import { RealFft } from '../../../src/audio/dsp/fft.js';
import { Random } from '../../../src/base/random.js';

/** By the definition. */
function plainPower(samples: Float64Array): number[] {
  return Array.from({ length: samples.length / 2 + 1 }, (_, bin) => {
    let re = 0;
    let im = 0;
    samples.forEach((sample, n) => {
      const angle = (-2 * Math.PI * bin * n) / samples.length;
      re += sample * Math.cos(angle);
      im += sample * Math.sin(angle);
    });
    return re * re + im * im;
  });
}

describe('the spectrum', () => {
  it.each([2, 4, 6, 10, 14, 16, 30, 64, 400, 442])('of %i samples is that of the definition', (length) => {
    const random = new Random(length);
    const fft = new RealFft(length);
    const samples = Float64Array.from({ length }, () => random.next() * 2 - 1);
    const out = new Float64Array(fft.bins);
    for (let again = 0; again < 2; again++) {
      fft.power(samples, out);
      plainPower(samples).forEach((power, bin) => expect(out[bin]).toBeCloseTo(power, 8));
    }
  });

  it('has a tone in its bin', () => {
    const fft = new RealFft(400);
    const out = new Float64Array(fft.bins);
    fft.power(
      Float64Array.from({ length: 400 }, (_, n) => Math.cos((2 * Math.PI * 25 * n) / 400)),
      out,
    );
    expect(out.indexOf(Math.max(...out))).toBe(25);
    expect(out[25]).toBeCloseTo(200 ** 2, 6);
  });

  it.each([0, 1, 7, 2.5, -4])('of %d samples is refused', (length) => {
    expect(() => new RealFft(length)).toThrow(RangeError);
  });
});
