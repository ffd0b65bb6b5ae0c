import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { G722Decoder, G722Encoder } from '../../../src/audio/codecs/g722.js';
import { Random } from '../../../src/base/random.js';

const RATE = 16_000;
const ffmpegs = spawnSync('ffmpeg', ['-hide_banner', '-encoders'], { encoding: 'utf8' }).stdout ?? '';

function ffmpeg(args: readonly string[], input: Uint8Array): Buffer {
  return spawnSync('ffmpeg', ['-v', 'error', ...args, 'pipe:1'], { input }).stdout;
}

/** Everything that a coder can meet: tones, noise from faint to clipping, steps and silence. */
function signal(): Int16Array {
  const random = new Random(722);
  return Int16Array.from({ length: 4 * RATE }, (_, i) => {
    const part = Math.floor(i / (RATE / 4));
    const gain = [300, 32_767, 8_000, 20, 0, 15_000, 32_767, 1][part % 8] ?? 0;
    if (part % 3 === 0) return Math.round(gain * Math.sin((2 * Math.PI * (100 + i / 10) * i) / RATE));
    if (part % 3 === 1) return Math.round(gain * (random.next() * 2 - 1));
    return i % 320 < 160 ? gain : -gain;
  });
}

function bytesOf(samples: Int16Array): Uint8Array {
  return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
}

function inPieces<T extends Int16Array | Uint8Array>(all: T, length: number, take: (piece: T) => void): void {
  for (let at = 0; at < all.length; at += length) take(all.subarray(at, at + length) as T);
}

describe('G.722', () => {
  it.runIf(ffmpegs.includes('g722'))('gives the bits that ffmpeg gives, both ways', () => {
    const samples = signal();
    const codes = new G722Encoder().encode(samples);
    const theirs = ffmpeg(['-f', 's16le', '-ar', '16000', '-i', 'pipe:0', '-f', 'g722'], bytesOf(samples));
    expect(Buffer.compare(theirs, codes)).toBe(0);
    const decoded = new G722Decoder().decode(codes);
    const heard = ffmpeg(['-f', 'g722', '-i', 'pipe:0', '-f', 's16le'], codes);
    expect(Buffer.compare(heard, bytesOf(decoded))).toBe(0);
  });

  it('gives the same however the sound is cut', () => {
    const samples = signal().subarray(0, RATE);
    const whole = new G722Encoder().encode(samples);
    const [encoder, decoder] = [new G722Encoder(), new G722Decoder()];
    const codes: number[] = [];
    inPieces(samples, 34, (piece) => codes.push(...encoder.encode(piece)));
    expect(codes).toEqual([...whole]);
    const decoded: number[] = [];
    inPieces(whole, 170, (piece) => decoded.push(...decoder.decode(piece)));
    expect(decoded).toEqual([...new G722Decoder().decode(whole)]);
  });

  it('carries what a telephone does not: 6 kHz', () => {
    const tone = Int16Array.from({ length: RATE / 2 }, (_, i) =>
      Math.round(8_000 * Math.sin((2 * Math.PI * 6_000 * i) / RATE)),
    );
    const heard = new G722Decoder().decode(new G722Encoder().encode(tone)).subarray(1_600);
    const rms = Math.hypot(...heard.subarray(0, 1_600)) / 40;
    expect(rms).toBeGreaterThan(5_000);
    expect(rms).toBeLessThan(6_300);
  });

  it('takes any bytes for codes', () => {
    const random = new Random(1);
    const junk = Uint8Array.from({ length: 32_000 }, () => random.int(0, 255));
    const heard = new G722Decoder().decode(junk);
    expect(heard).toHaveLength(64_000);
  });
});
