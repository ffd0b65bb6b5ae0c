import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Beep, BeepDetector } from '../../../src/audio/tones/beep.js';
import { dtmfTones } from '../../../src/audio/tones/dtmf.js';
import { decodeG711, encodeG711 } from '../../../src/audio/codecs/g711.js';
import { LossConcealer } from '../../../src/audio/dsp/plc.js';
import { resample } from '../../../src/audio/dsp/resample.js';
import { ToneGenerator, type ToneOptions } from '../../../src/audio/tones/tones.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { packageFile } from '../../../src/package-files.js';
import { readFixtureLabels } from '../../../src/testing/labels/labels.js';
import { concat, noise, pieces, toSamples, voiceLike } from '../signals.js';

const RATE = 8000;

function found(samples: Int16Array, rate = RATE, cuts: readonly number[] = [rate / 50]): Beep[] {
  const detector = new BeepDetector(rate);
  return [...pieces(samples, cuts)].flatMap((part) => [...detector.push(part)]);
}

function tone(seconds: number, options: ToneOptions, rate = RATE): Int16Array {
  const out = new Int16Array(Math.round(seconds * rate));
  new ToneGenerator(rate, options).read(out);
  return out;
}

function silence(ms: number, rate = RATE): Int16Array {
  return new Int16Array(Math.round((ms * rate) / 1000));
}

function beep(ms: number, hz: number | readonly number[], levelDbfs = -16, rate = RATE): Int16Array {
  const frequenciesHz = typeof hz === 'number' ? [hz] : hz;
  return tone(ms / 1000, { frequenciesHz, levelDbfs, cadenceMs: [ms, 1], repeat: false }, rate);
}

const FREQUENCIES = [440, 523, 620, 700, 850, 941, 1000, 1209, 1400, 1680, 2000];
const LENGTHS = [160, 250, 400, 800];
const LEVELS = [-8, -20, -34];

describe('beeps', () => {
  it.each(FREQUENCIES)('of %i Hz are found: every length and level, clean and in noise, after µ-law', (hz) => {
    for (const ms of LENGTHS) {
      for (const level of LEVELS) {
        for (const noisy of [false, true]) {
          const lead = 137 + ms + level; // anywhere in the detector's blocks
          const clean = concat([new Int16Array(lead), beep(ms, hz, level), silence(300)]);
          const hiss = noise(clean.length, noisy ? 0.15 * 32_768 * 10 ** (level / 20) * Math.SQRT1_2 : 0, hz + ms);
          const line = decodeG711('mulaw', encodeG711('mulaw', toSamples(clean, hiss)));
          const beeps = found(line);
          const what = `${String(ms)} ms at ${String(level)} dBFS, noisy: ${String(noisy)}`;
          expect(beeps, what).toHaveLength(1);
          expect(Math.abs((beeps[0]?.frequencyHz ?? 0) - hz), what).toBeLessThan(12);
          expect(Math.abs((beeps[0]?.startSample ?? 0) - lead), what).toBeLessThan(RATE * 0.025);
          expect(Math.abs((beeps[0]?.endSample ?? 0) - lead - (ms * RATE) / 1000), what).toBeLessThan(RATE * 0.025);
        }
      }
    }
  });

  it.each([8000, 16_000, 48_000])('are found at %i Hz, however the audio is cut', (rate) => {
    const samples = concat([silence(500, rate), beep(400, 1000, -16, rate), silence(500, rate)]);
    const whole = found(samples, rate, [samples.length]);
    expect(whole).toMatchObject([{ frequencyHz: 1000 }]);
    expect(found(samples, rate, [1])).toEqual(whole);
    expect(found(samples, rate, [7, 331, 64])).toEqual(whole);
  });

  it('may sound with their octave, the lower or the higher the stronger', () => {
    for (const levelDbfs of [-16, [-16, -20], [-20, -16]] as const) {
      const both = tone(0.4, { frequenciesHz: [425, 850], levelDbfs, cadenceMs: [400, 1], repeat: false });
      expect(found(concat([silence(200), both, silence(200)]))).toHaveLength(1);
    }
  });

  it.each([1, 2])('are one where %i packets of them are lost and made up, wherever that is', (lost) => {
    for (const hz of [440, 1000, 1400]) {
      for (let first = 1; first < 18 - lost; first++) {
        const concealer = new LossConcealer(RATE);
        const line = concat([beep(360, hz), silence(300)]);
        for (let n = 0; n * 160 < line.length; n++) {
          const frame = line.subarray(n * 160, n * 160 + 160);
          if (n >= first && n < first + lost) concealer.conceal(frame);
          else concealer.accept(frame);
        }
        expect(found(line), `${String(hz)} Hz, from packet ${String(first)} on`).toHaveLength(1);
      }
    }
  });

  it('are reported 60 ms after their end, not before', () => {
    const detector = new BeepDetector(RATE);
    expect(detector.push(beep(400, 1000))).toEqual([]);
    expect(detector.push(silence(40))).toEqual([]);
    expect(detector.push(silence(40))).toHaveLength(1);
  });

  it('may come right after speech, one after another', () => {
    const samples = concat([voiceLike(2, RATE, 3), beep(300, 1000), silence(1000), beep(300, 700), silence(200)]);
    expect(found(samples).map(({ frequencyHz }) => frequencyHz)).toEqual([1000, 700]);
  });
});

describe('no beep is', () => {
  it.each([
    ['ringback', [440, 480], [2000, 4000]],
    ['British ringback', [400, 450], [400, 200, 400, 2000]],
    ['the busy tone', [480, 620], [500, 500]],
    ['congestion', [480, 620], [250, 250]],
    ['the dial tone', [350, 440], [6000]],
    ['a European dial tone', [425], [6000, 100]],
    ['a fax that calls', [1100], [500, 3000]],
    ['a fax that answers', [2100], [2600, 1000]],
    ['an answering modem', [2100], [450, 25]],
    ['a pip', [1000], [120, 880]],
  ])('%s', (_name, frequenciesHz, cadenceMs) => {
    for (const levelDbfs of [-10, -20, -30]) {
      expect(found(tone(12, { frequenciesHz, cadenceMs, levelDbfs }))).toEqual([]);
    }
  });

  it('any key, however long', () => {
    for (const onMs of [50, 100, 400]) expect(found(dtmfTones('123A456B789C*0#D', RATE, { onMs }))).toEqual([]);
  });

  it('a row of tones before an announcement', () => {
    const row = concat([beep(330, 950), beep(330, 1400), beep(330, 1800), silence(1000)]);
    expect(found(row)).toEqual([]);
    expect(found(concat([row, beep(330, 1400), silence(200)]))).toHaveLength(1);
  });

  it('a voice', () => {
    for (let seed = 0; seed < 4; seed++) expect(found(voiceLike(30, RATE, seed))).toEqual([]);
  });

  it('noise, silence, or a constant', () => {
    expect(found(toSamples(noise(10 * RATE, 3000, 1)))).toEqual([]);
    expect(found(silence(3000))).toEqual([]);
    expect(found(new Int16Array(3 * RATE).fill(20_000))).toEqual([]);
  });
});

it('refuses a rate that is none', () => {
  expect(() => new BeepDetector(100)).toThrow();
});

const folder = fileURLToPath(packageFile('fixtures/audio/'));

describe('the recordings', () => {
  const names = readdirSync(`${folder}voicemail`).filter((name) => name.endsWith('.wav'));
  it.each(names)('%s: the beep and nothing else', (name) => {
    const { samples, sampleRateHz } = decodeWav(readFileSync(`${folder}voicemail/${name}`));
    const labels = readFixtureLabels(`${folder}voicemail/${name.replace(/wav$/, 'json')}`);
    const expected = (labels.events ?? []).filter(({ kind }) => kind === 'beep');
    for (const rate of [sampleRateHz, 16_000]) {
      const beeps = found(resample(samples, sampleRateHz, rate), rate);
      expect(beeps).toHaveLength(expected.length);
      for (const [index, { startMs, endMs }] of expected.entries()) {
        expect(Math.abs((beeps[index]!.startSample * 1000) / rate - startMs)).toBeLessThan(30);
        expect(Math.abs((beeps[index]!.endSample * 1000) / rate - endMs)).toBeLessThan(30);
      }
    }
  });

  it.each(['acknowledgements', 'booking', 'clean', 'digits', 'dtmf', 'interruptions', 'noise', 'pauses', 'telephone'])(
    '%s: no beep in any of them',
    (group) => {
      const wavs = readdirSync(folder + group, { recursive: true, encoding: 'utf8' }).filter((n) => n.endsWith('.wav'));
      expect(wavs.length).toBeGreaterThan(0);
      for (const name of wavs) {
        const { samples, sampleRateHz } = decodeWav(readFileSync(join(folder, group, name)));
        expect(found(samples, sampleRateHz), name).toEqual([]);
      }
    },
  );
});

const others = process.env['PARLEY_AUDIO_DIR'];

describe.runIf(others !== undefined && existsSync(others))('other recordings', () => {
  it('of people hold no beep', () => {
    const root = others ?? '';
    let seconds = 0;
    for (const group of ['speech', 'conversation', 'digits'].filter((name) => existsSync(join(root, name)))) {
      for (const name of readdirSync(join(root, group)).filter((file) => file.endsWith('.wav'))) {
        const { samples, sampleRateHz } = decodeWav(readFileSync(join(root, group, name)));
        seconds += samples.length / sampleRateHz;
        expect(found(samples, sampleRateHz), name).toEqual([]);
      }
    }
    expect(seconds).toBeGreaterThan(0);
  });
});
