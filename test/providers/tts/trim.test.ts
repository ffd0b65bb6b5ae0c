import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SilenceTrimmer } from '../../../src/providers/tts/trim.js';

const RATE_HZ = 8000;
const GUARD = 80;
const loud = (length: number): number[] => Array.from({ length }, (_, i) => (i % 2 === 0 ? 3000 : -3000));
const silent = (length: number): number[] => Array.from({ length }, (_, i) => (i % 3) * 20);

function trim(samples: number[], blockSizes: number[] = [samples.length]): { out: number[]; leading: number } {
  const trimmer = new SilenceTrimmer(RATE_HZ);
  const out: number[] = [];
  let at = 0;
  for (let i = 0; at < samples.length; i++) {
    const size = Math.max(1, blockSizes[i % blockSizes.length] ?? 1);
    out.push(...trimmer.push(Int16Array.from(samples.slice(at, at + size))));
    at += size;
  }
  out.push(...trimmer.finish());
  return { out, leading: trimmer.leadingSamples };
}

describe('trimming silence', () => {
  it('takes both ends off but for 10 ms', () => {
    const { out, leading } = trim([...silent(1000), ...loud(400), ...silent(900)]);
    expect(out.length).toBe(GUARD + 400 + GUARD);
    expect(leading).toBe(1000 - GUARD);
  });

  it('keeps silence inside', () => {
    expect(trim([...loud(100), ...silent(2000), ...loud(100)]).out.length).toBe(2200);
  });

  it('keeps less than the guard where there is less', () => {
    expect(trim([...silent(10), ...loud(100), ...silent(5)]).out.length).toBe(115);
    expect(trim(loud(1)).out.length).toBe(1);
  });

  it('gives nothing for silence alone and for nothing', () => {
    expect(trim(silent(5000), [160]).out).toEqual([]);
    expect(trim([]).out).toEqual([]);
  });

  it('keeps back the end until it is sure of it', () => {
    const trimmer = new SilenceTrimmer(RATE_HZ);
    expect(trimmer.push(Int16Array.from([...loud(100), ...silent(50)])).length).toBe(99);
    expect(trimmer.push(Int16Array.from(silent(500))).length).toBe(0);
    expect(trimmer.finish().length).toBe(1 + GUARD);
  });

  it('gives the same whatever the blocks', () => {
    const runs = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 300 })), { maxLength: 8 });
    fc.assert(
      fc.property(runs, fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }), (parts, blocks) => {
        const samples = parts.flatMap(([sound, length]) => (sound ? loud(length) : silent(length)));
        expect(trim(samples, blocks)).toEqual(trim(samples));
      }),
    );
  });
});
