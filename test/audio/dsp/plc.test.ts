import { describe, expect, it } from 'vitest';
import { LossConcealer, pitchPeriod } from '../../../src/audio/dsp/plc.js';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { concat, db, noise, pieces, seededRandom, sine, toSamples, voiceLike } from '../signals.js';

const RATES = [8_000, 16_000, 24_000, 48_000];

/** Plays `samples` in 20 ms frames, those in `lost` made up. */
function play(samples: Int16Array, rate: number, lost: (frame: number) => boolean): Int16Array {
  const concealer = new LossConcealer(rate);
  return concat(
    [...pieces(samples.slice(), [rate / 50])].map((frame, i) => {
      if (lost(i)) concealer.conceal(frame);
      else concealer.accept(frame);
      return frame;
    }),
  );
}

/** Some harmonics of a voice with a steady pitch. */
function vowel(length: number, pitchHz: number, rate: number): Int16Array {
  return toSamples(...[1, 2, 3, 4, 5].map((k) => sine(length, k * pitchHz, rate, 6_000 / k)));
}

function largestStep(samples: Int16Array): number {
  return samples.reduce((most, value, i) => (i === 0 ? 0 : Math.max(most, Math.abs(value - samples[i - 1]!))), 0);
}

describe('pitchPeriod', () => {
  it.each(RATES)('finds steady pitches at %i Hz', (rate) => {
    for (const pitch of [70, 85, 110, 130, 150, 180]) {
      const period = pitchPeriod(Float64Array.from(vowel(rate / 20, pitch, rate)), rate);
      const periods = (period * pitch) / rate;
      expect(Math.abs(periods - Math.round(periods)) * (rate / pitch)).toBeLessThan(0.75);
    }
  });

  it('stays in its span for silence, noise and extremes', () => {
    for (const signal of [new Float64Array(800), noise(800, 3_000, 1), new Float64Array(800).fill(-32_768)]) {
      const period = pitchPeriod(signal, 16_000);
      expect(period).toBeGreaterThanOrEqual(80);
      expect(period).toBeLessThanOrEqual(240);
    }
  });
});

describe.each(RATES)('concealment at %i Hz', (rate) => {
  const frame = rate / 50;

  it('goes on with a steady voice so that the loss is hardly there', () => {
    for (const pitch of [90, 125, 170, 210]) {
      const voice = vowel(rate, pitch, rate);
      const played = play(voice, rate, (i) => i === 10);
      let error = 0;
      let power = 0;
      // The first 10 ms, which are at full level.
      for (let i = 10 * frame; i < 10.5 * frame; i++) {
        error += (played[i]! - voice[i]!) ** 2;
        power += voice[i]! ** 2;
      }
      expect(db(power / Math.max(1, error))).toBeGreaterThan(12);
    }
  });

  it('does not click, neither at the loss nor at the return', () => {
    for (const pitch of [90, 125, 170, 210]) {
      const voice = vowel(rate, pitch, rate);
      const usual = largestStep(voice);
      for (const length of [1, 2, 3, 6]) {
        const played = play(voice, rate, (i) => i >= 10 && i < 10 + length);
        expect(largestStep(played)).toBeLessThanOrEqual(usual * 1.25);
      }
    }
  });

  it('fades to silence within 60 ms', () => {
    const voice = vowel(rate, 120, rate);
    const played = play(voice, rate, (i) => i >= 10 && i < 20);
    const levels = [0, 1, 2, 3].map((i) => levelOf(played.subarray((10 + i) * frame, (11 + i) * frame)).rmsDbfs);
    const before = levelOf(voice).rmsDbfs;
    expect(levels[0]).toBeGreaterThan(before - 2);
    expect(levels[1]).toBeLessThan(levels[0]!);
    expect(levels[2]).toBeLessThan(levels[1]!);
    expect(played.subarray(13 * frame, 20 * frame).every((value) => value === 0)).toBe(true);
  });

  it('changes no more than 10 ms of what returns', () => {
    const voice = voiceLike(1, rate, 4);
    for (const length of [1, 4, 12]) {
      const played = play(voice, rate, (i) => i >= 20 && i < 20 + length);
      expect(played.subarray(0, 20 * frame)).toEqual(voice.subarray(0, 20 * frame));
      const from = (20 + length) * frame + rate / 100;
      expect(played.subarray(from)).toEqual(voice.subarray(from));
    }
  });
});

describe('hard cases', () => {
  it('is silent before there was any audio, and lets the first audio in softly', () => {
    const concealer = new LossConcealer(8_000);
    const out = new Int16Array(160).fill(7);
    concealer.conceal(out);
    expect(concealer.concealing).toBe(true);
    expect(out.every((value) => value === 0)).toBe(true);
    const first = new Int16Array(160).fill(10_000);
    concealer.accept(first);
    expect(first[0]).toBeLessThan(1_000);
    expect(first[159]).toBe(10_000);
    expect(concealer.concealing).toBe(false);
  });

  it('never exceeds what was there by much, with losses of any pattern', () => {
    const random = seededRandom(8);
    const voice = voiceLike(20, 8_000, 6);
    const peak = voice.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const played = play(voice, 8_000, () => random() < 0.3);
    expect(played).toHaveLength(voice.length);
    expect(played.reduce((most, value) => Math.max(most, Math.abs(value)), 0)).toBeLessThan(peak * 1.6);
    expect(levelOf(played).rmsDbfs).toBeLessThan(levelOf(voice).rmsDbfs + 0.5);
    expect(levelOf(played).rmsDbfs).toBeGreaterThan(levelOf(voice).rmsDbfs - 4);
  });

  it('loses to nothing: better than silence for a voice', () => {
    const voice = vowel(16_000, 140, 16_000);
    const lost = (i: number) => i % 10 === 9;
    const error = (played: Int16Array) => played.reduce((sum, value, i) => sum + (value - voice[i]!) ** 2, 0);
    const gaps = voice.slice();
    for (let i = 9; i < 50; i += 10) gaps.fill(0, i * 320, (i + 1) * 320);
    expect(error(play(voice, 16_000, lost))).toBeLessThan(error(gaps) / 4);
  });

  it('clips instead of wrapping, and takes frames of any length', () => {
    const square = Int16Array.from({ length: 4_000 }, (_, i) => (Math.floor(i / 40) % 2 ? 32_767 : -32_768));
    const concealer = new LossConcealer(8_000);
    const lengths = [1, 80, 700, 3, 2_000];
    for (const [i, part] of [...pieces(square, lengths)].entries()) {
      if (i % 2 === 0) concealer.accept(part);
      else {
        const previous = part.slice();
        concealer.conceal(part);
        expect(part).toHaveLength(previous.length);
      }
    }
    concealer.accept(new Int16Array(0));
    concealer.conceal(new Int16Array(0));
  });

  it('does the same whether a gap is asked for in one piece or several', () => {
    const voice = vowel(1_600, 130, 8_000);
    const one = new LossConcealer(8_000);
    const many = new LossConcealer(8_000);
    one.accept(voice.slice());
    many.accept(voice.slice());
    const whole = new Int16Array(400);
    one.conceal(whole);
    const cut = new Int16Array(400);
    for (const part of pieces(cut, [7, 160, 33])) many.conceal(part);
    expect(cut).toEqual(whole);
  });
});
