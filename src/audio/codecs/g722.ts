import { nativeKernels } from '../../base/native.js';

/** The halves of the quadrature mirror filter (G.722, table 10); the other half is the same backwards. */
const QMF = Int16Array.of(3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11);
const PAIRS = 12;
const TAPS = 2 * PAIRS;
/** Samples to filter before the history is moved to the front. */
const STRIDE = 320;

/** Where the lower band's quantiser changes, in 1/4096 steps (table 14), and its codes on either side of nought. */
const LOW_LEVELS = Int16Array.of(
  0,
  35,
  72,
  110,
  150,
  190,
  233,
  276,
  323,
  370,
  422,
  473,
  530,
  587,
  650,
  714,
  786,
  858,
  940,
  1023,
  1121,
  1219,
  1339,
  1458,
  1612,
  1765,
  1980,
  2195,
  2557,
  2919,
);
const LOW_POSITIVE = Uint8Array.from({ length: 31 }, (_, n) => (n === 0 ? 0 : 62 - n));
const LOW_NEGATIVE = Uint8Array.from({ length: 31 }, (_, n) => (n === 0 ? 0 : n < 3 ? 64 - n : 34 - n));
/** What codes of 4 bits, with which both ends adapt, and of 6 bits, which are heard, stand for (tables 17 and 18). */
const LOW_MAGNITUDES_4 = [0, 20_456, 12_896, 8_968, 6_288, 4_240, 2_584, 1_200];
const LOW_4 = Int16Array.of(...LOW_MAGNITUDES_4.map((value) => -value), ...LOW_MAGNITUDES_4.slice(1), 0);
const LOW_MAGNITUDES_6 = [
  24_808, 21_904, 19_008, 16_704, 14_984, 13_512, 12_280, 11_192, 10_232, 9_360, 8_576, 7_856, 7_192, 6_576, 6_000,
  5_456, 4_944, 4_464, 4_008, 3_576, 3_168, 2_776, 2_400, 2_032, 1_688, 1_360, 1_040, 728,
];
const LOW_6 = Int16Array.of(
  -136,
  -136,
  -136,
  -136,
  ...LOW_MAGNITUDES_6.map((value) => -value),
  ...LOW_MAGNITUDES_6,
  432,
  136,
  -432,
  -136,
);
/** How a code of 4 bits lets the step grow (tables 19 and 20). */
const LOW_GROWTH = Int16Array.of(-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60);
const HIGH_LEVEL = 564;
const HIGH_2 = Int16Array.of(-7_408, -1_616, 7_408, 1_616);
const HIGH_GROWTH = Int16Array.of(798, -214, 798, -214);

/** The first of a code's bits that are the upper band's. */
const HIGH_SHIFT = 6;

/** Sound of 16 kHz as G.722 at 64 kbit/s (ITU-T G.722, mode 1): a byte for each two samples. Bit exact. */
export class G722Encoder {
  readonly #low = lowBand();
  readonly #high = highBand();
  readonly #line = new Int16Array(TAPS - 2 + STRIDE);

  /**
   * @param samples an even number of them
   * @param out half as long at least; a new array where it is left out
   * @returns the bytes written
   */
  encode(samples: Int16Array, out = new Uint8Array(samples.length >> 1)): Uint8Array {
    const line = this.#line;
    const bytes = samples.length >> 1;
    for (let from = 0; from < 2 * bytes; from += STRIDE) {
      const count = Math.min(STRIDE, 2 * bytes - from);
      for (let i = 0; i < count; i++) line[TAPS - 2 + i] = samples[from + i]!;
      for (let at = 0; at < count; at += 2) {
        let odd = 0;
        let even = 0;
        for (let i = 0; i < PAIRS; i++) {
          odd += line[at + 2 * i]! * QMF[i]!;
          even += line[at + 2 * i + 1]! * QMF[PAIRS - 1 - i]!;
        }
        out[(from + at) >> 1] = this.#code((even + odd) >> 14, (even - odd) >> 14);
      }
      line.copyWithin(0, count, count + TAPS - 2);
    }
    return out.length === bytes ? out : out.subarray(0, bytes);
  }

  #code(low: number, high: number): number {
    return this.#lowCode(low) | (this.#highCode(high) << HIGH_SHIFT);
  }

  /** QUANTL, INVQAL */
  #lowCode(sample: number): number {
    const band = this.#low;
    const difference = saturated(sample - band.predicted);
    const magnitude = difference >= 0 ? difference : -(difference + 1);
    // Levels grow: halving finds the place in five steps.
    let least = 1;
    let most = LOW_LEVELS.length;
    while (least < most) {
      const middle = (least + most) >> 1;
      if (magnitude < (LOW_LEVELS[middle]! * band.step) >> 12) most = middle;
      else least = middle + 1;
    }
    const code = (difference < 0 ? LOW_NEGATIVE : LOW_POSITIVE)[least]!;
    adaptLow(band, code);
    return code;
  }

  /** QUANTH, INVQAH */
  #highCode(sample: number): number {
    const band = this.#high;
    const difference = saturated(sample - band.predicted);
    const magnitude = difference >= 0 ? difference : -(difference + 1);
    const isFar = magnitude >= (HIGH_LEVEL * band.step) >> 12;
    const code = (difference < 0 ? 1 : 3) - (isFar ? 1 : 0);
    adaptHigh(band, code);
    return code;
  }
}

/** The other way. */
export class G722Decoder {
  readonly #low = lowBand();
  readonly #high = highBand();
  readonly #line = new Int16Array(TAPS - 2 + STRIDE);

  /**
   * Every byte value is a valid code.
   * @param out twice as long at least; a new array where it is left out
   * @returns the samples written
   */
  decode(codes: Uint8Array, out = new Int16Array(2 * codes.length)): Int16Array {
    const line = this.#line;
    const samples = 2 * codes.length;
    for (let from = 0; from < samples; from += STRIDE) {
      const count = Math.min(STRIDE, samples - from);
      for (let at = 0; at < count; at += 2) this.#put(codes[(from + at) >> 1]!, TAPS - 2 + at);
      for (let at = 0; at < count; at += 2) {
        let first = 0;
        let second = 0;
        for (let i = 0; i < PAIRS; i++) {
          second += line[at + 2 * i]! * QMF[i]!;
          first += line[at + 2 * i + 1]! * QMF[PAIRS - 1 - i]!;
        }
        out[from + at] = saturated(first >> 11);
        out[from + at + 1] = saturated(second >> 11);
      }
      line.copyWithin(0, count, count + TAPS - 2);
    }
    return out.length === samples ? out : out.subarray(0, samples);
  }

  #put(code: number, at: number): void {
    const low = this.#low;
    const high = this.#high;
    const lowCode = code & 0x3f;
    const lower = limited(low.predicted + ((low.step * LOW_6[lowCode]!) >> 15));
    adaptLow(low, lowCode);
    const highCode = code >> HIGH_SHIFT;
    const upper = limited(high.predicted + ((high.step * HIGH_2[highCode]!) >> 15));
    adaptHigh(high, highCode);
    this.#line[at] = lower + upper;
    this.#line[at + 1] = lower - upper;
  }
}

function adaptLow(band: G722Band, code: number): void {
  const four = code >> 2;
  band.adapt((band.step * LOW_4[four]!) >> 15, LOW_GROWTH[four]!);
}

function adaptHigh(band: G722Band, code: number): void {
  band.adapt((band.step * HIGH_2[code]!) >> 15, HIGH_GROWTH[code]!);
}

/** LIMIT: 15 bits. */
function limited(value: number): number {
  return value > 16_383 ? 16_383 : value < -16_384 ? -16_384 : value;
}

/** As `G722Encoder` has it. */
type G722Encoding = Pick<G722Encoder, 'encode'>;
/** As `G722Decoder` has it. */
type G722Decoding = Pick<G722Decoder, 'decode'>;

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

/** 2048 · 2^(n/32): the mantissa of a step, from its logarithm (G.722, table 11). */
const STEP_MANTISSAS = Int16Array.from({ length: 32 }, (_, n) => Math.trunc(2_048 * 2 ** (n / 32) + 0.5));

/**
 * What one band of G.722 adapts: its step, and its predictor of two poles and six zeros (ITU-T G.722, 3.5 and 3.6, by
 * the names of its blocks). Sums saturate at 16 bits and products lose their low bits where the standard says so: all
 * implementations go through the same states.
 *
 * Each sample and weight is a field of its own: in arrays they take twice the time.
 */
class G722Band {
  /** The prediction of the next sample. */
  predicted = 0;
  /** The size of the quantiser's step. */
  step: number;
  /** Its logarithm, in units of 1/2048 octave. */
  #logStep = 0;
  readonly #maxLogStep: number;
  readonly #shift: number;
  /** The zeros' part of the prediction. */
  #fromZeros = 0;
  /** What was reconstructed of the last two samples, and of these what the poles are adapted by. */
  #out1 = 0;
  #out2 = 0;
  #partial1 = 0;
  #partial2 = 0;
  #pole1 = 0;
  #pole2 = 0;
  /** The last six differences, and the zeros' weights of them. */
  #difference1 = 0;
  #difference2 = 0;
  #difference3 = 0;
  #difference4 = 0;
  #difference5 = 0;
  #difference6 = 0;
  #zero1 = 0;
  #zero2 = 0;
  #zero3 = 0;
  #zero4 = 0;
  #zero5 = 0;
  #zero6 = 0;

  /**
   * @param step at the beginning
   * @param maxLogStep where its logarithm ends
   * @param shift what a step of logarithm 0 is made smaller by, in octaves
   */
  constructor(step: number, maxLogStep: number, shift: number) {
    this.step = step;
    this.#maxLogStep = maxLogStep;
    this.#shift = shift;
  }

  /**
   * Advances by one sample.
   * @param difference between the sample and its prediction, as both ends have it
   * @param logGrowth what the quantiser's output says of the step
   */
  adapt(difference: number, logGrowth: number): void {
    this.#scale(logGrowth);
    const partial = saturated(this.#fromZeros + difference); // PARREC
    this.#adaptPoles(partial);
    this.#adaptZeros(difference);
    this.#out2 = this.#out1;
    this.#out1 = saturated(this.predicted + difference); // RECONS
    this.#partial2 = this.#partial1;
    this.#partial1 = partial;
    this.#difference6 = this.#difference5;
    this.#difference5 = this.#difference4;
    this.#difference4 = this.#difference3;
    this.#difference3 = this.#difference2;
    this.#difference2 = this.#difference1;
    this.#difference1 = difference;
    this.#predict();
  }

  /** LOGSCL and SCALEL, LOGSCH and SCALEH */
  #scale(logGrowth: number): void {
    const logStep = ((this.#logStep * 127) >> 7) + logGrowth;
    this.#logStep = logStep < 0 ? 0 : logStep > this.#maxLogStep ? this.#maxLogStep : logStep;
    const mantissa = STEP_MANTISSAS[(this.#logStep >> 6) & 31]!;
    const down = this.#shift - (this.#logStep >> 11);
    this.step = (down < 0 ? mantissa << -down : mantissa >> down) << 2;
  }

  /** UPPOL2 and UPPOL1 */
  #adaptPoles(partial: number): void {
    // The signs of both: 0 where they are the same.
    const turned1 = (partial ^ this.#partial1) < 0;
    const turned2 = (partial ^ this.#partial2) < 0;
    const first = saturated(this.#pole1 << 2);
    const turned = turned1 ? first : -first;
    let second = (turned2 ? -128 : 128) + ((turned > 32_767 ? 32_767 : turned) >> 7);
    second += (this.#pole2 * 32_512) >> 15;
    second = second > 12_288 ? 12_288 : second < -12_288 ? -12_288 : second;
    const limit = saturated(15_360 - second);
    const grown = saturated((turned1 ? -192 : 192) + ((this.#pole1 * 32_640) >> 15));
    this.#pole1 = grown > limit ? limit : grown < -limit ? -limit : grown;
    this.#pole2 = second;
  }

  /** UPZERO */
  #adaptZeros(difference: number): void {
    const by = difference === 0 ? 0 : 128;
    this.#zero1 = weight(this.#zero1, this.#difference1 ^ difference, by);
    this.#zero2 = weight(this.#zero2, this.#difference2 ^ difference, by);
    this.#zero3 = weight(this.#zero3, this.#difference3 ^ difference, by);
    this.#zero4 = weight(this.#zero4, this.#difference4 ^ difference, by);
    this.#zero5 = weight(this.#zero5, this.#difference5 ^ difference, by);
    this.#zero6 = weight(this.#zero6, this.#difference6 ^ difference, by);
  }

  /** FILTEP, FILTEZ and PREDIC */
  #predict(): void {
    const fromPoles = saturated(product(this.#pole1, this.#out1) + product(this.#pole2, this.#out2));
    this.#fromZeros = saturated(
      product(this.#zero1, this.#difference1) +
        product(this.#zero2, this.#difference2) +
        product(this.#zero3, this.#difference3) +
        product(this.#zero4, this.#difference4) +
        product(this.#zero5, this.#difference5) +
        product(this.#zero6, this.#difference6),
    );
    this.predicted = saturated(fromPoles + this.#fromZeros);
  }
}

/** A zero's weight grows where signs are the same, and leaks. @param signs below 0 where they differ */
function weight(before: number, signs: number, by: number): number {
  return saturated((signs < 0 ? -by : by) + ((before * 32_640) >> 15));
}

function product(factor: number, sample: number): number {
  return (factor * saturated(2 * sample)) >> 15;
}

function lowBand(): G722Band {
  return new G722Band(32, 18_432, 8);
}

function highBand(): G722Band {
  return new G722Band(8, 22_528, 10);
}

function saturated(value: number): number {
  return value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value;
}
