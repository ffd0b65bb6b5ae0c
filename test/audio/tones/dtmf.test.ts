import { describe, expect, it } from 'vitest';
import { DTMF_COLUMNS_HZ, DTMF_KEYS, DTMF_ROWS_HZ, DtmfDetector, dtmfTones } from '../../../src/audio/tones/dtmf.js';
import { decodeG711, encodeG711 } from '../../../src/audio/codecs/g711.js';
import { dbToGain } from '../../../src/audio/dsp/level.js';
import { ToneGenerator } from '../../../src/audio/tones/tones.js';
import { concat, noise, pieces, sine, toSamples, voiceLike } from '../signals.js';

const ALL = DTMF_KEYS.repeat(4);

function found(samples: Int16Array, rate: number, cuts: readonly number[] = [rate / 50]): string {
  const detector = new DtmfDetector(rate);
  return [...pieces(samples, cuts)].flatMap((part) => detector.push(part).map(({ digit }) => digit)).join('');
}

interface Line {
  onMs?: number;
  offMs?: number;
  rowDbfs?: number;
  columnDbfs?: number;
  /** Relative error of both frequencies. */
  detune?: number;
}

/** Keys as some line delivers them, starting anywhere in the detector's blocks. */
function keyed(keys: string, rate: number, lead: number, line: Line): Int16Array {
  const { onMs = 40, offMs = 40, rowDbfs = -12, columnDbfs = -12, detune = 0 } = line;
  const length = Math.round(((onMs + offMs) * rate) / 1000);
  const out = new Int16Array(lead + keys.length * length + rate / 20);
  for (let i = 0; i < keys.length; i++) {
    const key = DTMF_KEYS.indexOf(keys[i]!);
    const frequenciesHz = [DTMF_ROWS_HZ[key >> 2]!, DTMF_COLUMNS_HZ[key & 3]!].map((hz) => hz * (1 + detune));
    const tone = new ToneGenerator(rate, { frequenciesHz, levelDbfs: [rowDbfs, columnDbfs], cadenceMs: [onMs, offMs] });
    tone.read(out.subarray(lead + i * length, lead + (i + 1) * length));
  }
  return out;
}

describe.each([8_000, 16_000, 48_000])('digits at %i Hz', (rate) => {
  const leads = [0, 13, 29, 45].map((lead) => Math.round((lead * rate) / 8_000));

  it.each<[string, Line]>([
    ['40 ms on, 40 ms off', {}],
    ['45 ms on, 30 ms off', { onMs: 45, offMs: 30 }],
    ['long ones', { onMs: 300, offMs: 100 }],
    ['1.5 % too high', { detune: 0.015 }],
    ['1.5 % too low', { detune: -0.015 }],
    ['rows 7 dB above columns', { onMs: 50, rowDbfs: -9, columnDbfs: -16 }],
    ['columns 5 dB above rows', { onMs: 50, rowDbfs: -16, columnDbfs: -11 }],
    ['-33 dBFS', { rowDbfs: -33, columnDbfs: -33 }],
    ['near full scale', { rowDbfs: -6, columnDbfs: -6.1 }],
  ])('finds %s', (_, line) => {
    for (const lead of leads) expect(found(keyed(ALL, rate, lead, line), rate)).toBe(ALL);
  });

  it.each<[string, Line]>([
    ['23 ms', { onMs: 23 }],
    ['3.5 % too high', { onMs: 100, detune: 0.035 }],
    ['3.5 % too low', { onMs: 100, detune: -0.035 }],
    ['-45 dBFS', { onMs: 100, rowDbfs: -45, columnDbfs: -45 }],
    ['rows 14 dB above columns', { onMs: 100, rowDbfs: -6, columnDbfs: -20 }],
    ['columns 12 dB above rows', { onMs: 100, rowDbfs: -20, columnDbfs: -8 }],
  ])('leaves %s alone', (_, line) => {
    for (const lead of leads) expect(found(keyed(ALL, rate, lead, line), rate)).toBe('');
  });

  it('finds 40 ms digits in noise 12 dB below them', () => {
    const tones = keyed(ALL, rate, 0, {});
    const hiss = noise(tones.length, 32_767 * dbToGain(-12 - 12), 7);
    expect(found(toSamples(tones, hiss), rate)).toBe(ALL);
  });
});

describe('on the line', () => {
  it('survives mu-law and A-law', () => {
    for (const law of ['mulaw', 'alaw'] as const) {
      const tones = keyed(ALL, 8_000, 5, {});
      expect(found(decodeG711(law, encodeG711(law, tones)), 8_000)).toBe(ALL);
    }
  });

  it('gives the same digits at the same places however the audio is cut', () => {
    const tones = keyed(ALL, 8_000, 77, {});
    const whole = new DtmfDetector(8_000).push(tones);
    const detector = new DtmfDetector(8_000);
    expect([...pieces(tones, [1, 500, 33])].flatMap((part) => [...detector.push(part)])).toEqual(whole);
    for (const [i, { startSample }] of whole.entries()) {
      expect(Math.abs(startSample - (77 + i * 640))).toBeLessThanOrEqual(56);
    }
  });

  it('goes on behind silence that it was spared as behind silence', () => {
    const rate = 8_000;
    for (const spared of [rate / 50, 3 * rate, 7 * rate + 13]) {
      const digits = [false, true].map((isSpared) => {
        const detector = new DtmfDetector(rate);
        detector.push(keyed('5', rate, 0, {}));
        detector.push(new Int16Array(rate / 2));
        if (isSpared) detector.skip(spared);
        else detector.push(new Int16Array(spared));
        return [...pieces(keyed('19#', rate, 77, {}), [rate / 50])].flatMap((part) => detector.push(part));
      });
      expect(digits[0]!.map(({ digit }) => digit).join('')).toBe('19#');
      expect(digits[1]).toEqual(digits[0]);
    }
  });

  it('names a held key once, bridges a drop-out of 10 ms and lets go after it', () => {
    const tone = dtmfTones('5', 8_000, { onMs: 400, offMs: 100 });
    tone.fill(0, 1_600, 1_680);
    const detector = new DtmfDetector(8_000);
    const held: (string | undefined)[] = [];
    let digits = '';
    for (const part of pieces(tone, [160])) {
      for (const { digit } of detector.push(part)) digits += digit;
      held.push(detector.held);
    }
    expect(digits).toBe('5');
    expect(held[0]).toBeUndefined();
    expect(held.slice(3, 20).every((key) => key === '5')).toBe(true);
    expect(held.at(-1)).toBeUndefined();
  });

  it('finds a new key that follows without a pause', () => {
    const join = (keys: string) => concat([...keys].map((key) => dtmfTones(key, 8_000, { onMs: 60, offMs: 0 })));
    expect(found(concat([join('1592'), new Int16Array(800)]), 8_000)).toBe('1592');
  });
});

describe('what is no digit', () => {
  it.each([1, 2, 3])('speech-like signals, seed %i', (seed) => {
    expect(found(voiceLike(60, 8_000, seed), 8_000)).toBe('');
    expect(found(voiceLike(20, 16_000, seed), 16_000)).toBe('');
  });

  it('noise', () => {
    expect(found(toSamples(noise(8_000 * 30, 6_000, 11)), 8_000)).toBe('');
  });

  it('single tones, call progress, chords and sweeps', () => {
    const tones = (...frequencies: number[]) =>
      found(toSamples(...frequencies.map((hz) => sine(8_000, hz, 8_000, 5_000))), 8_000);
    for (const hz of [...DTMF_ROWS_HZ, ...DTMF_COLUMNS_HZ, 1_100, 2_100]) expect(tones(hz)).toBe('');
    expect(tones(350, 440)).toBe('');
    expect(tones(440, 480)).toBe('');
    expect(tones(480, 620)).toBe('');
    // Two rows; a row and a column in a chord; harmonics of a voice that hits a row and a column.
    expect(tones(697, 852)).toBe('');
    expect(tones(697, 1_209, 1_000, 500)).toBe('');
    expect(tones(...Array.from({ length: 12 }, (_, i) => 174.25 * (i + 1)))).toBe('');
    let phase = 0;
    const sweep = Int16Array.from({ length: 80_000 }, (_, i) => {
      phase += (2 * Math.PI * (300 + (i / 80_000) * 2_000)) / 8_000;
      return Math.round(6_000 * (Math.sin(phase) + Math.sin(1.2 * phase)));
    });
    expect(found(sweep, 8_000)).toBe('');
  });

  it('silence, full-scale noise and nothing at all', () => {
    expect(found(new Int16Array(16_000), 8_000)).toBe('');
    const square = Int16Array.from({ length: 8_000 }, (_, i) => (Math.floor(i / 5) % 2 ? 32_767 : -32_768));
    expect(found(square, 8_000)).toBe('');
    expect(new DtmfDetector(8_000).push(new Int16Array(0))).toEqual([]);
  });
});
