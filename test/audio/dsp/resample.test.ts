import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { polyphase, polyphases, polyphaseScript, resample, Resampler } from '../../../src/audio/dsp/resample.js';
import { sincTable } from '../../../src/audio/dsp/sinc-table.js';
import { nativeKernels } from '../../../src/base/native.js';
import { concat, db, noise, pieces, seededRandom, sine, splitTone, toSamples } from '../signals.js';

const RATES = [8_000, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
const POLYPHASES = polyphases();
const TWINS = POLYPHASES.filter(([, inner]) => inner !== polyphaseScript);
const PAIRS = RATES.flatMap((from) => RATES.filter((to) => to !== from).map((to) => [from, to] as const));

function run(samples: Int16Array, from: number, to: number, cuts: readonly number[], inner = polyphase): Int16Array {
  const resampler = new Resampler(from, to, inner);
  const out = [...pieces(samples, cuts)].map((part) => resampler.process(part).slice());
  return concat([...out, resampler.flush().slice()]);
}

/** Much quicker than toEqual on long arrays. */
function sameBits(a: Int16Array, b: Int16Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** The settled middle of a resampled tone. */
function toneThrough(from: number, to: number, frequencyHz: number, amplitude = 16_000): Int16Array {
  const out = resample(sine(from / 2, frequencyHz, from, amplitude), from, to);
  return out.subarray(to / 8, to / 4);
}

describe.each(POLYPHASES)('quality, %s', (_, inner) => {
  it.each(PAIRS)('%i to %i Hz: flat where it passes, silent where it must not', (from, to) => {
    const resampler = new Resampler(from, to, inner);
    const low = Math.min(from, to);
    const measure = (frequencyHz: number): Int16Array => {
      resampler.reset();
      const out = resampler.process(sine(Math.round(from / 4), frequencyHz, from, 16_000));
      return out.slice(Math.round(to / 16), Math.round(to / 8) * 2 - 100);
    };
    for (const share of [0.05, 0.3, 0.6, 0.83]) {
      const frequencyHz = (share * low) / 2;
      const { tonePower, restPower, amplitude } = splitTone(measure(frequencyHz), frequencyHz, to);
      expect(Math.abs(2 * db(amplitude / 16_000))).toBeLessThan(0.01);
      // Noise and images together, with the rounding to 16 bits (-94 dB here) in it.
      expect(db(tonePower / restPower)).toBeGreaterThan(80);
    }
    if (from < to) return;
    for (const share of [1.0, 1.02, 1.1, 1.3, 1.7, 2.4]) {
      const frequencyHz = (share * low) / 2;
      if (frequencyHz >= from / 2) continue;
      const out = measure(frequencyHz);
      const power = out.reduce((sum, value) => sum + value * value, 0) / out.length;
      expect(db(power / (16_000 ** 2 / 2))).toBeLessThan(-80);
    }
  });
});

it('keeps 16-bit quality for a full-scale tone in the voice band', () => {
  for (const [from, to] of [
    [48_000, 16_000],
    [22_050, 16_000],
    [16_000, 8_000],
  ] as const) {
    const { tonePower, restPower } = splitTone(toneThrough(from, to, 1_000, 32_000), 1_000, to);
    expect(db(tonePower / restPower)).toBeGreaterThan(88);
  }
});

describe('streaming', () => {
  it('gives the same bits however the input is cut', () => {
    const pair = fc.constantFrom(...PAIRS);
    const cuts = fc.array(fc.integer({ min: 1, max: 1_500 }), { minLength: 1, maxLength: 6 });
    const random = seededRandom(3);
    const signal = Int16Array.from({ length: 4_000 }, () => Math.floor(65_536 * random()) - 32_768);
    fc.assert(
      fc.property(pair, cuts, ([from, to], lengths) => {
        expect(sameBits(run(signal, from, to, lengths), run(signal, from, to, [signal.length]))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it.each(TWINS)('gives the same bits as in TypeScript: %s', (_, inner) => {
    const signal = toSamples(noise(20_000, 9_000, 4), sine(20_000, 700, 48_000, 20_000));
    const loud = Int16Array.from({ length: 3_000 }, (_sample, i) => (i % 100 < 50 ? 32_767 : -32_768));
    // The tables of the odd ones have up to 4 MB each: more than the WASM memory holds at once.
    const odd = [8_001, 11_025, 47_999, 47_997, 47_993, 47_991].map((from) => [from, 8_000] as const);
    for (const [from, to] of [...PAIRS, ...odd, [8_001, 48_000], [11_025, 16_000], ...PAIRS] as const) {
      for (const sound of [signal, loud]) {
        expect(sameBits(run(sound, from, to, [777], inner), run(sound, from, to, [777], polyphaseScript))).toBe(true);
      }
    }
  });

  it.each(TWINS)('takes calls larger than a resampler makes: %s', (_, inner) => {
    const history = Float64Array.from(sine(40_000, 700, 48_000, 20_000));
    const { coefficients, phases, step, rows, taps } = sincTable(16_000, 48_000);
    const count = Math.floor(((history.length - taps - 7) * phases) / step);
    const [out, expected] = [new Int16Array(count), new Int16Array(count)];
    inner(history, coefficients, out, count, 7, 1, phases, step, rows);
    polyphaseScript(history, coefficients, expected, count, 7, 1, phases, step, rows);
    expect(sameBits(out, expected)).toBe(true);
  });

  it('has a twin in WASM wherever there is SIMD', () => {
    expect(POLYPHASES.map(([name]) => name)).toEqual(expect.arrayContaining(['wasm', 'typescript']));
  });

  it.each(PAIRS)('%i to %i Hz: each 20 ms frame gives a 20 ms frame', (from, to) => {
    const resampler = new Resampler(from, to);
    const frame = sine(from / 50, 440, from, 1_000);
    for (let i = 0; i < 60; i++) expect(resampler.process(frame)).toHaveLength(to / 50);
  });

  it('counts exactly with any cuts', () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.constantFrom(...PAIRS), lengths, ([from, to], cuts) => {
        const resampler = new Resampler(from, to);
        let taken = 0;
        let given = 0;
        for (const length of cuts) {
          const promised = resampler.outputLength(length);
          const out = resampler.process(new Int16Array(length));
          expect(out).toHaveLength(promised);
          taken += length;
          given += out.length;
          expect(given).toBe(Math.ceil((taken * to) / from));
        }
      }),
    );
  });

  it.each(PAIRS)('%i to %i Hz: lags by delaySamples', (from, to) => {
    const resampler = new Resampler(from, to);
    const frequencyHz = 300;
    const out = resampler.process(sine(from / 4, frequencyHz, from, 16_000));
    const { phase } = splitTone(out.subarray(to / 10), frequencyHz, to);
    const expected = (2 * Math.PI * frequencyHz * (to / 10 - resampler.delaySamples)) / to;
    const difference = Math.atan2(Math.sin(phase - expected), Math.cos(phase - expected));
    expect(Math.abs((difference * to) / (2 * Math.PI * frequencyHz))).toBeLessThan(0.01);
    expect((resampler.delaySamples * 1000) / to).toBeLessThan(4.05);
  });

  it('has a whole delay between simple rates', () => {
    for (const [from, to] of PAIRS) {
      if ([22_050, 44_100].some((rate) => rate === from || rate === to)) continue;
      expect(Number.isInteger(new Resampler(from, to).delaySamples)).toBe(true);
    }
  });

  it('flush gives the rest and starts afresh', () => {
    const signal = toSamples(noise(1_000, 5_000, 9));
    const resampler = new Resampler(16_000, 8_000);
    const first = concat([resampler.process(signal).slice(), resampler.flush().slice()]);
    const second = concat([resampler.process(signal).slice(), resampler.flush().slice()]);
    expect(first).toHaveLength(500 + resampler.delaySamples);
    expect(second).toEqual(first);
    resampler.process(signal);
    resampler.reset();
    expect(concat([resampler.process(signal).slice(), resampler.flush().slice()])).toEqual(first);
  });

  it('writes into the array it is given, and refuses one that is too short', () => {
    const resampler = new Resampler(8_000, 16_000);
    const out = new Int16Array(400).fill(7);
    expect(resampler.processInto(new Int16Array(160), out)).toBe(320);
    expect(out[319]).toBe(0);
    expect(out[320]).toBe(7);
    expect(() => resampler.processInto(new Int16Array(160), new Int16Array(319))).toThrow(RangeError);
  });

  it('passes the same rate through untouched', () => {
    const resampler = new Resampler(16_000, 16_000);
    const signal = toSamples(noise(320, 5_000, 9));
    expect(resampler.process(signal)).toEqual(signal);
    expect(resampler.delaySamples).toBe(0);
    expect(resampler.flush()).toHaveLength(0);
  });

  it('clips what overshoots instead of wrapping', () => {
    const square = Int16Array.from({ length: 4_800 }, (_, i) => (Math.floor(i / 60) % 2 ? 32_767 : -32_768));
    for (const [from, to] of [
      [48_000, 16_000],
      [16_000, 48_000],
    ] as const) {
      const out = resample(square, from, to);
      for (let i = 50; i < out.length - 50; i++) {
        const source = square[Math.round((i * from) / to)]!;
        // Away from the edges the sign must be the source's.
        if (
          square[Math.round(((i - 4) * from) / to)] !== source ||
          square[Math.round(((i + 4) * from) / to)] !== source
        ) {
          continue;
        }
        expect(Math.sign(out[i]!)).toBe(Math.sign(source));
      }
    }
  });

  it('keeps a constant, to the bit, at every phase', () => {
    for (const [from, to] of PAIRS) {
      const out = new Resampler(from, to).process(new Int16Array(4_000).fill(-12_345));
      const settled = out.subarray(Math.ceil((2 * 64 * to) / Math.min(from, to)) + 100);
      expect(settled.length).toBeGreaterThan(100);
      expect(settled.every((value) => value === -12_345)).toBe(true);
    }
  });
});

describe('whole recordings', () => {
  it('keep their place and length', () => {
    for (const [from, to] of PAIRS) {
      const tone = sine(from / 5 + 7, 250, from, 12_000);
      const out = resample(tone, from, to);
      expect(out).toHaveLength(Math.round((tone.length * to) / from));
      const { phase } = splitTone(out.subarray(to / 25, to / 10), 250, to);
      const start = (2 * Math.PI * 250 * (to / 25)) / to;
      const samplesOff = ((Math.atan2(Math.sin(phase - start), Math.cos(phase - start)) / (2 * Math.PI)) * to) / 250;
      expect(Math.abs(samplesOff)).toBeLessThan(0.51);
    }
  });

  it('may be empty or a single sample', () => {
    expect(resample(new Int16Array(0), 8_000, 48_000)).toHaveLength(0);
    expect(resample(Int16Array.of(1_000), 8_000, 48_000)).toHaveLength(6);
    expect(resample(Int16Array.of(1_000), 48_000, 8_000)).toHaveLength(0);
  });
});

describe('rates', () => {
  it.each([0, -8_000, 7_999, 48_001, 16_000.5, Number.NaN, Infinity])('refuses %d Hz', (rate) => {
    const refusal: unknown = expect.objectContaining({ code: 'AUDIO_RATE_UNSUPPORTED' });
    expect(() => new Resampler(rate, 16_000)).toThrow(refusal);
    expect(() => new Resampler(16_000, rate)).toThrow(refusal);
  });

  it('takes odd rates with a table of bounded size', () => {
    const table = sincTable(47_999, 8_001);
    expect(table.coefficients.byteLength).toBeLessThan(8_000_000);
    const { tonePower, restPower } = splitTone(
      resample(sine(11_111, 500, 11_111, 16_000), 11_111, 16_001).subarray(500, 9_000),
      500,
      16_001,
    );
    expect(db(tonePower / restPower)).toBeGreaterThan(65);
  });

  it('makes the table of a pair once', () => {
    expect(sincTable(22_050, 16_000)).toBe(sincTable(22_050, 16_000));
    for (let rate = 20_000; rate < 20_060; rate += 2) sincTable(rate, 8_000);
    expect(sincTable(22_050, 16_000).taps).toBeGreaterThan(0);
  });
});

describe.runIf(nativeKernels())('the native inner loop', () => {
  const call = (changes: Record<number, unknown>) => {
    const args: unknown[] = [new Float64Array(100), new Float64Array(16), new Int16Array(10), 10, 0, 0, 2, 1, 2];
    for (const [index, value] of Object.entries(changes)) args[Number(index)] = value;
    return (): void => Reflect.apply(polyphase, undefined, args) as undefined;
  };

  it('takes what is right', () => {
    expect(call({})).not.toThrow();
    expect(call({ 3: 0 })).not.toThrow();
  });

  it.each([
    ['a history of another type', { 0: new Float32Array(100) }, TypeError],
    ['no coefficients', { 1: undefined }, TypeError],
    ['output too short', { 3: 11 }, RangeError],
    ['history too short', { 0: new Float64Array(11) }, RangeError],
    ['a start behind the history', { 4: 95 }, RangeError],
    ['a negative start', { 4: -1 }, RangeError],
    ['a phase out of range', { 5: 2 }, RangeError],
    ['no step', { 7: 0 }, RangeError],
    ['more rows than phases', { 8: 4 }, RangeError],
    ['rows of 5 taps', { 1: new Float64Array(10) }, RangeError],
    ['no taps', { 1: new Float64Array(0) }, RangeError],
    ['a fraction', { 3: 1.5 }, RangeError],
    ['not a number', { 6: Number.NaN }, RangeError],
  ] as const)('refuses %s', (_, changes, error) => {
    expect(call(changes)).toThrow(error);
  });
});
