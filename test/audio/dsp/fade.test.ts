import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fadeIn, fadeOut, Fader } from '../../../src/audio/dsp/fade.js';
import { pieces } from '../signals.js';

const steady = (length: number, value = 20_000) => new Int16Array(length).fill(value);

/** The largest step between neighbours. */
function largestStep(samples: Int16Array): number {
  return samples.reduce((most, value, i) => (i === 0 ? 0 : Math.max(most, Math.abs(value - samples[i - 1]!))), 0);
}

describe('Fader', () => {
  it('goes from gain to gain without a click', () => {
    const fader = new Fader(1);
    const samples = steady(800);
    fader.fadeTo(0, 400);
    fader.apply(samples);
    expect(samples[0]).toBeGreaterThan(19_990);
    expect(samples[399]).toBeLessThan(10);
    expect(samples.subarray(400).every((value) => value === 0)).toBe(true);
    // A raised cosine is steepest in the middle: pi/2 times the mean slope.
    expect(largestStep(samples)).toBeLessThanOrEqual(Math.ceil((20_000 / 401) * (Math.PI / 2)) + 1);
    expect(samples.every((value, i) => i === 0 || value <= samples[i - 1]!)).toBe(true);
    expect(samples[200]).toBeCloseTo(10_000, -2);
  });

  it('does the same however the frames are cut', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(cuts, fc.integer({ min: 0, max: 700 }), (lengths, fadeLength) => {
        const whole = steady(1_000);
        const cut = steady(1_000);
        const one = new Fader(0.3);
        const many = new Fader(0.3);
        one.fadeTo(0.9, fadeLength);
        many.fadeTo(0.9, fadeLength);
        one.apply(whole);
        for (const part of pieces(cut, lengths)) many.apply(part);
        expect(cut).toEqual(whole);
        expect(many.fading).toBe(false);
        expect(many.gain).toBe(0.9);
      }),
    );
  });

  it('turns round in the middle without a jump', () => {
    const fader = new Fader(1);
    const down = steady(150);
    const up = steady(500);
    fader.fadeTo(0, 400);
    fader.apply(down);
    expect(fader.fading).toBe(true);
    fader.fadeTo(1, 400);
    fader.apply(up);
    expect(Math.abs(up[0]! - down[149]!)).toBeLessThan(100);
    expect(up[499]).toBe(20_000);
  });

  it('leaves audio alone at gain 1, silences it at 0, cuts at full scale above', () => {
    const samples = Int16Array.of(-32_768, 5, 32_767);
    new Fader(1).apply(samples);
    expect([...samples]).toEqual([-32_768, 5, 32_767]);
    new Fader(2).apply(samples);
    expect([...samples]).toEqual([-32_768, 10, 32_767]);
    new Fader(0).apply(samples);
    expect([...samples]).toEqual([0, 0, 0]);
  });

  it('is there at once for a fade of no length', () => {
    const fader = new Fader(0);
    fader.fadeTo(0.5, 0);
    expect(fader.gain).toBe(0.5);
    expect(fader.fading).toBe(false);
  });
});

describe('whole pieces', () => {
  it('fadeIn and fadeOut mirror each other', () => {
    const a = steady(500);
    const b = steady(500);
    fadeIn(a, 100);
    fadeOut(b, 100);
    expect([...a].toReversed()).toEqual([...b]);
    expect(a[0]).toBeLessThan(10);
    expect(a.subarray(100).every((value) => value === 20_000)).toBe(true);
    expect(b.subarray(0, 400).every((value) => value === 20_000)).toBe(true);
  });

  it('take less than they are asked to fade', () => {
    const samples = steady(10);
    fadeOut(samples, 100);
    expect(samples[0]).toBeGreaterThan(samples[9]!);
    expect(samples[9]).toBeLessThan(1_000);
    const none = new Int16Array(0);
    fadeIn(none, 10);
    fadeOut(none, 10);
  });
});
