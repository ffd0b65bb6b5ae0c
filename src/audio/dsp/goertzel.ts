/** Frequencies that a bank measures. */
export const BANK_SIZE = 8;

/**
 * Measures eight frequencies in one block (Goertzel, 1958): `values[2 i]` and `values[2 i + 1]` become the real and
 * imaginary part of `sum of x[n] * e^(j w (N - 1 - n))`, that is with phases as they stand at the block's last sample.
 * So for a steady tone the value turns by `w` for each sample between the ends of two blocks.
 */
export class GoertzelBank {
  /** Parts of the eight values in turn. */
  readonly values = new Float64Array(2 * BANK_SIZE);
  readonly #cosines: Float64Array;
  readonly #sines: Float64Array;

  /** @param radians eight frequencies in radians a sample */
  constructor(radians: readonly number[]) {
    this.#cosines = Float64Array.from(radians, Math.cos);
    this.#sines = Float64Array.from(radians, Math.sin);
  }

  measure(samples: Int16Array): void {
    this.#measureFour(samples, 0);
    this.#measureFour(samples, 4);
  }

  /** Four resonators at a time keep their state in registers; a step waits for a product and one sum of the one before. */
  #measureFour(samples: Int16Array, first: number): void {
    const ca = 2 * this.#cosines[first]!;
    const cb = 2 * this.#cosines[first + 1]!;
    const cc = 2 * this.#cosines[first + 2]!;
    const cd = 2 * this.#cosines[first + 3]!;
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let a1 = 0;
    let b1 = 0;
    let c1 = 0;
    let d1 = 0;
    for (let i = 0; i < samples.length; i++) {
      const x = samples[i]!;
      const a0 = ca * a + (x - a1);
      const b0 = cb * b + (x - b1);
      const c0 = cc * c + (x - c1);
      const d0 = cd * d + (x - d1);
      a1 = a;
      b1 = b;
      c1 = c;
      d1 = d;
      a = a0;
      b = b0;
      c = c0;
      d = d0;
    }
    this.#settle(first, a, a1);
    this.#settle(first + 1, b, b1);
    this.#settle(first + 2, c, c1);
    this.#settle(first + 3, d, d1);
  }

  #settle(index: number, last: number, before: number): void {
    this.values[2 * index] = last - before * this.#cosines[index]!;
    this.values[2 * index + 1] = before * this.#sines[index]!;
  }
}
