/** 2048 · 2^(n/32): the mantissa of a step, from its logarithm (G.722, table 11). */
const STEP_MANTISSAS = Int16Array.from({ length: 32 }, (_, n) => Math.trunc(2_048 * 2 ** (n / 32) + 0.5));

/**
 * What one band of G.722 adapts: its step, and its predictor of two poles and six zeros (ITU-T G.722, 3.5 and 3.6, by
 * the names of its blocks). Sums saturate at 16 bits and products lose their low bits where the standard says so: all
 * implementations go through the same states.
 *
 * Each sample and weight is a field of its own: in arrays they take twice the time.
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

export function lowBand(): G722Band {
  return new G722Band(32, 18_432, 8);
}

export function highBand(): G722Band {
  return new G722Band(8, 22_528, 10);
}

export function saturated(value: number): number {
  return value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value;
}
