import { describe, expect, it } from 'vitest';
import { PlaybackJitterBuffer } from '../src/jitter-buffer.js';

const BLOCK = 128;
const FRAME = 320;

/** 20 ms of a steady voice; its value tells frames apart. */
function frame(value = 16_384): Int16Array {
  return new Int16Array(FRAME).fill(value);
}

function push(buffer: PlaybackJitterBuffer, ms: number, value?: number): void {
  for (let at = 0; at < ms; at += 20) buffer.push(frame(value));
}

/** What is heard in the next `ms`. */
function hear(buffer: PlaybackJitterBuffer, ms: number): Float32Array {
  const heard = new Float32Array(ms * 16);
  for (let at = 0; at < heard.length; at += BLOCK) buffer.pull(heard.subarray(at, at + BLOCK));
  return heard;
}

function largestStep(heard: Float32Array, from = 0): number {
  let largest = 0;
  for (let at = 1; at < heard.length; at++) {
    largest = Math.max(largest, Math.abs((heard[at] ?? 0) - (heard[at - 1] ?? from)));
  }
  return largest;
}

function loudest(heard: Float32Array): number {
  return heard.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
}

describe('jitter buffer', () => {
  it('is silent until 60 ms are there, then plays all of it', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 40);
    expect(loudest(hear(buffer, 16))).toBe(0);
    expect(buffer.playing).toBe(false);
    push(buffer, 20);
    expect(loudest(hear(buffer, 8))).toBeGreaterThan(0.4);
    expect(buffer.playing).toBe(true);
    hear(buffer, 80);
    expect(buffer.playedSamples).toBe(60 * 16);
    expect(buffer.bufferedMs).toBe(0);
    expect(buffer.playing).toBe(false);
  });

  it('plays what is shorter than that after the same time', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 20);
    expect(loudest(hear(buffer, 120))).toBeGreaterThan(0.4);
    expect(buffer.playedSamples).toBe(320);
  });

  it('fades in and out without a click', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 80);
    const heard = hear(buffer, 160);
    expect(loudest(heard)).toBeCloseTo(0.5, 2);
    expect(largestStep(heard)).toBeLessThan(0.01);
  });

  it('never breaks a stream that comes in time', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 60);
    for (let turn = 0; turn < 200; turn++) {
      hear(buffer, 8 * 5);
      push(buffer, 40);
    }
    expect(buffer.underruns).toBe(0);
    expect(buffer.targetMs).toBe(60);
    expect(buffer.playedSamples).toBe(200 * 640);
  });

  it('does not count what comes long after it ran dry: it is simply the next thing said', () => {
    const buffer = new PlaybackJitterBuffer();
    for (let turn = 0; turn < 5; turn++) {
      push(buffer, 200);
      hear(buffer, 600);
    }
    expect(buffer.underruns).toBe(0);
  });

  it('counts what comes 100 ms after it ran dry, and gathers more each time, up to 200 ms', () => {
    const buffer = new PlaybackJitterBuffer();
    for (let turn = 0; turn < 12; turn++) {
      push(buffer, 200);
      hear(buffer, 304);
    }
    expect(buffer.underruns).toBe(11);
    expect(buffer.targetMs).toBe(200);
  });

  it('does not take the end of speech for lateness', () => {
    const buffer = new PlaybackJitterBuffer();
    for (let turn = 0; turn < 5; turn++) {
      push(buffer, 200);
      push(buffer, 40, 0);
      hear(buffer, 320);
    }
    expect(buffer.underruns).toBe(0);
  });

  it('gathers less again when the line has been good for a while', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 200);
    hear(buffer, 304);
    push(buffer, 200);
    expect(buffer.targetMs).toBe(80);
    for (let second = 0; second < 16; second++) {
      push(buffer, 1000);
      hear(buffer, 1000);
    }
    expect(buffer.targetMs).toBe(60);
  });

  it('holds within 5 ms, keeps everything, and goes on with the very next sample', () => {
    const buffer = new PlaybackJitterBuffer();
    for (let at = 0; at < 20; at++) buffer.push(frame(1000 + at));
    hear(buffer, 104);
    const played = buffer.playedSamples;
    buffer.hold();
    const held = hear(buffer, 200);
    expect(loudest(held.subarray(80))).toBe(0);
    expect(buffer.playing).toBe(false);
    expect(buffer.playedSamples - played).toBe(80);
    buffer.resume();
    const next = hear(buffer, 8);
    expect(next.at(-1)).toBeCloseTo((1000 + Math.floor((played + 80 + 127) / FRAME)) / 32_768, 5);
    hear(buffer, 400);
    expect(buffer.playedSamples).toBe(20 * FRAME);
  });

  it('leaves out what comes while it is held: a fade for clients that cannot hold', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 100);
    hear(buffer, 24);
    buffer.hold();
    const before = buffer.bufferedMs;
    push(buffer, 40);
    expect(buffer.bufferedMs).toBe(before);
  });

  it('does not begin while it is held', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 100);
    buffer.hold();
    expect(loudest(hear(buffer, 200))).toBe(0);
    buffer.resume();
    expect(loudest(hear(buffer, 40))).toBeGreaterThan(0.4);
  });

  it('drops everything within 5 ms, without a click', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 200);
    const before = hear(buffer, 40);
    buffer.clear();
    expect(buffer.bufferedMs).toBe(0);
    const after = hear(buffer, 80);
    expect(largestStep(Float32Array.from([...before.slice(-1), ...after]))).toBeLessThan(0.01);
    expect(loudest(after.subarray(80))).toBe(0);
    push(buffer, 100, 8000);
    expect(loudest(hear(buffer, 40))).toBeCloseTo(8000 / 32_768, 2);
  });

  it('drops what it held, and nothing of it comes back', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 200);
    hear(buffer, 40);
    buffer.hold();
    hear(buffer, 40);
    buffer.clear();
    expect(loudest(hear(buffer, 200))).toBe(0);
    expect(buffer.held).toBe(false);
  });

  it('catches up in silence after a stall', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 900);
    hear(buffer, 8);
    const before = buffer.bufferedMs;
    push(buffer, 200, 0);
    expect(buffer.bufferedMs).toBe(before);
    push(buffer, 20);
    expect(buffer.bufferedMs).toBe(before + 20);
  });

  it('plays what was sent ahead of time at once and whole, pauses between sentences too', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 20);
    push(buffer, 100);
    push(buffer, 100, 0);
    push(buffer, 280);
    expect(loudest(hear(buffer, 20))).toBeGreaterThan(0.1);
    expect(buffer.bufferedMs).toBe(480);
  });

  it('keeps no silence that speech would have to wait for', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 200, 0);
    expect(buffer.bufferedMs).toBe(0);
    push(buffer, 200);
    expect(loudest(hear(buffer, 20))).toBeGreaterThan(0.1);
    expect(buffer.underruns).toBe(0);
  });

  it('never holds more than 5 s', () => {
    const buffer = new PlaybackJitterBuffer();
    push(buffer, 60_000);
    expect(buffer.bufferedMs).toBeLessThanOrEqual(5000);
    expect(loudest(hear(buffer, 5200))).toBeGreaterThan(0.4);
    expect(buffer.bufferedMs).toBe(0);
  });

  it('ignores empty audio', () => {
    const buffer = new PlaybackJitterBuffer();
    buffer.push(new Int16Array(0));
    expect(buffer.bufferedMs).toBe(0);
    expect(loudest(hear(buffer, 200))).toBe(0);
    expect(buffer.underruns).toBe(0);
  });
});
