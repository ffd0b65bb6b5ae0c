import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mix, softClip } from '../../../src/audio/dsp/mix.js';

const sample = fc.integer({ min: -32_768, max: 32_767 });

describe('softClip', () => {
  it('leaves everything below -2 dBFS alone', () => {
    for (const value of [0, 1, -1, 20_000, -26_028, 26_028]) expect(softClip(value)).toBe(value);
  });

  it('rises everywhere, is symmetric and stays within full scale', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e7, noNaN: true }),
        fc.double({ min: 0.01, max: 1e5, noNaN: true }),
        (at, more) => {
          expect(softClip(at + more)).toBeGreaterThan(softClip(at));
          expect(softClip(-at)).toBe(-softClip(at));
          expect(softClip(at)).toBeLessThanOrEqual(32_767);
        },
      ),
    );
  });

  it('has no corner at the knee', () => {
    const slope = (softClip(26_028 + 1) - softClip(26_028)) / 1;
    expect(slope).toBeGreaterThan(0.999);
  });
});

describe('mix', () => {
  it('sums quiet sources exactly, in any order', () => {
    const quiet = fc.array(fc.integer({ min: -8_000, max: 8_000 }), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(quiet, quiet, quiet, (a, b, c) => {
        const out = new Int16Array(20);
        mix(out, [Int16Array.from(a), Int16Array.from(b), Int16Array.from(c)]);
        expect([...out]).toEqual(a.map((value, i) => value + b[i]! + c[i]!));
      }),
    );
  });

  it('never wraps', () => {
    fc.assert(
      fc.property(fc.array(sample, { minLength: 2, maxLength: 6 }), (values) => {
        const out = new Int16Array(1);
        mix(
          out,
          values.map((value) => Int16Array.of(value)),
        );
        const sum = values.reduce((total, value) => total + value, 0);
        if (Math.abs(sum) > 1) expect(Math.sign(out[0]!)).toBe(Math.sign(sum));
        expect(Math.abs(out[0]!)).toBeLessThanOrEqual(Math.abs(sum));
      }),
    );
  });

  it('applies gains, 1 where none is given', () => {
    const out = new Int16Array(2);
    mix(out, [Int16Array.of(1_000, -1_000), Int16Array.of(100, 100)], [0.5]);
    expect([...out]).toEqual([600, -400]);
  });

  it('takes sources of any length, and one of them as the target', () => {
    const out = Int16Array.of(1, 2, 3);
    mix(out, [out, Int16Array.of(10), Int16Array.of(100, 100, 100, 100)]);
    expect([...out]).toEqual([111, 102, 103]);
    mix(out, []);
    expect([...out]).toEqual([0, 0, 0]);
    const long = new Int16Array(5_000);
    mix(long, [new Int16Array(5_000).fill(3)]);
    expect(long.every((value) => value === 3)).toBe(true);
  });
});
