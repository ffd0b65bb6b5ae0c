import { readFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import { logMel, MEL_BANDS } from './log-mel.js';

/** What the thread is started with, asked and answers. */
export interface OnnxWorkerData {
  /** The model's file. */
  path: string;
  /** Runtime packages, by name or URL; the first installed one is used. */
  runtimes: readonly string[];
  windowSamples: number;
}
export interface OnnxQuestion {
  id: number;
  samples: Int16Array;
}
/** `id` 0 = whether the model could be loaded. */
export type OnnxAnswer = { id: number; ok: true; value: number } | { id: number; ok: false; reason: string };

/** The part of onnxruntime that is used. */
interface Runtime {
  /** Of onnxruntime-web. */
  env?: { wasm?: { numThreads?: number } };
  InferenceSession: {
    create(model: Uint8Array, options: Readonly<Record<string, unknown>>): Promise<InferenceSession>;
  };
  Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => unknown;
}
interface InferenceSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, { data: ArrayLike<number> }>>>;
}

const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const { path, runtimes, windowSamples } = workerData as OnnxWorkerData;

const loading = load();
loading.then(
  () => send({ id: 0, ok: true, value: 0 }),
  (error: unknown) => send({ id: 0, ok: false, reason: reasonOf(error) }),
);
port.on('message', ({ id, samples }: OnnxQuestion) => {
  judge(samples).then(
    (value) => send({ id, ok: true, value }),
    (error: unknown) => send({ id, ok: false, reason: reasonOf(error) }),
  );
});

async function load(): Promise<{ ort: Runtime; session: InferenceSession }> {
  const ort = await firstOf(runtimes);
  if (ort.env?.wasm !== undefined) ort.env.wasm.numThreads = 1;
  // One thread: a pause is judged in a few ms, and the other cores have calls of their own.
  const session = await ort.InferenceSession.create(await readFile(path), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const { inputNames } = session;
  if (inputNames.length !== 1)
    throw new Error(`its inputs are ${inputNames.join(', ') || 'missing'}; it must take audio alone`);
  return { ort, session };
}

/** Imports the first available runtime; if there is none, throws the first import's error. */
async function firstOf([name = '', ...others]: readonly string[]): Promise<Runtime> {
  try {
    const loaded = (await import(name)) as Runtime & { default?: Runtime };
    return loaded.default?.InferenceSession === undefined ? loaded : loaded.default;
  } catch (error) {
    if (others.length === 0) throw error;
    return firstOf(others).catch(() => Promise.reject(error as Error));
  }
}

async function judge(samples: Int16Array): Promise<number> {
  const { ort, session } = await loading;
  const [input = ''] = session.inputNames;
  const audio = normalised(samples);
  const tensor =
    input === 'input_features'
      ? new ort.Tensor('float32', logMel(audio), [1, MEL_BANDS, audio.length / 160])
      : new ort.Tensor('float32', audio, [1, audio.length]);
  const outputs = await session.run({ [input]: tensor });
  return probability(outputs[session.outputNames[0] ?? '']?.data ?? []);
}

/** The latest audio, padded with silence at the front, with mean 0 and variance 1. */
function normalised(samples: Int16Array): Float32Array {
  const latest = samples.subarray(Math.max(0, samples.length - windowSamples));
  const audio = new Float32Array(windowSamples);
  const offset = windowSamples - latest.length;
  for (const [index, sample] of latest.entries()) audio[offset + index] = sample / 32_768;
  const mean = audio.reduce((sum, value) => sum + value, 0) / audio.length;
  const variance = audio.reduce((sum, value) => sum + (value - mean) ** 2, 0) / audio.length;
  const scale = 1 / Math.sqrt(variance + 1e-7);
  return audio.map((value) => (value - mean) * scale);
}

/** A probability, a logit, or a pair of logits of which the second is that of "over". */
function probability(data: ArrayLike<number>): number {
  const [first, second] = [Number(data[0]), Number(data[1])];
  if (data.length >= 2) return 1 / (1 + Math.exp(first - second));
  if (!Number.isFinite(first)) throw new Error('the output is not a number');
  return first >= 0 && first <= 1 ? first : 1 / (1 + Math.exp(-first));
}

function send(answer: OnnxAnswer): void {
  port?.postMessage(answer);
}
