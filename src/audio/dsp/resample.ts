import { checkRate } from '../frame.js';
import { sincTable, type SincTable, SINC_SCALE } from './sinc-table.js';
import { nativeKernels, type NativeKernels } from '../../base/native.js';
import { wasmKernelExports, type WasmMemory } from '../../base/webassembly.js';
import { WASM_BASE64 } from './polyphase-wasm.js';

/** Input samples taken at once; longer input goes in pieces. */
const CHUNK = 960;

/** What is being filtered: the past of the resampler that is at work, then the new samples. One for all of a thread. */
let scratch = new Float64Array(0);

/**
 * Streaming resampler between any two whole rates from 8 to 48 kHz. State is kept from call to call: however the
 * input is cut, the same output comes out, to the bit, on every machine.
 *
 * After n input samples, `ceil(n * toHz / fromHz)` samples have come out: 20 ms frames in give 20 ms frames out,
 * each exactly as long where 20 ms are whole at both rates. What comes out lags by `delaySamples`.
 *
 * Quality (measured in test/audio/dsp/resample.test.ts): flat within 0.01 dB up to 0.83 of the lower rate's Nyquist
 * frequency (3.3 kHz for 8 kHz, 6.6 kHz for 16 kHz); aliases and images at least 80 dB down.
 */
export class Resampler {
  /** By how many output samples the output lags; a fraction where the rates' ratio is not simple. 32 at 48 to 16 kHz. */
  readonly delaySamples: number;
  readonly #table: SincTable | undefined;
  readonly #run: Polyphase;
  /** The last `taps - 1` samples. */
  readonly #past: Int16Array;
  /** Offset of the next output's newest input sample in the input to come. */
  #lead = 0;
  /** Its phase, 0 to phases - 1. */
  #phase = 0;
  /** Result of `process`, reallocated only when its length changes. */
  #out = new Int16Array(0);
  #store = new Int16Array(CHUNK);

  /**
   * @param run the inner loop; another one than the default serves tests and benchmarks
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED
   */
  constructor(
    readonly fromHz: number,
    readonly toHz: number,
    run: Polyphase = polyphase,
  ) {
    checkRate(fromHz);
    checkRate(toHz);
    this.#run = run;
    this.#table = fromHz === toHz ? undefined : sincTable(fromHz, toHz);
    this.#past = new Int16Array(this.#table ? this.#table.taps - 1 : 0);
    if (scratch.length < this.#past.length + CHUNK) scratch = new Float64Array(this.#past.length + CHUNK);
    this.delaySamples = this.#table ? (this.#table.delay * toHz) / fromHz : 0;
  }

  /** How many samples `process` will give for the next `inputLength`. */
  outputLength(inputLength: number): number {
    const table = this.#table;
    if (!table) return inputLength;
    return Math.max(0, Math.ceil(((inputLength - this.#lead) * table.phases - this.#phase) / table.step));
  }

  /** Resamples the next piece of any length. The result is overwritten by the next call: copy what must last. */
  process(input: Int16Array): Int16Array {
    const length = this.outputLength(input.length);
    if (this.#store.length < length) this.#store = new Int16Array(length);
    if (this.#out.length !== length) this.#out = this.#store.subarray(0, length);
    this.processInto(input, this.#out);
    return this.#out;
  }

  /**
   * As `process`, into `out`; returns the samples written.
   *
   * @throws RangeError where `out` is shorter than `outputLength(input.length)`
   */
  processInto(input: Int16Array, out: Int16Array): number {
    if (out.length < this.outputLength(input.length)) {
      throw new RangeError(`${out.length} samples do not hold the ${this.outputLength(input.length)} of the output`);
    }
    const table = this.#table;
    if (!table) {
      out.set(input);
      return input.length;
    }
    let written = 0;
    for (let at = 0; at < input.length; at += CHUNK) {
      const piece = input.length <= CHUNK ? input : input.subarray(at, at + CHUNK);
      written += this.#runPiece(table, piece, written === 0 ? out : out.subarray(written));
    }
    return written;
  }

  /** The end of the audio: what is still in the filter, after which the resampler is as new. */
  flush(): Int16Array {
    const out = this.process(new Int16Array(this.#table?.delay ?? 0));
    this.reset();
    return out;
  }

  /** Forgets the past. */
  reset(): void {
    this.#past.fill(0);
    this.#lead = 0;
    this.#phase = 0;
  }

  #runPiece(table: SincTable, piece: Int16Array, out: Int16Array): number {
    const { phases, step, rows, taps, coefficients } = table;
    const past = this.#past;
    const kept = taps - 1;
    for (let i = 0; i < kept; i++) scratch[i] = past[i]!;
    for (let i = 0; i < piece.length; i++) scratch[kept + i] = piece[i]!;
    const count = this.outputLength(piece.length);
    this.#run(scratch, coefficients, out, count, this.#lead, this.#phase, phases, step, rows);
    const moved = this.#phase + count * step;
    this.#lead += Math.floor(moved / phases) - piece.length;
    this.#phase = moved % phases;
    for (let i = 0; i < kept; i++) past[i] = scratch[piece.length + i]!;
    return count;
  }
}

/** A resampler; null where there is nothing to do. @throws ParleyError AUDIO_RATE_UNSUPPORTED */
export function resamplerBetween(fromHz: number, toHz: number): Resampler | null {
  return fromHz === toHz ? null : new Resampler(fromHz, toHz);
}

/**
 * Resamples a whole recording without shifting it: `round(n * toHz / fromHz)` samples, the first at the same instant
 * as the input's first (to within half a sample). Same rates: the input itself.
 *
 * @throws ParleyError AUDIO_RATE_UNSUPPORTED
 */
export function resample(samples: Int16Array, fromHz: number, toHz: number): Int16Array {
  const resampler = new Resampler(fromHz, toHz);
  if (fromHz === toHz) return samples;
  const skip = Math.round(resampler.delaySamples);
  const head = resampler.outputLength(samples.length);
  const out = new Int16Array(head + skip + 2);
  resampler.processInto(samples, out);
  out.set(resampler.flush(), head);
  return out.subarray(skip, skip + Math.round((samples.length * toHz) / fromHz));
}

/** What the module exports. Addresses are in bytes. */
interface PolyphaseModule {
  readonly memory: WasmMemory;
  polyphase(
    history: number,
    coefficients: number,
    out: number,
    count: number,
    phase: number,
    phases: number,
    step: number,
    rows: number,
    taps: number,
  ): void;
}

/** Memory: samples at 0, outputs behind them, then tables of coefficients. A chunk at any pair of rates fits. */
const MAX_SAMPLES = 2048;
const OUT_AT = MAX_SAMPLES * 8;
const MAX_OUTPUTS = 8192;
const TABLES_AT = OUT_AT + MAX_OUTPUTS * 2;
const PAGE_BYTES = 65_536;
/** The largest table has 4 MB, the usual ones a few KB. When this is full, all are forgotten. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The WebAssembly loop with its own memory; null without WebAssembly SIMD.
 * @param script fallback for input that does not fit into that memory, longer than a resampler's
 */
export function wasmPolyphase(script: Polyphase): Polyphase | null {
  const module = wasmKernelExports(WASM_BASE64) as PolyphaseModule | null;
  if (module === null) return null;
  const { memory } = module;
  let addresses = new WeakMap<Float64Array, number>();
  let free = TABLES_AT;
  let samples = new Float64Array(memory.buffer, 0, MAX_SAMPLES);
  let outputs = new Int16Array(memory.buffer, OUT_AT, MAX_OUTPUTS);

  /** Where the table lies in the memory, to which it is copied at first. */
  const place = (coefficients: Float64Array): number => {
    const known = addresses.get(coefficients);
    if (known !== undefined) return known;
    if (free + coefficients.byteLength > MAX_BYTES) {
      addresses = new WeakMap();
      free = TABLES_AT;
    }
    const lacking = free + coefficients.byteLength - memory.buffer.byteLength;
    if (lacking > 0) {
      memory.grow(Math.ceil(lacking / PAGE_BYTES));
      samples = new Float64Array(memory.buffer, 0, MAX_SAMPLES);
      outputs = new Int16Array(memory.buffer, OUT_AT, MAX_OUTPUTS);
    }
    const at = free;
    new Float64Array(memory.buffer, at, coefficients.length).set(coefficients);
    addresses.set(coefficients, at);
    free += coefficients.byteLength;
    return at;
  };

  return (history, coefficients, out, count, start, phase, phases, step, rows) => {
    if (count === 0) return;
    const bytes = TABLES_AT + coefficients.byteLength;
    const taps = coefficients.length / rows;
    const end = start + Math.floor((phase + (count - 1) * step) / phases) + taps;
    if (end > MAX_SAMPLES || count > MAX_OUTPUTS || bytes > MAX_BYTES) {
      script(history, coefficients, out, count, start, phase, phases, step, rows);
      return;
    }
    const table = place(coefficients);
    for (let i = start; i < end; i++) samples[i] = history[i]!;
    module.polyphase(start * 8, table, OUT_AT, count, phase, phases, step, rows, taps);
    for (let k = 0; k < count; k++) out[k] = outputs[k]!;
  };
}

/**
 * The inner loop of resampling: fills `out[0..count)`. Output k takes row `floor(phase * rows / phases)` of the
 * `rows * taps` coefficients times the samples `history[start..start + taps)`, where (start, phase) begins as given
 * and moves on by `step / phases` of a sample for each output. Results are rounded half up and clipped. Whole
 * numbers throughout, so that all implementations agree to the bit. Coefficients never change: the WASM one keeps a
 * copy of each array.
 *
 * @throws RangeError (native only) if history, coefficients or out are too short
 */
export type Polyphase = NativeKernels['polyphase'];

/** The implementation in TypeScript. */
export const polyphaseScript: Polyphase = (history, coefficients, out, count, start, phase, phases, step, rows) => {
  const taps = coefficients.length / rows;
  const whole = Math.floor(step / phases);
  const rest = step - whole * phases;
  for (let k = 0; k < count; k++) {
    const row = phases === rows ? phase : Math.floor((phase * rows) / phases);
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let h = row * taps, x = start, end = h + taps; h < end; h += 4, x += 4) {
      a += coefficients[h]! * history[x]!;
      b += coefficients[h + 1]! * history[x + 1]!;
      c += coefficients[h + 2]! * history[x + 2]!;
      d += coefficients[h + 3]! * history[x + 3]!;
    }
    const value = Math.floor((a + b + (c + d)) / SINC_SCALE + 0.5);
    out[k] = value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value;
    start += whole;
    phase += rest;
    if (phase >= phases) {
      phase -= phases;
      start += 1;
    }
  }
};

/** The fastest available implementation. */
export const polyphase: Polyphase = nativeKernels()?.polyphase ?? wasmPolyphase(polyphaseScript) ?? polyphaseScript;

/** All that run here, fastest first, for tests and benchmarks. */
export function polyphases(): [name: 'native' | 'wasm' | 'typescript', run: Polyphase][] {
  const native = nativeKernels()?.polyphase;
  const inWasm = wasmPolyphase(polyphaseScript);
  return [
    ...(native ? [['native', native] as ['native', Polyphase]] : []),
    ...(inWasm ? [['wasm', inWasm] as ['wasm', Polyphase]] : []),
    ['typescript', polyphaseScript],
  ];
}
