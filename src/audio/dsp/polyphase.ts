import { nativeKernels, type NativeKernels } from '../../base/native.js';
import { SINC_SCALE } from './sinc-table.js';
import { wasmKernelExports, type WasmMemory } from '../../base/webassembly.js';
import { WASM_BASE64 } from './polyphase-wasm.js';

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
