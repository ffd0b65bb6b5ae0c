import { describe, expect, it } from 'vitest';
import { DtmfDetector } from '../../../src/audio/tones/dtmf.js';
import { holdSound } from '../../../src/audio/tones/hold-sound.js';
import { levelOf } from '../../../src/audio/dsp/level.js';

/** A minute, in pieces of 20 ms. */
function minute(kind: 'music' | 'ringing', rateHz: number): Int16Array[] {
  const sound = holdSound(kind, rateHz);
  return Array.from({ length: 3000 }, () => sound.frame());
}

describe('the sound of a hold', () => {
  it.each([8000, 16_000, 48_000])('is music without a pause or a jump at %i Hz', (rateHz) => {
    const levels = minute('music', rateHz).map((frame) => levelOf(frame).rmsDbfs);
    expect(levels[0]).toBeGreaterThan(-60);
    expect(Math.min(...levels.slice(1))).toBeGreaterThan(-45);
    expect(Math.max(...levels)).toBeLessThan(-15);
  });

  it('or a telephone that rings for a second every five', () => {
    const isOn = minute('ringing', 8000).map((frame) => levelOf(frame).rmsDbfs > -40);
    expect(isOn.filter(Boolean)).toHaveLength(600);
    expect([isOn[49], isOn[50], isOn[249], isOn[250]]).toEqual([true, false, false, true]);
  });

  it('has nothing in it that sounds like a key', () => {
    for (const kind of ['music', 'ringing'] as const) {
      const detector = new DtmfDetector(8000);
      expect(minute(kind, 8000).flatMap((frame) => detector.push(frame))).toEqual([]);
    }
  });
});
