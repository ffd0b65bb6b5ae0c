import { describe, expect, it } from 'vitest';
import type { Denoiser } from '../../../../src/audio/dsp/denoiser.js';
import { Random } from '../../../../src/base/random.js';
import { CleanLine } from '../../../../src/providers/stt/embedded/clean-line.js';

const FRAME = 320;

/** Halves what it gets and lags by one call. */
function halving(): Denoiser & { closed: number } {
  let before = new Int16Array(0);
  return {
    closed: 0,
    delaySamples: FRAME,
    process(samples) {
      const out = before;
      before = samples.map((sample) => sample / 2);
      return out;
    },
    close() {
      this.closed++;
    },
  };
}

/** Frames of noise at a level. */
function noise(dbfs: number, seed: number): Int16Array {
  const random = new Random(seed);
  const peak = 32_768 * 10 ** (dbfs / 20) * Math.sqrt(3);
  return Int16Array.from({ length: FRAME }, () => Math.round((random.next() * 2 - 1) * peak));
}

function played(line: CleanLine, frames: number, dbfs: number, isSpeech: boolean, from = 0): number[] {
  return Array.from({ length: frames }, (_, index) => {
    const at = from + index * FRAME;
    const { samples, startSample } = line.process(noise(dbfs, index), at, isSpeech);
    expect(startSample).toBeLessThanOrEqual(at);
    return samples.length === 0 ? -1 : startSample;
  });
}

describe('the line', () => {
  it('passes unchanged while it is quiet', () => {
    const line = new CleanLine(halving());
    const audio = noise(-60, 1);
    played(line, 50, -60, false);
    played(line, 50, -20, true, 50 * FRAME);
    expect(line.process(audio, 100 * FRAME, false)).toEqual({ samples: audio, startSample: 100 * FRAME });
    expect(line.isNoisy).toBe(false);
  });

  it('is denoised from the moment that the noise is known, without a gap or an overlap', () => {
    const line = new CleanLine(halving());
    const starts = played(line, 40, -35, false);
    expect(line.isNoisy).toBe(true);
    const lag = starts.indexOf(-1);
    expect(lag).toBeGreaterThan(10);
    expect(starts[lag - 1]).toBe((lag - 1) * FRAME);
    expect(starts.slice(lag + 1)).toEqual(starts.slice(lag + 1).map((_, index) => (lag + index) * FRAME));
  });

  it('does not change in the middle of a turn', () => {
    const line = new CleanLine(halving());
    played(line, 5, -35, false);
    played(line, 100, -35, true, 5 * FRAME);
    expect(line.isNoisy).toBe(false);
  });

  it('is quiet again once the noise is over', () => {
    const line = new CleanLine(halving());
    played(line, 40, -35, false);
    played(line, 200, -65, false, 40 * FRAME);
    expect(line.isNoisy).toBe(false);
  });

  it('is quiet with digital silence, although speech begins before it is detected', () => {
    const line = new CleanLine(halving());
    let at = 0;
    for (let turn = 0; turn < 5; turn++) {
      for (let frame = 0; frame < 50; frame++, at += FRAME) line.process(new Int16Array(FRAME), at, false);
      played(line, 9, -20, false, at);
      played(line, 50, -20, true, at + 9 * FRAME);
      at += 59 * FRAME;
    }
    expect(line.isNoisy).toBe(false);
  });

  it('closes its denoiser', () => {
    const denoiser = halving();
    new CleanLine(denoiser).close();
    expect(denoiser.closed).toBe(1);
  });
});
