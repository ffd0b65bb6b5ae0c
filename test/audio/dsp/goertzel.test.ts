import { describe, expect, it } from 'vitest';
import { BANK_SIZE, GoertzelBank } from '../../../src/audio/dsp/goertzel.js';
import { noise, sine, toSamples } from '../signals.js';

const RADIANS = [697, 770, 852, 941, 1_209, 1_336, 1_477, 1_633].map((hz) => (2 * Math.PI * hz) / 8_000);

describe('GoertzelBank', () => {
  it('is the sum that its description gives', () => {
    const block = toSamples(noise(51, 5_000, 1), sine(51, 800, 8_000, 9_000));
    const bank = new GoertzelBank(RADIANS);
    bank.measure(block);
    for (let f = 0; f < BANK_SIZE; f++) {
      let re = 0;
      let im = 0;
      for (let n = 0; n < block.length; n++) {
        re += block[n]! * Math.cos(RADIANS[f]! * (block.length - 1 - n));
        im += block[n]! * Math.sin(RADIANS[f]! * (block.length - 1 - n));
      }
      expect(bank.values[2 * f]).toBeCloseTo(re, 4);
      expect(bank.values[2 * f + 1]).toBeCloseTo(im, 4);
    }
  });

  it('measures each block afresh', () => {
    const bank = new GoertzelBank(RADIANS);
    bank.measure(sine(100, 697, 8_000, 20_000));
    bank.measure(new Int16Array(100));
    expect([...bank.values].every((value) => value === 0)).toBe(true);
  });
});
