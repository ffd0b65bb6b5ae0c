/**
 * Silero's forward pass in TypeScript. All it computes with lies in one Float32Array, so that its matrix products, where
 * nearly all the time goes, can be done by a WASM kernel whose memory that array is.
 */
import {
  SILERO_BINS,
  SILERO_CONTEXT,
  SILERO_LAYOUT,
  SILERO_STATE,
  SILERO_UNITS,
  SILERO_WINDOW,
  type SileroLayer,
} from './silero-model.js';
import { SileroSpectra } from './silero-spectra.js';

/**
 * out[o] = bias[o] + Σ weights[o][i] · x[i], the weights in blocks as `SILERO_BLOCK` says; below zero gives zero if
 * `relu`. Offsets count floats in the memory.
 */
export type DenseProduct = (layer: SileroLayer, x: number, out: number, relu: boolean) => void;

/** Where the pass keeps its intermediate results, after the weights. Rows of padding stay zero for ever. */
const MAGNITUDES = Math.ceil(SILERO_LAYOUT.floats / 16) * 16;
const FIRST = MAGNITUDES + 6 * SILERO_BINS; // 4 spectra between two rows of padding
const SECOND = FIRST + 5 * 128; // 4 rows after one of padding
const THIRD = SECOND + 2 * 64;
const RECURRENT = THIRD + 64; // encoded, then hidden
const GATES = RECURRENT + 2 * SILERO_UNITS;

/** Floats that the memory must have. */
export const SILERO_MEMORY = GATES + 4 * SILERO_UNITS;

export class SileroForward {
  readonly #memory: Float32Array;
  readonly #dense: DenseProduct;
  readonly #spectra: SileroSpectra;
  readonly #signal = new Float32Array(SILERO_CONTEXT + SILERO_WINDOW + SILERO_CONTEXT);

  /**
   * @param memory at least `SILERO_MEMORY` zeros; the weights are copied into it
   * @param dense the product over that memory
   */
  constructor(weights: Float32Array, memory: Float32Array, dense: DenseProduct) {
    memory.set(weights);
    this.#memory = memory;
    this.#dense = dense;
    this.#spectra = new SileroSpectra(memory.subarray(SILERO_LAYOUT.window, SILERO_LAYOUT.window + 256));
  }

  /** See `SileroKernel.run`. */
  run(state: Float32Array, samples: Int16Array): number {
    if (state.length !== SILERO_STATE) throw new RangeError(`state must have ${SILERO_STATE} elements`);
    if (samples.length !== SILERO_WINDOW) throw new RangeError(`samples must have ${SILERO_WINDOW} elements`);
    this.#frame(state, samples);
    this.#spectra.write(this.#signal, this.#memory, MAGNITUDES + SILERO_BINS);
    this.#encode();
    return this.#remember(state);
  }

  /** The context, the window and its end mirrored; then the window's end becomes the next context. */
  #frame(state: Float32Array, samples: Int16Array): void {
    const signal = this.#signal;
    const end = SILERO_CONTEXT + SILERO_WINDOW;
    for (let i = 0; i < SILERO_CONTEXT; i++) signal[i] = state[i]!;
    for (let i = 0; i < SILERO_WINDOW; i++) signal[SILERO_CONTEXT + i] = samples[i]! / 32768;
    for (let i = 0; i < SILERO_CONTEXT; i++) signal[end + i] = signal[end - 2 - i]!;
    for (let i = 0; i < SILERO_CONTEXT; i++) state[i] = signal[SILERO_WINDOW + i]!;
  }

  #encode(): void {
    const [first, second, third, fourth] = SILERO_LAYOUT.convolutions;
    for (let t = 0; t < 4; t++) this.#dense(first, MAGNITUDES + t * SILERO_BINS, FIRST + (t + 1) * 128, true);
    for (let t = 0; t < 2; t++) this.#dense(second, FIRST + t * 2 * 128, SECOND + t * 64, true);
    this.#dense(third, SECOND, THIRD, true);
    this.#dense(fourth, THIRD, RECURRENT, true);
  }

  #remember(state: Float32Array): number {
    const memory = this.#memory;
    const hidden = SILERO_CONTEXT;
    const cell = hidden + SILERO_UNITS;
    for (let i = 0; i < SILERO_UNITS; i++) memory[RECURRENT + SILERO_UNITS + i] = state[hidden + i]!;
    this.#dense(SILERO_LAYOUT.lstm, RECURRENT, GATES, false);
    let sum = memory[SILERO_LAYOUT.outputBias]!;
    for (let i = 0; i < SILERO_UNITS; i++) {
      const input = sigmoid(memory[GATES + i]!);
      const forget = sigmoid(memory[GATES + SILERO_UNITS + i]!);
      const candidate = Math.tanh(memory[GATES + 2 * SILERO_UNITS + i]!);
      const output = sigmoid(memory[GATES + 3 * SILERO_UNITS + i]!);
      const kept = forget * state[cell + i]! + input * candidate;
      const shown = output * Math.tanh(kept);
      state[cell + i] = kept;
      state[hidden + i] = shown;
      if (shown > 0) sum += shown * memory[SILERO_LAYOUT.outputWeights + i]!;
    }
    return sigmoid(sum);
  }
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}
