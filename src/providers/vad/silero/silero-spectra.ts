/** The first stage of Silero's network: four magnitude spectra of one window, by a 256-point FFT. */
import { SILERO_BINS } from './silero-model.js';

const POINTS = 256;
const HOP = 128;

export class SileroSpectra {
  readonly #window: Float32Array;
  readonly #cos = new Float64Array(POINTS / 2);
  readonly #sin = new Float64Array(POINTS / 2);
  readonly #reversed = new Uint8Array(POINTS);
  readonly #re = new Float64Array(POINTS);
  readonly #im = new Float64Array(POINTS);

  /** @param window the analysis window, 256 values */
  constructor(window: Float32Array) {
    this.#window = window;
    for (let i = 0; i < POINTS / 2; i++) {
      this.#cos[i] = Math.cos((2 * Math.PI * i) / POINTS);
      this.#sin[i] = -Math.sin((2 * Math.PI * i) / POINTS);
    }
    for (let i = 1; i < POINTS; i++) this.#reversed[i] = (this.#reversed[i >> 1]! >> 1) | ((i & 1) * (POINTS / 2));
  }

  /**
   * Writes 4 × 129 magnitudes to `out` from `offset` on.
   * @param signal 640 samples, -1..1
   */
  write(signal: Float32Array, out: Float32Array, offset: number): void {
    for (let frame = 0; frame < 4; frame += 2) {
      this.#load(signal, frame * HOP);
      this.#transform();
      this.#magnitudes(out, offset + frame * SILERO_BINS);
    }
  }

  /** Two real frames as one complex signal, in the order that the transform wants. */
  #load(signal: Float32Array, start: number): void {
    const re = this.#re;
    const im = this.#im;
    const reversed = this.#reversed;
    const window = this.#window;
    for (let i = 0; i < POINTS; i++) {
      const from = reversed[i]!;
      re[i] = signal[start + from]! * window[from]!;
      im[i] = signal[start + HOP + from]! * window[from]!;
    }
  }

  #transform(): void {
    const re = this.#re;
    const im = this.#im;
    const cos = this.#cos;
    const sin = this.#sin;
    this.#firstStages();
    for (let half = 4; half < POINTS; half *= 2) {
      const step = POINTS / (2 * half);
      for (let start = 0; start < POINTS; start += 2 * half) {
        for (let j = 0; j < half; j++) {
          const top = start + j;
          const bottom = top + half;
          const c = cos[j * step]!;
          const s = sin[j * step]!;
          const real = re[bottom]! * c - im[bottom]! * s;
          const imaginary = re[bottom]! * s + im[bottom]! * c;
          re[bottom] = re[top]! - real;
          im[bottom] = im[top]! - imaginary;
          re[top] = re[top]! + real;
          im[top] = im[top]! + imaginary;
        }
      }
    }
  }

  /** The transforms of length 2 and 4, which need no multiplication. */
  #firstStages(): void {
    const re = this.#re;
    const im = this.#im;
    for (let i = 0; i < POINTS; i += 4) {
      const sumRe = re[i]! + re[i + 1]!;
      const sumIm = im[i]! + im[i + 1]!;
      const differenceRe = re[i]! - re[i + 1]!;
      const differenceIm = im[i]! - im[i + 1]!;
      const nextSumRe = re[i + 2]! + re[i + 3]!;
      const nextSumIm = im[i + 2]! + im[i + 3]!;
      const nextDifferenceRe = re[i + 2]! - re[i + 3]!;
      const nextDifferenceIm = im[i + 2]! - im[i + 3]!;
      re[i] = sumRe + nextSumRe;
      im[i] = sumIm + nextSumIm;
      re[i + 1] = differenceRe + nextDifferenceIm;
      im[i + 1] = differenceIm - nextDifferenceRe;
      re[i + 2] = sumRe - nextSumRe;
      im[i + 2] = sumIm - nextSumIm;
      re[i + 3] = differenceRe - nextDifferenceIm;
      im[i + 3] = differenceIm + nextDifferenceRe;
    }
  }

  /** Takes the two frames' spectra apart: a real signal's spectrum is its own mirror image, conjugated. */
  #magnitudes(out: Float32Array, offset: number): void {
    const re = this.#re;
    const im = this.#im;
    for (let bin = 0; bin < SILERO_BINS; bin++) {
      const mirror = (POINTS - bin) & (POINTS - 1);
      const sumRe = re[bin]! + re[mirror]!;
      const sumIm = im[bin]! + im[mirror]!;
      const differenceRe = re[bin]! - re[mirror]!;
      const differenceIm = im[bin]! - im[mirror]!;
      out[offset + bin] = Math.sqrt(sumRe * sumRe + differenceIm * differenceIm) / 2;
      out[offset + SILERO_BINS + bin] = Math.sqrt(sumIm * sumIm + differenceRe * differenceRe) / 2;
    }
  }
}
