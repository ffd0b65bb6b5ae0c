import { describe, expect, it } from 'vitest';
import { WorkletResampler } from '../src/resampler.js';

function sine(hz: number, rateHz: number, samples: number): Float32Array {
  return Float32Array.from({ length: samples }, (_, at) => Math.sin((2 * Math.PI * hz * at) / rateHz));
}

/** What comes out, cut into pieces of `piece` samples on the way in. */
function resample(input: Float32Array, fromHz: number, toHz: number, piece: number): Float32Array {
  const resampler = new WorkletResampler(fromHz, toHz);
  const out: number[] = [];
  for (let at = 0; at < input.length; at += piece) out.push(...resampler.process(input.subarray(at, at + piece)));
  return Float32Array.from(out);
}

function rmsDb(samples: Float32Array): number {
  const squares = samples.reduce((sum, sample) => sum + sample * sample, 0);
  return 10 * Math.log10((2 * squares) / samples.length);
}

describe("the page's resampler", () => {
  it.each([
    [48_000, 16_000],
    [44_100, 16_000],
    [16_000, 48_000],
    [16_000, 44_100],
    [96_000, 16_000],
  ])('keeps speech as loud as it is from %i to %i Hz', (fromHz, toHz) => {
    for (const hz of [100, 1000, 3400, 6000]) {
      const out = resample(sine(hz, fromHz, fromHz), fromHz, toHz, 128).subarray(1000);
      expect(Math.abs(rmsDb(out))).toBeLessThan(0.1);
    }
  });

  it.each([9000, 12_000, 20_000])('leaves nothing of %i Hz that would fold into speech', (hz) => {
    const out = resample(sine(hz, 48_000, 48_000), 48_000, 16_000, 128).subarray(1000);
    expect(rmsDb(out)).toBeLessThan(-60);
  });

  it.each([1, 7, 441, 5000])('gives the same whether it gets 128 or %i samples at a time', (piece) => {
    const input = sine(700, 44_100, 10_000);
    const other = resample(input, 44_100, 16_000, piece);
    const usual = resample(input, 44_100, 16_000, 128);
    const common = Math.min(other.length, usual.length);
    expect(Math.abs(other.length - usual.length)).toBeLessThan(100);
    for (let at = 0; at < common; at++) expect(other[at]).toBeCloseTo(usual[at] ?? Number.NaN, 5);
  });

  it('neither gains nor loses time over ten seconds', () => {
    const resampler = new WorkletResampler(44_100, 16_000);
    let count = 0;
    for (let second = 0; second < 10; second++) count += resampler.process(new Float32Array(44_100)).length;
    expect(Math.abs(count - 10 * 16_000)).toBeLessThan(50);
  });
});
