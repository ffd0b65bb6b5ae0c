/**
 * G.711 companding (ITU-T G.711, tables 1a/1b for A-law, 2a/2b for mu-law), 8 bits a sample. The standard defines
 * 13- and 14-bit input; the spare low bits of a 16-bit sample are cut as in ITU-T G.191's reference code, so the
 * result is bit exact with it. Both directions are table look-ups.
 */
export type G711Law = 'mulaw' | 'alaw';

/** The code of silence, for filling gaps on the wire. */
export const G711_SILENCE: Readonly<Record<G711Law, number>> = { mulaw: 0xff, alaw: 0xd5 };

/** Bits of a 16-bit sample that the encoder does not look at. */
const MULAW_SHIFT = 2;
const ALAW_SHIFT = 4;

const MULAW_BIAS = 33;
const MULAW_MAX = 0x1fff;

const DECODE: Readonly<Record<G711Law, Int16Array>> = {
  mulaw: Int16Array.from({ length: 256 }, (_, code) => expandMulaw(code)),
  alaw: Int16Array.from({ length: 256 }, (_, code) => expandAlaw(code)),
};

const ENCODE_MULAW = encoderTable(MULAW_SHIFT, compressMulaw);
const ENCODE_ALAW = encoderTable(ALAW_SHIFT, compressAlaw);

/**
 * Compands `samples` into `out` (as long at least; a new array where it is left out) and returns the bytes written.
 */
export function encodeG711(law: G711Law, samples: Int16Array, out = new Uint8Array(samples.length)): Uint8Array {
  const table = law === 'mulaw' ? ENCODE_MULAW : ENCODE_ALAW;
  const shift = law === 'mulaw' ? MULAW_SHIFT : ALAW_SHIFT;
  const mask = table.length - 1;
  for (let i = 0; i < samples.length; i++) out[i] = table[(samples[i]! >> shift) & mask]!;
  return out.length === samples.length ? out : out.subarray(0, samples.length);
}

/**
 * Expands G.711 `codes` into `out` (as long at least; a new array where it is left out) and returns the samples
 * written. Every byte value is a valid code.
 */
export function decodeG711(law: G711Law, codes: Uint8Array, out = new Int16Array(codes.length)): Int16Array {
  const table = DECODE[law];
  for (let i = 0; i < codes.length; i++) out[i] = table[codes[i]!]!;
  return out.length === codes.length ? out : out.subarray(0, codes.length);
}

/** One table entry per value of the sample's significant bits, in two's complement. */
function encoderTable(shift: number, compress: (magnitude: number) => number): Uint8Array {
  const size = 65_536 >> shift;
  const table = new Uint8Array(size);
  for (let index = 0; index < size; index++) {
    const negative = index >= size / 2;
    // One's complement, as the reference: -1 has magnitude 0 and gets the code of "negative zero".
    table[index] = compress(negative ? size - 1 - index : index) ^ (negative ? 0x80 : 0);
  }
  return table;
}

/** Code of a non-negative 13-bit magnitude (14-bit signed input). */
function compressMulaw(magnitude: number): number {
  const biased = Math.min(magnitude + MULAW_BIAS, MULAW_MAX);
  const segment = 31 - Math.clz32(biased) - 5;
  const step = (biased >> (segment + 1)) & 0x0f;
  return ~((segment << 4) | step) & 0xff;
}

/** Code of a non-negative 11-bit magnitude: A-law's finest step is two units of its 13-bit signed input. */
function compressAlaw(magnitude: number): number {
  const segment = Math.max(0, 31 - Math.clz32(magnitude) - 3);
  const step = segment > 0 ? (magnitude >> (segment - 1)) & 0x0f : magnitude;
  return ((segment << 4) | step | 0x80) ^ 0x55;
}

function expandMulaw(code: number): number {
  const bits = ~code & 0xff;
  const magnitude = ((((bits & 0x0f) << 1) + MULAW_BIAS) << ((bits >> 4) & 7)) - MULAW_BIAS;
  return (bits & 0x80 ? -magnitude : magnitude) << MULAW_SHIFT;
}

function expandAlaw(code: number): number {
  const bits = code ^ 0x55;
  const segment = (bits >> 4) & 7;
  const step = ((bits & 0x0f) << 1) + 1;
  const magnitude = segment > 0 ? (step + 32) << (segment - 1) : step;
  return (bits & 0x80 ? magnitude : -magnitude) << 3;
}
