import { describe, expect, it } from 'vitest';
import { type LineQuality, PhonePath } from '../../../../src/telephony/carriers/simulated/path.js';
import { Random } from '../../../../src/base/random.js';

/** Sends a ramp of frames and says at which tick each came out, by its level; -1 = silence. */
function through(quality: LineQuality, frames: number, seed = 1): { path: PhonePath; out: (Int16Array | null)[] } {
  const path = new PhonePath(quality, new Random(seed));
  const out = Array.from({ length: frames }, (_, i) => path.pass(tone(i)));
  return { path, out };
}

function tone(frame: number): Int16Array {
  return Int16Array.from({ length: 160 }, (_, i) => 8000 * Math.sin(((frame * 160 + i) * 2 * Math.PI * 200) / 8000));
}

const energy = (frame: Int16Array | null | undefined): number =>
  frame == null ? 0 : frame.reduce((sum, sample) => sum + sample * sample, 0) / frame.length;

describe('a path', () => {
  it('delays by whole frames and changes samples by no more than G.711 does', () => {
    const { out, path } = through({ delayMs: 60 }, 10);
    expect(out.slice(0, 3).map(energy)).toEqual([0, 0, 0]);
    for (const [index, frame] of out.slice(3).entries()) {
      const sent = tone(index);
      frame?.forEach((sample, i) => expect(Math.abs(sample - (sent[i] ?? 0))).toBeLessThan(260));
    }
    expect([path.sent, path.lost, path.delayFrames]).toEqual([10, 0, 3]);
  });

  it('waits for the jitter that its buffer covers, and loses what is later', () => {
    expect(through({ delayMs: 40, jitterMs: 60, bufferMs: 60 }, 1).path.delayFrames).toBe(5);
    const late = through({ delayMs: 0, jitterMs: 120, bufferMs: 60 }, 4000).path;
    expect(late.lost / late.sent).toBeCloseTo(0.5, 1);
  });

  it('conceals what is lost, the same for the same seed', () => {
    const { out, path } = through({ loss: 0.1 }, 2000);
    expect(path.lost / path.sent).toBeCloseTo(0.1, 1);
    const quiet = out.slice(3).filter((frame) => energy(frame) < 1e6).length;
    expect(quiet).toBeLessThan(path.lost / 2);
    expect(through({ loss: 0.1 }, 2000).out).toEqual(out);
    expect(through({ loss: 0.1 }, 2000, 2).out).not.toEqual(out);
  });

  it('passes silence as silence, at no cost', () => {
    const path = new PhonePath({ codec: 'alaw' }, new Random(1));
    for (let i = 0; i < 5; i++) path.pass(null);
    expect(path.pass(null)).toBeNull();
    expect(path.sent).toBe(0);
  });
});
