import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nativeStatus } from '../../../../src/base/native.js';
import { packageFile } from '../../../../src/package-files.js';
import {
  SILERO_KERNELS,
  fastestSileroKernel,
  sileroKernel,
  type SileroKernel,
} from '../../../../src/providers/vad/silero/silero-kernel.js';
import { SILERO_STATE, SILERO_WINDOW } from '../../../../src/providers/vad/silero/silero-model.js';
import { goldenSignal, noise, randomOf, voice } from '../signals.js';

const golden = JSON.parse(readFileSync(new URL('silero-golden.json', import.meta.url), 'utf8')) as {
  samples: number;
  probabilities: number[];
};

// The addon may be missing or switched off; the other two run everywhere.
const kernels = SILERO_KERNELS.map(sileroKernel).filter((kernel) => kernel !== null);

describe.each(kernels)('Silero, $name kernel', (kernel) => {
  it('gives the probabilities of the reference within 1e-4', () => {
    const signal = goldenSignal();
    expect(signal.length).toBe(golden.samples);
    expect(distance(run(kernel, signal), golden.probabilities)).toBeLessThan(1e-4);
  });

  it('takes the loudest samples there are', () => {
    const random = randomOf(5);
    const signal = Int16Array.from({ length: 20 * SILERO_WINDOW }, () => (random() < 0.5 ? -32768 : 32767));
    for (const probability of run(kernel, signal)) expect(probability).toSatisfy((p: number) => p >= 0 && p <= 1);
  });

  it('keeps nothing of one stream for the next', () => {
    const alone = run(kernel, voice(640));
    const states = [new Float32Array(SILERO_STATE), new Float32Array(SILERO_STATE)] as const;
    const other = noise(640, 9000);
    const between = windows(voice(640)).map((window, index) => {
      kernel.run(states[1], windows(other)[index]!);
      return kernel.run(states[0], window);
    });
    expect(between).toEqual(alone);
  });

  it.each([
    [SILERO_STATE - 1, SILERO_WINDOW],
    [SILERO_STATE, SILERO_WINDOW + 1],
    [0, SILERO_WINDOW],
    [SILERO_STATE, 0],
  ])('refuses a state of %i floats with %i samples', (state, samples) => {
    expect(() => kernel.run(new Float32Array(state), new Int16Array(samples))).toThrow(RangeError);
  });
});

it.skipIf(sileroKernel('native') === null)(
  'Silero, native kernel without AVX2, agrees too, alone and with others',
  () => {
    const code = `
    import { sileroKernel } from ${JSON.stringify(packageFile('dist/providers/vad/silero/silero-kernel.js').href)};
    import { nativeKernels } from ${JSON.stringify(packageFile('dist/base/native.js').href)};
    import { readFileSync } from 'node:fs';
    const bytes = readFileSync(0);
    const state = new Float32Array(${SILERO_STATE});
    const probabilities = [], together = [];
    const [states, samples, three] = [new Float32Array(3 * ${SILERO_STATE}), new Int16Array(3 * ${SILERO_WINDOW}), new Float32Array(3)];
    for (let at = 0; at + ${SILERO_WINDOW} <= bytes.length / 2; at += ${SILERO_WINDOW}) {
      const window = new Int16Array(bytes.buffer.slice(bytes.byteOffset + 2 * at), 0, ${SILERO_WINDOW});
      probabilities.push(sileroKernel('native').run(state, window));
      samples.set(window, 2 * ${SILERO_WINDOW});
      nativeKernels().sileroWindows(states, samples, 3, three);
      together.push(three[2]);
    }
    console.log(JSON.stringify([probabilities, together]));`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
      input: Buffer.from(goldenSignal().buffer),
      env: { ...process.env, PARLEY_NATIVE: 'plain' },
      encoding: 'utf8',
      timeout: 10_000,
    });
    for (const found of JSON.parse(printed) as number[][]) {
      expect(distance(found, golden.probabilities)).toBeLessThan(1e-4);
    }
  },
);

describe('choice of the kernel', () => {
  it('takes the addon where it is loaded, else WASM', () => {
    expect(fastestSileroKernel().name).toBe(nativeStatus().loaded ? 'native' : 'wasm');
  });

  it('always has the two that need no compiler', () => {
    expect(kernels.map(({ name }) => name)).toEqual(expect.arrayContaining(['wasm', 'typescript']));
  });

  it('makes each kernel, with its copy of the weights, once', () => {
    for (const name of SILERO_KERNELS) expect(sileroKernel(name)).toBe(sileroKernel(name));
  });
});

function run(kernel: SileroKernel, signal: Int16Array): number[] {
  const state = new Float32Array(SILERO_STATE);
  return windows(signal).map((window) => kernel.run(state, window));
}

function windows(signal: Int16Array): Int16Array[] {
  const count = Math.floor(signal.length / SILERO_WINDOW);
  return Array.from({ length: count }, (_, i) => signal.subarray(i * SILERO_WINDOW, (i + 1) * SILERO_WINDOW));
}

function distance(a: readonly number[], b: readonly number[]): number {
  expect(a.length).toBe(b.length);
  return Math.max(...a.map((value, index) => Math.abs(value - b[index]!)));
}
