/** The inner loop of resampling in WebAssembly with SIMD, for installs without the native addon. */
import { wasmKernelExports, type WasmMemory } from '../webassembly.js';
import type { Polyphase } from './polyphase.js';
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
 * The loop with a memory of its own, or null where the engine has no WebAssembly with SIMD.
 * @param script takes what does not fit into that memory: longer pieces than a resampler gives it
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
