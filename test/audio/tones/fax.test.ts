import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { dtmfTones } from '../../../src/audio/tones/dtmf.js';
import { FaxDetector, type FaxSign } from '../../../src/audio/tones/fax.js';
import { decodeG711, encodeG711 } from '../../../src/audio/codecs/g711.js';
import { LossConcealer } from '../../../src/audio/dsp/plc.js';
import { ToneGenerator, type ToneOptions } from '../../../src/audio/tones/tones.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { packageFile } from '../../../src/package-files.js';
import { answerTone, modemSignal } from '../../../src/testing/doubles/fax-signals.js';
import { concat, noise, pieces, seededRandom, sine, toSamples, voiceLike } from '../signals.js';

const RATE = 8000;

/** The first sign, and the millisecond in which it is reported. */
function found(samples: Int16Array, rate = RATE, cuts = [rate / 50]): { sign: FaxSign; atMs: number } | null {
  const detector = new FaxDetector(rate);
  let pushed = 0;
  for (const part of pieces(samples, cuts)) {
    pushed += part.length;
    const sign = detector.push(part);
    if (sign !== null) return { sign, atMs: (pushed * 1000) / rate };
  }
  return null;
}

function tone(seconds: number, options: ToneOptions): Int16Array {
  const out = new Int16Array(Math.round(seconds * RATE));
  new ToneGenerator(RATE, options).read(out);
  return out;
}

const silence = (ms: number): Int16Array => new Int16Array((ms * RATE) / 1000);

/** A telephone line: µ-law, some hiss, and packets that are lost and concealed. */
function line(clean: Int16Array, seed: number, { loss = 0.03, hissRms = 60 } = {}): Int16Array {
  const random = seededRandom(seed);
  const coded = decodeG711('mulaw', encodeG711('mulaw', toSamples(clean, noise(clean.length, hissRms, seed))));
  const concealer = new LossConcealer(RATE);
  for (let at = 0; at + 160 <= coded.length; at += 160) {
    const frame = coded.subarray(at, at + 160);
    if (random() < loss) concealer.conceal(frame);
    else concealer.accept(frame);
  }
  return coded;
}

describe('a fax machine is detected', () => {
  it.each([
    ['by its answering tone', answerTone(3000, RATE)],
    ['by one that is 15 Hz off', answerTone(3000, RATE, { hz: 2115 })],
    ['by one with its phase reversed', answerTone(3000, RATE, { reversals: true })],
    ['by that of a modem', answerTone(3000, RATE, { reversals: true, modulated: true })],
  ])('%s, within 1.2 s', (_what, sound) => {
    for (let seed = 1; seed <= 8; seed++) {
      const reported = found(line(concat([silence(400), sound]), seed));
      expect(reported?.sign).toBe('answer');
      expect((reported?.atMs ?? 0) - 400).toBeGreaterThanOrEqual(790);
      expect((reported?.atMs ?? 0) - 400).toBeLessThan(1300);
    }
  });

  it('by its modem alone', () => {
    const words = modemSignal(37, [0xff, 0x13, 0x80, 0x00, 0xee, 0xf8, 0xc4, 0x7e], RATE);
    for (let seed = 1; seed <= 8; seed++) {
      const reported = found(line(concat([silence(700), words]), seed));
      expect(reported?.sign).toBe('modem');
      expect((reported?.atMs ?? 0) - 700).toBeLessThan(1000);
    }
  });

  it('by its second burst, where it calls', () => {
    const calls = tone(12, { frequenciesHz: [1100], cadenceMs: [500, 3000] });
    for (let seed = 1; seed <= 8; seed++) {
      const reported = found(line(calls, seed));
      expect(reported?.sign).toBe('calling');
      expect(reported?.atMs).toBeLessThan(4200);
    }
    expect(found(calls.subarray(0, 3.4 * RATE))).toBeNull();
  });

  it('as soon behind silence that the detector was spared, bursts and their pauses too', () => {
    const burst = tone(0.5, { frequenciesHz: [1100], levelDbfs: [-12] });
    const reported = [false, true].map((isSpared) => {
      const detector = new FaxDetector(RATE);
      const quiet = (samples: number): void => {
        if (isSpared) detector.skip(samples);
        else expect(detector.push(new Int16Array(samples))).toBeNull();
      };
      const signs: (FaxSign | null)[] = [];
      for (let n = 0; n < 2; n++) {
        signs.push(detector.push(burst), detector.push(silence(500)));
        quiet(2_500 * 8 + 7);
      }
      detector.push(silence(500));
      quiet(9_999);
      for (const part of pieces(answerTone(1_500, RATE), [160])) signs.push(detector.push(part));
      return signs;
    });
    expect([...new Set(reported[0])]).toEqual([null, 'calling', 'answer']);
    expect(reported[1]).toEqual(reported[0]);
  });

  it('at any rate, however the audio is cut, and quiet too', () => {
    for (const rate of [8000, 16_000, 48_000]) {
      const samples = answerTone(2000, rate).map((value) => value / 16);
      const whole = found(samples, rate, [rate / 100]);
      expect(whole?.sign).toBe('answer');
      expect(found(samples, rate, [1])?.sign).toBe('answer');
    }
  });
});

describe('no fax machine is', () => {
  it.each([
    ['a beep', [1000], [400, 10_000]],
    ['a beep of 1100 Hz', [1100], [500, 12_000]],
    ['a high beep', [2100], [600, 10_000]],
    ['a long one', [1400], [2400, 10_000]],
    ['a tone in the modem band', [1750], [4000, 1000]],
    ['ringback', [440, 480], [2000, 4000]],
    ['the busy tone', [480, 620], [500, 500]],
    ['a row before an announcement', [1400], [330, 30]],
    ['a pip every second', [1100], [100, 900]],
  ])('%s', (_name, frequenciesHz, cadenceMs) => {
    for (const levelDbfs of [-10, -25]) {
      expect(found(line(tone(12, { frequenciesHz, cadenceMs, levelDbfs }), 3))).toBeNull();
    }
  });

  it('any key, however long', () => {
    for (const onMs of [50, 400, 2000]) expect(found(dtmfTones('123A456B789C*0#D', RATE, { onMs }))).toBeNull();
  });

  it('a voice, noise or silence', () => {
    for (let seed = 0; seed < 4; seed++) expect(found(voiceLike(30, RATE, seed))).toBeNull();
    expect(found(toSamples(noise(10 * RATE, 3000, 1)))).toBeNull();
    expect(found(silence(5000))).toBeNull();
  });

  it('music, with high notes and chords', () => {
    const note = (hz: number, ms: number): Int16Array => sine((ms * RATE) / 1000, hz, RATE, 4000);
    const melody = concat([1568, 1760, 1865, 1976, 2093, 1865, 1661, 1760, 2093].map((hz) => note(hz, 350)));
    const chord = toSamples(note(523, 3000), note(1047, 3000), note(2093, 3000));
    const whistle = Int16Array.from({ length: 5 * RATE }, (_, i) =>
      Math.round(4000 * Math.sin((2 * Math.PI * 1750 * i) / RATE + 12 * Math.sin((2 * Math.PI * 2 * i) / RATE))),
    );
    for (const music of [melody, chord, whistle]) expect(found(line(concat([music, music]), 5))).toBeNull();
  });

  const folder = fileURLToPath(packageFile('fixtures/audio/'));

  it('anybody in the recordings', () => {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.wav'));
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      const { samples, sampleRateHz } = decodeWav(readFileSync(folder + name));
      expect(found(samples, sampleRateHz), name).toBeNull();
    }
  });
});

it('refuses a rate that is none', () => {
  expect(() => new FaxDetector(100)).toThrow();
});
