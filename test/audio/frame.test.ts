import fc from 'fast-check';
import { expect, it } from 'vitest';
import { frameSamples, msToSamples, samplesToMs } from '../../src/audio/frame.js';

it('a frame is 20 ms, whole at every rate in use', () => {
  const rates = [8_000, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
  expect(rates.map(frameSamples)).toEqual([160, 240, 320, 441, 480, 640, 882, 960]);
});

it('samples and milliseconds convert back and forth', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), fc.constantFrom(8_000, 22_050, 48_000), (samples, rate) => {
      expect(msToSamples(samplesToMs(samples, rate), rate)).toBe(samples);
    }),
  );
  expect(msToSamples(0.07, 8_000)).toBe(1);
});
