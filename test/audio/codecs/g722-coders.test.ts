import { describe, expect, it } from 'vitest';
import { G722Decoder, G722Encoder, g722Decoder, g722Encoder } from '../../../src/audio/codecs/g722.js';
import { nativeKernels } from '../../../src/base/native.js';
import { Random } from '../../../src/base/random.js';

const native = nativeKernels();

/** Pieces of all lengths, of all that a coder can meet: faint to clipping, tones, steps, silence. */
function pieces(random: Random, count: number): Int16Array[] {
  return Array.from({ length: count }, () => {
    const gain = random.pick([0, 1, 30, 900, 12_000, 32_767]);
    const every = random.pick([1, 2, 7, 40, 1_000]);
    let value = 0;
    return Int16Array.from({ length: 2 * random.int(0, 400) }, (_, i) => {
      if (i % every === 0) value = Math.round(gain * (random.next() * 2 - 1));
      return random.chance(0.01) ? random.pick([-32_768, 32_767]) : value;
    });
  });
}

describe.skipIf(native === null)("the addon's G.722", () => {
  it.each([1, 2, 3])('gives the bits that TypeScript gives, %d', (seed) => {
    const [encoder, reference] = [g722Encoder(native), new G722Encoder()];
    const [decoder, theirs] = [g722Decoder(native), new G722Decoder()];
    for (const piece of pieces(new Random(seed), 150)) {
      const codes = encoder.encode(piece);
      expect(Buffer.compare(codes, reference.encode(piece))).toBe(0);
      expect([...decoder.decode(codes)]).toEqual([...theirs.decode(codes)]);
    }
  });

  it('takes any bytes for codes, as TypeScript does', () => {
    const random = new Random(4);
    const [decoder, reference] = [g722Decoder(native), new G722Decoder()];
    for (let n = 0; n < 200; n++) {
      const most = random.pick([1, 63, 255]);
      const codes = Uint8Array.from({ length: random.int(0, 500) }, () => random.int(0, most));
      expect([...decoder.decode(codes)]).toEqual([...reference.decode(codes)]);
    }
  });

  it('writes into what is given, as much as it needs', () => {
    const [out, samples] = [new Uint8Array(480).fill(7), new Int16Array(960).fill(7)];
    const [encoder, decoder] = [g722Encoder(native), g722Decoder(native)];
    expect(encoder.encode(new Int16Array(320), out)).toHaveLength(160);
    expect([...out.subarray(160)]).toEqual(Array.from({ length: 320 }, () => 7));
    expect(decoder.decode(out.subarray(0, 160), samples)).toHaveLength(320);
    expect([...samples.subarray(320)]).toEqual(Array.from({ length: 640 }, () => 7));
    expect(() => encoder.encode(new Int16Array(320), new Uint8Array(9))).toThrow('out must have 160 elements, not 9');
  });
});

it('is done without the addon as well', () => {
  expect(g722Encoder(null)).toBeInstanceOf(G722Encoder);
  expect(g722Decoder(null)).toBeInstanceOf(G722Decoder);
});
