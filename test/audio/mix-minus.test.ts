import { describe, expect, it } from 'vitest';
import { MixMinus } from '../../src/audio/mix-minus.js';

const RATE = 8000;
const FRAME = 160;

/** Samples that tell where they come from. */
function ramp(first: number, count: number, step = 1): Int16Array {
  return Int16Array.from({ length: count }, (_, i) => first + i * step);
}

function all(frames: readonly (Int16Array | null)[]): number[] {
  return frames.flatMap((frame) => (frame === null ? Array<number>(FRAME).fill(0) : Array.from(frame)));
}

describe('what one party hears of the others', () => {
  it('is the sum of the sources to the sample, each as late as its jitter', () => {
    const mix = new MixMinus(RATE);
    const heard: (Int16Array | null)[] = [];
    for (let tick = 0; tick < 10; tick++) {
      mix.push('one', ramp(tick * FRAME, FRAME), RATE);
      mix.push('two', ramp(-3 * tick * FRAME, FRAME, -3), RATE, 0);
      heard.push(mix.pull(ramp(10_000, FRAME, 0)));
    }
    const samples = all(heard);
    // `one` waits for 40 ms: it is heard from the second frame on.
    const expected = samples.map((_, at) => 10_000 - 3 * at + Math.max(0, at - FRAME));
    expect(samples).toEqual(expected);
  });

  it('takes pieces of any length, and forgets a source at once', () => {
    const mix = new MixMinus(RATE);
    const whole = ramp(1, 10 * FRAME);
    for (let at = 0; at < whole.length; at += 77) mix.push('one', whole.subarray(at, at + 77), RATE);
    const heard = [mix.pull(), mix.pull(), mix.pull()];
    expect(all(heard)).toEqual(Array.from(whole.subarray(0, 3 * FRAME)));
    mix.drop('one');
    expect(mix.pull()).toBeNull();
  });

  it('gives the base frame itself when nothing else sounds, and silence when nothing does', () => {
    const mix = new MixMinus(RATE);
    const base = ramp(0, FRAME);
    expect(mix.pull(base)).toBe(base);
    expect(mix.pull()).toBeNull();
    mix.push('one', ramp(5, FRAME), RATE);
    expect(mix.pull(base)).toBe(base); // too little to play without a gap
  });

  it('fades out what a source has left, and begins again with its jitter', () => {
    const mix = new MixMinus(RATE);
    mix.push('one', ramp(1000, 2 * FRAME + 80, 0), RATE);
    mix.pull();
    mix.pull();
    const last = mix.pull();
    expect(Array.from(last!.subarray(0, 40))).toEqual(Array<number>(40).fill(1000));
    expect(last![79]).toBeLessThan(30);
    expect(last![80]).toBe(0);
    mix.push('one', ramp(1000, FRAME, 0), RATE);
    expect(mix.pull()).toBeNull();
    mix.push('one', ramp(1000, FRAME, 0), RATE);
    expect(mix.pull()).not.toBeNull();
  });

  it('converts rates, bends what is too loud, and never passes full scale', () => {
    const mix = new MixMinus(RATE);
    for (let tick = 0; tick < 4; tick++) {
      mix.push('one', ramp(30_000, 960, 0), 48_000);
      mix.push('two', ramp(30_000, FRAME, 0), RATE);
    }
    mix.pull();
    const frame = mix.pull()!;
    expect(frame).toHaveLength(FRAME);
    expect(Math.max(...frame)).toBeGreaterThan(31_000);
    expect(Math.max(...frame)).toBeLessThanOrEqual(32_767);
  });

  it('leaves out a little of a source that runs fast, and drops a burst', () => {
    const mix = new MixMinus(RATE);
    let waiting = 0;
    // 2 % fast for 60 s: 1.2 s too much.
    for (let tick = 0; tick < 3000; tick++) {
      mix.push('fast', ramp(500, tick % 50 === 0 ? 2 * FRAME : FRAME, 0), RATE);
      const frame = mix.pull();
      if (tick > 10) expect(frame).not.toBeNull();
    }
    while (mix.pull() !== null) waiting++;
    expect(waiting).toBeLessThanOrEqual(8);
    mix.push('burst', ramp(500, 100 * FRAME, 0), RATE);
    let played = 0;
    while (mix.pull() !== null) played++;
    expect(played).toBeLessThanOrEqual(103);
  });
});
