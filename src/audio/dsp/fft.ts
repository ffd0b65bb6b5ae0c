/**
 * The spectrum of real signals of one length, by the mixed-radix decimation in time of Cooley and Tukey (1965): two
 * real samples are one complex one, so that the transform is half as long.
 */
export class RealFft {
  /** Number of values of `power`, from 0 Hz to half the sample rate. */
  readonly bins: number;
  readonly #half: number;
  readonly #factors: readonly number[];
  /** e^(-2πik/half), and e^(-2πik/length) for the last step. */
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;
  readonly #lastCos: Float64Array;
  readonly #lastSin: Float64Array;
  readonly #re: Float64Array;
  readonly #im: Float64Array;
  readonly #sumRe: Float64Array;
  readonly #sumIm: Float64Array;

  /** @param length samples of a signal: even, and best a product of small primes. @throws RangeError for an odd one */
  constructor(readonly length: number) {
    if (!(Number.isInteger(length) && length >= 2 && length % 2 === 0)) {
      throw new RangeError(`No spectrum of ${String(length)} samples`);
    }
    const half = length / 2;
    this.bins = half + 1;
    this.#half = half;
    this.#factors = factorsOf(half);
    const turn = (k: number, of: number): number => (2 * Math.PI * k) / of;
    this.#cos = Float64Array.from({ length: half }, (_, k) => Math.cos(turn(k, half)));
    this.#sin = Float64Array.from({ length: half }, (_, k) => -Math.sin(turn(k, half)));
    this.#lastCos = Float64Array.from({ length: half + 1 }, (_, k) => Math.cos(turn(k, length)));
    this.#lastSin = Float64Array.from({ length: half + 1 }, (_, k) => -Math.sin(turn(k, length)));
    this.#re = new Float64Array(half);
    this.#im = new Float64Array(half);
    const longest = Math.max(1, ...this.#factors);
    this.#sumRe = new Float64Array(longest);
    this.#sumIm = new Float64Array(longest);
  }

  /** The power of each bin (squared magnitude, unscaled) of `length` samples. */
  power(samples: Float64Array, out: Float64Array): void {
    const half = this.#half;
    this.#transform(samples, 0, 1, 0, half, 0);
    const [re, im] = [this.#re, this.#im];
    for (let k = 0; k <= half; k++) {
      const a = k % half;
      const b = (half - k) % half;
      // Even and odd samples apart, then together again.
      const evenRe = (re[a]! + re[b]!) / 2;
      const evenIm = (im[a]! - im[b]!) / 2;
      const oddRe = (im[a]! + im[b]!) / 2;
      const oddIm = (re[b]! - re[a]!) / 2;
      const turnRe = this.#lastCos[k]!;
      const turnIm = this.#lastSin[k]!;
      const sumRe = evenRe + oddRe * turnRe - oddIm * turnIm;
      const sumIm = evenIm + oddRe * turnIm + oddIm * turnRe;
      out[k] = sumRe * sumRe + sumIm * sumIm;
    }
  }

  /** Transforms every `stride`th complex sample from `from` on into `count` places from `to` on. */
  #transform(samples: Float64Array, from: number, stride: number, to: number, count: number, depth: number): void {
    const [re, im] = [this.#re, this.#im];
    if (count === 1) {
      re[to] = samples[2 * from]!;
      im[to] = samples[2 * from + 1]!;
      return;
    }
    const factor = this.#factors[depth]!;
    const part = count / factor;
    for (let f = 0; f < factor; f++) {
      this.#transform(samples, from + f * stride, stride * factor, to + f * part, part, depth + 1);
    }
    const step = this.#half / count;
    const [sumRe, sumIm] = [this.#sumRe, this.#sumIm];
    for (let k = 0; k < part; k++) {
      for (let g = 0; g < factor; g++) {
        let totalRe = 0;
        let totalIm = 0;
        for (let f = 0; f < factor; f++) {
          const turn = (f * (k + g * part) * step) % this.#half;
          const at = to + f * part + k;
          totalRe += re[at]! * this.#cos[turn]! - im[at]! * this.#sin[turn]!;
          totalIm += re[at]! * this.#sin[turn]! + im[at]! * this.#cos[turn]!;
        }
        sumRe[g] = totalRe;
        sumIm[g] = totalIm;
      }
      for (let g = 0; g < factor; g++) {
        re[to + g * part + k] = sumRe[g]!;
        im[to + g * part + k] = sumIm[g]!;
      }
    }
  }
}

/** Prime factors, the small ones first. */
function factorsOf(count: number): number[] {
  const factors: number[] = [];
  let left = count;
  for (let factor = 2; left > 1; factor++) {
    while (left % factor === 0) {
      factors.push(factor);
      left /= factor;
    }
  }
  return factors;
}
