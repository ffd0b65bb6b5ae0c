import { describe, expect, it } from 'vitest';
import { DtmfDetector } from '../../src/audio/tones/dtmf.js';
import { LossConcealer } from '../../src/audio/dsp/plc.js';
import { checkRate } from '../../src/audio/frame.js';
import { ToneGenerator } from '../../src/audio/tones/tones.js';

const refusal = { code: 'AUDIO_RATE_UNSUPPORTED', httpStatus: 422 };

describe('sample rates', () => {
  it.each([8_000, 11_025, 16_000, 22_050, 44_100, 48_000])('%i Hz is taken', (rate) => {
    expect(() => checkRate(rate)).not.toThrow();
  });

  it.each([0, -1, 7_999, 48_001, 16_000.5, Number.NaN, Infinity])('%d Hz is refused, by everything', (rate) => {
    expect(() => checkRate(rate)).toThrow(expect.objectContaining(refusal));
    expect(() => new DtmfDetector(rate)).toThrow(expect.objectContaining(refusal));
    expect(() => new LossConcealer(rate)).toThrow(expect.objectContaining(refusal));
    expect(() => new ToneGenerator(rate, { frequenciesHz: [440] })).toThrow(expect.objectContaining(refusal));
  });
});
