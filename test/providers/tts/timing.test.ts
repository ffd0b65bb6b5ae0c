import { describe, expect, it } from 'vitest';
import { estimateWordTimes } from '../../../src/providers/tts/timing.js';

const RATE_HZ = 16_000;

/** Sound with pauses: lengths in ms, sound and pause in turn. */
function audio(...lengthsMs: number[]): Int16Array {
  const samples = lengthsMs.flatMap((ms, i) =>
    Array.from({ length: (ms * RATE_HZ) / 1000 }, (_, n) => (i % 2 === 0 ? Math.round(8000 * Math.sin(n / 5)) : 0)),
  );
  return Int16Array.from(samples);
}

describe('estimated word times', () => {
  it('share out the real length, ascending, without gaps between words', () => {
    const times = estimateWordTimes(['one', 'extraordinary', 'day'], audio(1500), RATE_HZ);
    expect(times[0]?.startMs).toBe(0);
    expect(times[2]?.endMs).toBeCloseTo(1500);
    expect(times[0]?.endMs).toBeCloseTo(times[1]?.startMs ?? -1);
    const length = (i: number): number => (times[i]?.endMs ?? 0) - (times[i]?.startMs ?? 0);
    expect(length(1)).toBeGreaterThan(2 * length(0));
  });

  it('put the pause after punctuation where the audio has it', () => {
    const times = estimateWordTimes(['well,', 'this', 'is', 'it.'], audio(600, 200, 700), RATE_HZ);
    expect(times[0]?.endMs).toBeCloseTo(600, -1);
    expect(times[1]?.startMs).toBeCloseTo(800, -1);
    expect(times[3]?.endMs).toBeCloseTo(1500);
  });

  it('do not take a far-off or short silence for the pause', () => {
    const far = estimateWordTimes(['a,', 'really', 'very', 'long', 'other', 'part'], audio(1700, 100, 200), RATE_HZ);
    expect(far[0]?.endMs).toBeLessThan(700);
    const short = estimateWordTimes(['well,', 'there'], audio(500, 30, 500), RATE_HZ);
    expect(short[1]?.startMs).not.toBeCloseTo(530, 0);
  });

  it('give digits and Chinese characters their time, unsaid words none', () => {
    const times = estimateWordTimes(['', '12345', 'a', '你好吗', ''], audio(3000), RATE_HZ);
    const lengths = times.map((time) => time.endMs - time.startMs);
    expect(lengths[0]).toBe(0);
    expect(lengths[4]).toBe(0);
    expect(lengths[1]).toBeGreaterThan(lengths[3] ?? 0);
    expect(lengths[3]).toBeGreaterThan(lengths[2] ?? 0);
  });

  it('hold for no audio, no words and only unsaid words', () => {
    expect(estimateWordTimes(['a', 'b'], new Int16Array(0), RATE_HZ).every((time) => time.endMs === 0)).toBe(true);
    expect(estimateWordTimes([], audio(100), RATE_HZ)).toEqual([]);
    for (const time of estimateWordTimes(['', ''], audio(100), RATE_HZ)) {
      expect(Number.isFinite(time.startMs) && Number.isFinite(time.endMs)).toBe(true);
    }
  });
});
