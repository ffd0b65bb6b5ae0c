import { describe, expect, it } from 'vitest';
import {
  SILERO_LAYOUT,
  packSileroWeights,
  readSileroWeights,
  unpackSileroWeights,
} from '../../../../src/providers/vad/silero/silero-model.js';

const weights = readSileroWeights();

function changed(change: (file: Uint8Array) => void): Uint8Array {
  const file = packSileroWeights(weights);
  change(file);
  return file;
}

describe('the file of Silero weights', () => {
  it('holds every tensor, all of it finite', () => {
    expect(weights.length).toBe(SILERO_LAYOUT.floats);
    expect(weights.every(Number.isFinite)).toBe(true);
  });

  it('starts with the analysis window: a raised cosine', () => {
    expect(weights[0]).toBeCloseTo(0, 6);
    expect(weights[128]).toBeCloseTo(1, 6);
    expect(weights[64]).toBeCloseTo(0.5, 6);
  });

  it('comes back from packing as it was', () => {
    expect(same(unpackSileroWeights(packSileroWeights(weights)), weights)).toBe(true);
  });

  it('is read from the middle of a larger buffer', () => {
    const file = packSileroWeights(weights);
    const larger = new Uint8Array(file.length + 3);
    larger.set(file, 3);
    expect(same(unpackSileroWeights(larger.subarray(3)), weights)).toBe(true);
  });

  it.each([
    ['empty', new Uint8Array(0), /no known format/],
    ['of another kind', changed((file) => file.fill(0x41, 0, 8)), /no known format/],
    ['of a later format', changed((file) => (file[8] = 2)), /format version 2/],
    ['cut short', changed(() => undefined).subarray(0, 5000), /bytes long/],
    ['only a header', changed(() => undefined).subarray(0, 32), /bytes long/],
    ['with one bit flipped', changed((file) => (file[400_000]! ^= 1)), /damaged/],
  ])('is refused when %s', (_, file, message) => {
    expect(() => unpackSileroWeights(file)).toThrow(
      expect.objectContaining({ code: 'PROVIDER_FAILED', message: expect.stringMatching(message) as unknown }),
    );
  });

  it('is missed when it is not there', () => {
    expect(() => readSileroWeights(new URL('nothing.bin', import.meta.url))).toThrow(
      expect.objectContaining({ code: 'PROVIDER_FAILED' }),
    );
  });
});

function same(a: Float32Array, b: Float32Array): boolean {
  return Buffer.from(a.buffer).equals(Buffer.from(b.buffer));
}
