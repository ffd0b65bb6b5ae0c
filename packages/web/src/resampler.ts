/** Zero crossings of the sinc on each side, at the lower of the two rates. */
const CROSSINGS = 24;
/** Table entries between two zero crossings; values between them are interpolated. */
const STEPS = 256;
/** End of the passband, as a share of the lower rate's Nyquist frequency. */
const CUTOFF = 0.92;

/**
 * Resamples a stream with a windowed sinc (Smith, "Digital Audio Resampling"), for browsers whose audio context does
 * not support the line's rate. It keeps state between calls, so block sizes do not matter.
 */
export class WorkletResampler {
  /** Input samples per output sample. */
  readonly #step: number;
  readonly #scale: number;
  readonly #reach: number;
  readonly #kernel = kernelTable();
  /** Input that is still needed. */
  #input: Float32Array<ArrayBuffer>;
  #length: number;
  /** Position of the next output sample in `#input`. */
  #position: number;
  #output = new Float32Array(1024);

  constructor(fromHz: number, toHz: number) {
    this.#step = fromHz / toHz;
    this.#scale = Math.min(1, toHz / fromHz) * CUTOFF;
    this.#reach = Math.ceil(CROSSINGS / this.#scale);
    this.#input = new Float32Array(4 * this.#reach + 1024);
    // The stream starts with silence, so that the first sample has a past.
    this.#length = this.#reach;
    this.#position = this.#reach;
  }

  /** The output for the input so far. Valid until the next call. */
  process(input: Float32Array): Float32Array {
    this.#append(input);
    let count = 0;
    while (this.#position + this.#reach < this.#length) {
      if (count === this.#output.length) this.#output = grown(this.#output, count * 2);
      this.#output[count++] = this.#valueAt(this.#position);
      this.#position += this.#step;
    }
    const unneeded = Math.max(0, Math.floor(this.#position) - this.#reach);
    this.#input.copyWithin(0, unneeded, this.#length);
    this.#length -= unneeded;
    this.#position -= unneeded;
    return this.#output.subarray(0, count);
  }

  #append(input: Float32Array): void {
    const length = this.#length + input.length;
    if (length > this.#input.length) this.#input = grown(this.#input, length * 2);
    this.#input.set(input, this.#length);
    this.#length = length;
  }

  #valueAt(position: number): number {
    const input = this.#input;
    const kernel = this.#kernel;
    const scale = this.#scale;
    let sum = 0;
    for (let at = Math.ceil(position - this.#reach), end = position + this.#reach; at <= end; at++) {
      const place = Math.abs(at - position) * scale * STEPS;
      const index = Math.floor(place);
      const low = kernel[index] ?? 0;
      const high = kernel[index + 1] ?? 0;
      sum += (input[at] ?? 0) * (low + (high - low) * (place - index));
    }
    return sum * scale;
  }
}

/** One side of a sinc with a Blackman window. */
function kernelTable(): Float32Array {
  const table = new Float32Array(CROSSINGS * STEPS + 1);
  for (let index = 0; index < table.length; index++) {
    const x = (Math.PI * index) / STEPS;
    const turn = (Math.PI * index) / (CROSSINGS * STEPS);
    const window = 0.42 + 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn);
    table[index] = (index === 0 ? 1 : Math.sin(x) / x) * window;
  }
  return table;
}

function grown(array: Float32Array, length: number): Float32Array<ArrayBuffer> {
  const larger = new Float32Array(length);
  larger.set(array);
  return larger;
}
