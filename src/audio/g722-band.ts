/** Zeros and poles of each band's predictor. */
const ZEROS = 6;
const POLES = 2;

/** 2048 · 2^(n/32): the mantissa of a step, from its logarithm (G.722, table 11). */
const STEP_MANTISSAS = Int16Array.from({ length: 32 }, (_, n) => Math.trunc(2_048 * 2 ** (n / 32) + 0.5));

/**
 * What one band of G.722 adapts: its step, and its predictor of two poles and six zeros (ITU-T G.722, 3.5 and 3.6, by
 * the names of its blocks). Sums saturate at 16 bits and products lose their low bits where the standard says so: all
 * implementations go through the same states.
 */
export class G722Band {
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
  /** What was reconstructed of the last samples, and of these what the poles are adapted by; the newest first. */
  readonly #outs = new Int32Array(POLES + 1);
  readonly #partials = new Int32Array(POLES + 1);
  readonly #poles = new Int32Array(POLES + 1);
  /** The last differences, the newest first, and the zeros' weights of them. */
  readonly #differences = new Int32Array(ZEROS + 1);
  readonly #zeros = new Int32Array(ZEROS + 1);

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
   * Goes on by a sample.
   * @param difference between the sample and its prediction, as both ends have it
   * @param logGrowth what the quantiser's output says of the step
   */
  adapt(difference: number, logGrowth: number): void {
    this.#scale(logGrowth);
    const [outs, partials, differences] = [this.#outs, this.#partials, this.#differences];
    differences[0] = difference;
    outs[0] = saturated(this.predicted + difference); // RECONS
    partials[0] = saturated(this.#fromZeros + difference); // PARREC
    this.#adaptPoles();
    this.#adaptZeros(difference);
    for (let i = ZEROS; i > 0; i--) differences[i] = differences[i - 1]!;
    for (let i = POLES; i > 0; i--) {
      outs[i] = outs[i - 1]!;
      partials[i] = partials[i - 1]!;
    }
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
  #adaptPoles(): void {
    const [poles, partials] = [this.#poles, this.#partials];
    const [now, before, twoBefore] = [partials[0]! >> 15, partials[1]! >> 15, partials[2]! >> 15];
    const first = saturated(poles[1]! << 2);
    const turned = now === before ? -first : first;
    let second = (now === twoBefore ? 128 : -128) + ((turned > 32_767 ? 32_767 : turned) >> 7);
    second += (poles[2]! * 32_512) >> 15;
    second = second > 12_288 ? 12_288 : second < -12_288 ? -12_288 : second;
    const limit = saturated(15_360 - second);
    const grown = saturated((now === before ? 192 : -192) + ((poles[1]! * 32_640) >> 15));
    poles[1] = grown > limit ? limit : grown < -limit ? -limit : grown;
    poles[2] = second;
  }

  /** UPZERO */
  #adaptZeros(difference: number): void {
    const [zeros, differences] = [this.#zeros, this.#differences];
    const by = difference === 0 ? 0 : 128;
    const sign = difference >> 15;
    for (let i = 1; i <= ZEROS; i++) {
      const grown = differences[i]! >> 15 === sign ? by : -by;
      zeros[i] = saturated(grown + ((zeros[i]! * 32_640) >> 15));
    }
  }

  /** FILTEP, FILTEZ and PREDIC */
  #predict(): void {
    const [outs, poles, differences, zeros] = [this.#outs, this.#poles, this.#differences, this.#zeros];
    const one = (poles[1]! * saturated(2 * outs[1]!)) >> 15;
    const two = (poles[2]! * saturated(2 * outs[2]!)) >> 15;
    let sum = 0;
    for (let i = ZEROS; i > 0; i--) sum += (zeros[i]! * saturated(2 * differences[i]!)) >> 15;
    this.#fromZeros = saturated(sum);
    this.predicted = saturated(saturated(one + two) + this.#fromZeros);
  }
}

export function lowBand(): G722Band {
  return new G722Band(32, 18_432, 8);
}

export function highBand(): G722Band {
  return new G722Band(8, 22_528, 10);
}

export function saturated(value: number): number {
  return value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value;
}
