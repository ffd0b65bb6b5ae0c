import { describe, expect, it } from 'vitest';
import { DTMF_KEYS, DtmfDetector, dialMs, dialTones } from '../../../src/audio/tones/dtmf.js';

describe.each([8000, 16_000, 24_000, 48_000])('keys at %i Hz', (rate) => {
  it('are all understood by a receiver, 200 ms apart', () => {
    const found = new DtmfDetector(rate).push(dialTones(DTMF_KEYS, rate));
    expect(found.map(({ digit }) => digit).join('')).toBe(DTMF_KEYS);
    for (const [index, { startSample }] of found.entries()) {
      expect(Math.abs(startSample - index * 0.2 * rate)).toBeLessThan(0.008 * rate);
    }
  });

  it('may wait in between, before and behind', () => {
    const tones = dialTones('w1ww2w', rate);
    const found = new DtmfDetector(rate).push(tones);
    expect(found.map(({ digit }) => digit).join('')).toBe('12');
    expect(tones).toHaveLength(2.4 * rate);
    expect(dialMs('w1ww2w')).toBe(2400);
    expect(tones.subarray(0, 0.5 * rate).every((sample) => sample === 0)).toBe(true);
    expect(Math.abs((found[1]?.startSample ?? 0) - 1.7 * rate)).toBeLessThan(0.008 * rate);
  });
});

it('of no kind have no tone', () => {
  expect(dialTones('', 8000)).toHaveLength(0);
  expect(() => dialTones('1x', 8000)).toThrow(RangeError);
});
