import { nativeKernels } from '../../../base/native.js';
import { wasmKernelExports, type WasmMemory } from '../../../base/webassembly.js';
import { SileroBatch } from './silero-batch.js';
import { type DenseProduct, SILERO_MEMORY, SileroForward } from './silero-forward.js';
import { readSileroWeights, SILERO_BLOCK } from './silero-model.js';
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
