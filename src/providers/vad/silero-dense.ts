/** The matrix product of Silero's layers in plain TypeScript: the twin of native/wasm/silero-dense.wat. */
import { SILERO_BLOCK } from './silero-model.js';
import type { DenseProduct } from './silero-forward.js';

/** The product over `memory`. Four sums at a time: more would not stay in registers. */
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
