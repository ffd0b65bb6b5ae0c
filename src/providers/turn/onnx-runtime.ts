import { readFile } from 'node:fs/promises';
import type { TensorFacts } from './signature.js';

/** The part of onnxruntime that is used. */
export interface OnnxRuntime {
  /** Of onnxruntime-web. */
  env?: { wasm?: { numThreads?: number } };
  InferenceSession: {
    create(model: Uint8Array, options: Readonly<Record<string, unknown>>): Promise<OnnxSession>;
  };
  Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => unknown;
}

export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** Older runtimes have none. */
  readonly inputMetadata?: readonly TensorFacts[];
  run(feeds: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, { data: ArrayLike<number> }>>>;
}

/** @param runtimes packages by name or URL; the first installed one is used */
export async function openModel(
  path: string,
  runtimes: readonly string[],
): Promise<{ ort: OnnxRuntime; session: OnnxSession }> {
  const ort = await firstOf(runtimes);
  if (ort.env?.wasm !== undefined) ort.env.wasm.numThreads = 1;
  // One thread: a pause is judged in a few ms, and the other cores have calls of their own.
  const session = await ort.InferenceSession.create(await readFile(path), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  return { ort, session };
}

/** Imports the first available runtime; if there is none, throws the first import's error. */
async function firstOf([name = '', ...others]: readonly string[]): Promise<OnnxRuntime> {
  try {
    const loaded = (await import(name)) as OnnxRuntime & { default?: OnnxRuntime };
    return loaded.default?.InferenceSession === undefined ? loaded : loaded.default;
  } catch (error) {
    if (others.length === 0) throw error;
    return firstOf(others).catch(() => Promise.reject(error as Error));
  }
}

/** A probability, or its logit. */
export function asProbability(value: number): number {
  if (!Number.isFinite(value)) throw new Error('the output is not a number');
  return value >= 0 && value <= 1 ? value : 1 / (1 + Math.exp(-value));
}
