import { nativeKernels } from '../../../base/native.js';
import { wasmKernelExports, type WasmMemory } from '../../../base/webassembly.js';
import { SileroBatch } from './silero-batch.js';
import {
  readSileroWeights,
  SILERO_BLOCK,
  SILERO_BINS,
  SILERO_CONTEXT,
  SILERO_LAYOUT,
  SILERO_STATE,
  SILERO_UNITS,
  SILERO_WINDOW,
  type SileroLayer,
} from './silero-model.js';
import { WASM_BASE64 } from './silero-dense-wasm.js';

/** How the network is computed. All three give the same probabilities within 1e-4. Fastest first. */
export const SILERO_KERNELS = ['native', 'wasm', 'typescript'] as const;
export type SileroKernelName = (typeof SILERO_KERNELS)[number];

/** The network with its weights, which all streams of a thread share; it keeps nothing of a stream between calls. */
export interface SileroKernel {
  readonly name: SileroKernelName;
  /**
   * The probability of speech, 0..1, in one window.
   * @param state the stream's memory, `SILERO_STATE` floats, zeros at its start; brought up to date by the call
   * @param samples `SILERO_WINDOW` samples
   * @throws RangeError when either has another length
   */
  run(state: Float32Array, samples: Int16Array): number;
  /** Windows of many streams together; null if that is not cheaper than one by one. */
  readonly batch: SileroBatch | null;
}

/** What the WASM module exports. Addresses are in bytes. */
interface DenseModule {
  readonly memory: WasmMemory;
  dense(weights: number, bias: number, x: number, out: number, inputs: number, outputs: number, relu: number): void;
}

const MAKERS: Readonly<Record<SileroKernelName, (weights: Float32Array) => SileroKernel | null>> = {
  native: nativeKernel,
  wasm: wasmKernel,
  typescript: typescriptKernel,
};

const made = new Map<SileroKernelName, SileroKernel | null>();

/** The kernel of that name, made once, or null where it cannot run. */
export function sileroKernel(name: SileroKernelName): SileroKernel | null {
  let kernel = made.get(name);
  if (kernel === undefined) {
    kernel = MAKERS[name](readSileroWeights());
    made.set(name, kernel);
  }
  return kernel;
}

/** The fastest kernel that runs here. */
export function fastestSileroKernel(): SileroKernel {
  for (const name of SILERO_KERNELS) {
    const kernel = sileroKernel(name);
    if (kernel !== null) return kernel;
  }
  throw new Error('the TypeScript kernel runs everywhere');
}

function nativeKernel(weights: Float32Array): SileroKernel | null {
  const native = nativeKernels();
  if (native === null) return null;
  native.sileroLoad(weights);
  return {
    name: 'native',
    run: (state, samples) => native.sileroWindow(state, samples),
    batch: new SileroBatch((...batch) => native.sileroWindows(...batch)),
  };
}

/** Null where the engine has no WASM or none with SIMD. */
function wasmKernel(weights: Float32Array): SileroKernel | null {
  const module = wasmKernelExports(WASM_BASE64) as DenseModule | null;
  if (module === null) return null;
  const dense: DenseProduct = (layer, x, out, relu) =>
    module.dense(layer.weights * 4, layer.bias * 4, x * 4, out * 4, layer.inputs, layer.outputs, relu ? 1 : 0);
  const forward = new SileroForward(weights, new Float32Array(module.memory.buffer), dense);
  return { name: 'wasm', run: (state, samples) => forward.run(state, samples), batch: null };
}

function typescriptKernel(weights: Float32Array): SileroKernel {
  const memory = new Float32Array(SILERO_MEMORY);
  const forward = new SileroForward(weights, memory, plainDense(memory));
  return { name: 'typescript', run: (state, samples) => forward.run(state, samples), batch: null };
}

/** The matrix product of Silero's layers in plain TypeScript, over `memory`: the twin of native/wasm/silero-dense.wat. Four sums at a time: more would not stay in registers. */
export function plainDense(memory: Float32Array): DenseProduct {
  return ({ inputs, outputs, weights, bias }, x, out, relu) => {
    for (let output = 0; output < outputs; output += 4) {
      const lane = output % SILERO_BLOCK;
      let at = weights + (output - lane) * inputs + lane;
      let sum0 = memory[bias + output]!;
      let sum1 = memory[bias + output + 1]!;
      let sum2 = memory[bias + output + 2]!;
      let sum3 = memory[bias + output + 3]!;
      for (let input = x; input < x + inputs; input++, at += SILERO_BLOCK) {
        const value = memory[input]!;
        sum0 += value * memory[at]!;
        sum1 += value * memory[at + 1]!;
        sum2 += value * memory[at + 2]!;
        sum3 += value * memory[at + 3]!;
      }
      memory[out + output] = relu && sum0 < 0 ? 0 : sum0;
      memory[out + output + 1] = relu && sum1 < 0 ? 0 : sum1;
      memory[out + output + 2] = relu && sum2 < 0 ? 0 : sum2;
      memory[out + output + 3] = relu && sum3 < 0 ? 0 : sum3;
    }
  };
}

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
