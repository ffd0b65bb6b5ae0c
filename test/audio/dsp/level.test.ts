import { describe, expect, it } from 'vitest';
import { amplitudeToDbfs, dbToGain, LevelMeter, levelOf, SILENCE_DBFS } from '../../../src/audio/dsp/level.js';
import { sine } from '../signals.js';

describe('levels', () => {
  it('a full-scale sine is -3.01 dBFS RMS with a peak of 0', () => {
    const { rmsDbfs, peakDbfs } = levelOf(sine(16_000, 1_000, 16_000, 32_767));
    expect(rmsDbfs).toBeCloseTo(-3.01, 2);
    expect(peakDbfs).toBeCloseTo(0, 3);
  });

  it('the most negative sample is full scale', () => {
    expect(levelOf(Int16Array.of(-32_768))).toEqual({ rmsDbfs: 0, peakDbfs: 0 });
  });

  it('silence and nothing are at the floor', () => {
    expect(levelOf(new Int16Array(100))).toEqual({ rmsDbfs: SILENCE_DBFS, peakDbfs: SILENCE_DBFS });
    expect(levelOf(new Int16Array(0)).rmsDbfs).toBe(SILENCE_DBFS);
    expect(levelOf(Int16Array.of(1)).peakDbfs).toBeCloseTo(-90.31, 2);
  });

  it('measures over all that was pushed since the last read', () => {
    const tone = sine(3_200, 500, 16_000, 8_000);
    const meter = new LevelMeter();
    for (let at = 0; at < tone.length; at += 77) meter.push(tone.subarray(at, at + 77));
    const first = meter.read();
    expect(first.rmsDbfs).toBeCloseTo(levelOf(tone).rmsDbfs, 9);
    meter.push(new Int16Array(10));
    expect(meter.read().peakDbfs).toBe(SILENCE_DBFS);
  });

  it('converts between decibels and factors', () => {
    expect(dbToGain(0)).toBe(1);
    expect(dbToGain(-20)).toBeCloseTo(0.1, 12);
    expect(amplitudeToDbfs(32_768 * dbToGain(-12))).toBeCloseTo(-12, 9);
    expect(amplitudeToDbfs(0)).toBe(SILENCE_DBFS);
    expect(amplitudeToDbfs(-1)).toBe(SILENCE_DBFS);
  });
});
