import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DTMF_COLUMNS_HZ, DTMF_ROWS_HZ, dtmfTones } from '../../../src/audio/tones/dtmf.js';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { ToneGenerator, type ToneOptions } from '../../../src/audio/tones/tones.js';
import { db, splitTone } from '../signals.js';

function read(
  options: ToneOptions,
  length: number,
  sampleRateHz = 8_000,
  cuts: readonly number[] = [length],
): Int16Array {
  const generator = new ToneGenerator(sampleRateHz, options);
  const out = new Int16Array(length);
  for (let at = 0, i = 0; at < length; i++) {
    const end = Math.min(length, at + cuts[i % cuts.length]!);
    generator.read(out.subarray(at, end));
    at = end;
  }
  return out;
}

const RINGBACK: ToneOptions = { frequenciesHz: [440, 480], cadenceMs: [200, 400] };

describe('ToneGenerator', () => {
  it.each([8_000, 16_000, 48_000])('makes each frequency at its level, at %i Hz', (rate) => {
    const tone = read({ frequenciesHz: [440, 620], levelDbfs: [-10, -16] }, rate, rate).subarray(rate / 100);
    expect(20 * Math.log10(splitTone(tone, 440, rate).amplitude / 32_767)).toBeCloseTo(-10, 1);
    expect(20 * Math.log10(splitTone(tone, 620, rate).amplitude / 32_767)).toBeCloseTo(-16, 1);
  });

  it('is pure', () => {
    const { tonePower, restPower } = splitTone(read({ frequenciesHz: [1_000] }, 8_000).subarray(100), 1_000, 8_000);
    expect(db(tonePower / restPower)).toBeGreaterThan(75);
  });

  it('follows its cadence to the sample, again and again', () => {
    const tone = read(RINGBACK, 4_800 * 3);
    for (let round = 0; round < 3; round++) {
      const from = round * 4_800;
      expect(levelOf(tone.subarray(from, from + 1_600)).rmsDbfs).toBeGreaterThan(-20);
      expect(tone.subarray(from + 1_600, from + 4_800).every((value) => value === 0)).toBe(true);
      expect(tone.subarray(from, from + 4_800)).toEqual(tone.subarray(0, 4_800));
    }
  });

  it('starts and ends without a click', () => {
    const tone = read({ frequenciesHz: [1_000], levelDbfs: -6, cadenceMs: [50, 50] }, 800);
    const full = 32_767 / 2;
    for (const edge of [tone.subarray(0, 4), tone.subarray(396, 400)]) {
      for (const value of edge) expect(Math.abs(value)).toBeLessThan(full * 0.06);
    }
  });

  it('gives the same samples however it is read', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 5 }), (cuts) => {
        expect(read(RINGBACK, 6_000, 8_000, cuts)).toEqual(read(RINGBACK, 6_000));
      }),
      { numRuns: 30 },
    );
  });

  it('ends where its cadence does not repeat', () => {
    const generator = new ToneGenerator(8_000, { ...RINGBACK, repeat: false });
    const out = new Int16Array(4_700).fill(9);
    generator.read(out);
    expect(generator.ended).toBe(false);
    generator.read(out);
    expect(generator.ended).toBe(true);
    expect(out.every((value) => value === 0)).toBe(true);
  });

  it('survives bursts shorter than its ramps, and clips', () => {
    const short = read({ frequenciesHz: [1_000], levelDbfs: 0, cadenceMs: [3, 3] }, 480);
    expect(levelOf(short).peakDbfs).toBeGreaterThan(-13);
    const loud = read({ frequenciesHz: [500, 500], levelDbfs: 0 }, 800);
    expect(Math.max(...loud)).toBe(32_767);
    expect(Math.min(...loud)).toBe(-32_768);
  });

  it('refuses what it cannot make', () => {
    for (const frequency of [0, -5, 4_000, Number.NaN]) {
      expect(() => new ToneGenerator(8_000, { frequenciesHz: [frequency] })).toThrow(RangeError);
    }
    expect(() => new ToneGenerator(8_000, { frequenciesHz: [440], cadenceMs: [] })).toThrow(RangeError);
    expect(() => new ToneGenerator(8_000, { frequenciesHz: [440], cadenceMs: [0, 0] })).toThrow(RangeError);
  });
});

describe('dtmfTones', () => {
  it('has the row and the column of each key, and the length asked for', () => {
    const keys = '123A456B789C*0#D';
    const tones = dtmfTones(keys, 8_000, { onMs: 80, offMs: 20 });
    expect(tones).toHaveLength(16 * 800);
    for (let i = 0; i < keys.length; i++) {
      const sounding = tones.subarray(i * 800 + 40, i * 800 + 600);
      const row = splitTone(sounding, DTMF_ROWS_HZ[i >> 2]!, 8_000);
      const column = splitTone(sounding, DTMF_COLUMNS_HZ[i & 3]!, 8_000);
      expect(db(column.tonePower / row.tonePower)).toBeCloseTo(2, 0);
      expect(tones.subarray(i * 800 + 640, (i + 1) * 800).every((value) => value === 0)).toBe(true);
    }
  });

  it('takes small letters and refuses other signs', () => {
    expect(dtmfTones('a', 8_000)).toEqual(dtmfTones('A', 8_000));
    expect(dtmfTones('', 8_000)).toHaveLength(0);
    expect(() => dtmfTones('12x', 8_000)).toThrow('"x" is not on the keypad');
  });
});
