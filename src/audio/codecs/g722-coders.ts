import { nativeKernels } from '../../base/native.js';
import { G722Decoder, G722Encoder } from './g722.js';

/** As `G722Encoder` has it. */
export type G722Encoding = Pick<G722Encoder, 'encode'>;
/** As `G722Decoder` has it. */
export type G722Decoding = Pick<G722Decoder, 'decode'>;

/** What a native coder remembers between calls. */
const STATE = 64;

/** G.722, by the fastest that runs here: all give the same bits. @param native null = TypeScript */
export function g722Encoder(native = nativeKernels()): G722Encoding {
  if (native === null) return new G722Encoder();
  const state = new Int32Array(STATE);
  return {
    encode: (samples, out) => {
      const bytes = beginning(out ?? new Uint8Array(samples.length >> 1), samples.length >> 1);
      native.g722Encode(state, samples, bytes);
      return bytes;
    },
  };
}

/** The other way. */
export function g722Decoder(native = nativeKernels()): G722Decoding {
  if (native === null) return new G722Decoder();
  const state = new Int32Array(STATE);
  return {
    decode: (codes, out) => {
      const samples = beginning(out ?? new Int16Array(2 * codes.length), 2 * codes.length);
      native.g722Decode(state, codes, samples);
      return samples;
    },
  };
}

function beginning<T extends Uint8Array | Int16Array>(all: T, length: number): T {
  return all.length === length ? all : (all.subarray(0, length) as T);
}
