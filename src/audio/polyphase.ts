import { nativeKernels, type NativeKernels } from '../native.js';
import { wasmPolyphase } from './polyphase-in-wasm.js';
import { SINC_SCALE } from './sinc-table.js';

/**
 * The inner loop of resampling: fills `out[0..count)`. Output k takes row `floor(phase * rows / phases)` of the
 * `rows * taps` coefficients times the samples `history[start..start + taps)`, where (start, phase) begins as given
 * and moves on by `step / phases` of a sample for each output. Results are rounded half up and clipped. Whole
 * numbers throughout, so that all implementations agree to the bit. Coefficients never change: the WASM one keeps a
 * copy of each array.
 *
 * @throws RangeError (native only) where history, coefficients or out are too short for what is asked
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

/** The fastest one that runs here. */
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
