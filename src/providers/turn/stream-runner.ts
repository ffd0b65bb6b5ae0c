import type { StateTensor, StreamSignature, TensorFacts } from './signature.js';
import { readFile } from 'node:fs/promises';

/** A step of audio, or the question what the probability is after `samples` more. */
interface StreamWork {
  samples: Int16Array;
  /** Null = a whole step, which changes the state. */
  answer: { resolve(probability: number): void; reject(error: Error): void } | null;
}

interface Stream {
  state: ReadonlyMap<string, Float32Array>;
  /** After its latest step. */
  probability: number;
  queue: StreamWork[];
  /** Why it has no state that could continue; null = it has. */
  broken: Error | null;
}

interface Job {
  stream: Stream;
  work: StreamWork;
}

/** Most streams in one run. */
const MAX_BATCH = 32;

/**
 * Runs a streaming model over the audio of several calls, a step at a time. Calls that wait together share a run if the
 * model takes batches. A stream that fails gives errors until it starts anew; others go on.
 */
export class StreamRunner {
  readonly #ort: OnnxRuntime;
  readonly #session: OnnxSession;
  readonly #signature: StreamSignature;
  readonly #streams = new Map<number, Stream>();
  readonly #onSteps: (stream: number, steps: number) => void;
  #running = false;

  /** @param onSteps how many steps of a stream are done */
  constructor(
    ort: OnnxRuntime,
    session: OnnxSession,
    signature: StreamSignature,
    onSteps: (stream: number, steps: number) => void,
  ) {
    this.#ort = ort;
    this.#session = session;
    this.#signature = signature;
    this.#onSteps = onSteps;
  }

  /** A new turn: the state is zero. Work that still waits is dropped. */
  start(id: number): void {
    this.close(id);
    this.#streams.set(id, { state: new Map(), probability: 0, queue: [], broken: null });
  }

  add(id: number, work: StreamWork): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) work.answer?.reject(new Error('the stream has not started'));
    else stream.queue.push(work);
    void this.#run();
  }

  close(id: number): void {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    for (const { answer } of stream?.queue ?? []) answer?.reject(new Error('the turn is over'));
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let jobs = this.#next(); jobs.length > 0; jobs = this.#next()) await this.#step(jobs);
    this.#running = false;
  }

  /** The first work of each stream that needs the model. */
  #next(): Job[] {
    const jobs: Job[] = [];
    for (const [id, stream] of this.#streams) {
      if (jobs.length === (this.#signature.batches ? MAX_BATCH : 1)) break;
      const work = this.#dequeue(stream);
      if (work === undefined) continue;
      jobs.push({ stream, work });
      // The others are first next time.
      this.#streams.delete(id);
      this.#streams.set(id, stream);
    }
    return jobs;
  }

  /** Answers what needs no run. */
  #dequeue(stream: Stream): StreamWork | undefined {
    for (let work = stream.queue.shift(); work !== undefined; work = stream.queue.shift()) {
      const { answer, samples } = work;
      if (stream.broken !== null) answer?.reject(stream.broken);
      else if (answer !== null && samples.length === 0) answer.resolve(stream.probability);
      else return work;
    }
    return undefined;
  }

  async #step(jobs: readonly Job[]): Promise<void> {
    try {
      const results = await this.#infer(jobs);
      for (const [at, { stream, work }] of jobs.entries()) this.#settle(stream, work, results[at]);
    } catch (error) {
      for (const { stream, work } of jobs) {
        stream.broken = error as Error;
        work.answer?.reject(stream.broken);
      }
    }
    for (const [id, stream] of this.#streams) {
      const steps = jobs.filter(({ stream: own, work }) => own === stream && work.answer === null).length;
      if (steps > 0) this.#onSteps(id, steps);
    }
  }

  #settle(stream: Stream, { samples, answer }: StreamWork, result: StepResult | undefined): void {
    const { probabilities = [], state = new Map<string, Float32Array>() } = result ?? {};
    if (answer === null) {
      stream.state = state;
      stream.probability = asProbability(probabilities.at(-1) ?? Number.NaN);
      return;
    }
    // The last frame that is all audio, not padding.
    const frames = Math.floor((samples.length * probabilities.length) / this.#signature.stepSamples);
    const now = frames === 0 ? stream.probability : asProbability(probabilities[frames - 1] ?? Number.NaN);
    answer.resolve(now);
  }

  async #infer(jobs: readonly Job[]): Promise<StepResult[]> {
    const { audio, stepSamples, states, probability } = this.#signature;
    const count = jobs.length;
    const sound = new Float32Array(count * stepSamples);
    for (const [at, { work }] of jobs.entries()) {
      for (const [index, sample] of work.samples.entries()) sound[at * stepSamples + index] = sample / 32_768;
    }
    const feeds: Record<string, unknown> = { [audio]: new this.#ort.Tensor('float32', sound, [count, stepSamples]) };
    for (const tensor of states) {
      const own = jobs.map(({ stream }) => stream.state.get(tensor.input) ?? new Float32Array(sizeOf(tensor.dims)));
      const dims = tensor.dims.map((size, axis) => (axis === tensor.batchAxis ? count : size));
      feeds[tensor.input] = new this.#ort.Tensor('float32', stack(own, tensor), dims);
    }
    const outputs = await this.#session.run(feeds);
    const all = Array.from(outputs[probability]?.data ?? []);
    if (all.length === 0 || all.length % count !== 0) throw new Error('it gives no probability');
    const unstacked = states.map((tensor) => {
      const data = Float32Array.from(outputs[tensor.output]?.data ?? []);
      if (data.length !== count * sizeOf(tensor.dims)) throw new Error(`its state ${tensor.output} has another size`);
      if (!data.every(Number.isFinite)) throw new Error(`its state ${tensor.output} is not finite`);
      return { input: tensor.input, parts: unstack(data, tensor, count) };
    });
    const each = all.length / count;
    return jobs.map((_, at) => ({
      probabilities: all.slice(at * each, (at + 1) * each),
      state: new Map(unstacked.map(({ input, parts }) => [input, parts[at] as Float32Array])),
    }));
  }
}

interface StepResult {
  probabilities: readonly number[];
  state: ReadonlyMap<string, Float32Array>;
}

/** Joins the states of several streams along the axis of the batch. */
function stack(parts: readonly Float32Array[], { dims, batchAxis }: StateTensor): Float32Array {
  const [only] = parts;
  if (batchAxis === null || (parts.length === 1 && only !== undefined)) return only ?? new Float32Array();
  const block = sizeOf(dims.slice(batchAxis + 1));
  const blocks = sizeOf(dims.slice(0, batchAxis));
  const out = new Float32Array(parts.length * block * blocks);
  for (let outer = 0; outer < blocks; outer++) {
    for (const [at, part] of parts.entries())
      out.set(part.subarray(outer * block, (outer + 1) * block), (outer * parts.length + at) * block);
  }
  return out;
}

function unstack(data: Float32Array, { dims, batchAxis }: StateTensor, count: number): Float32Array[] {
  const axis = batchAxis ?? 0;
  const block = sizeOf(dims.slice(axis + 1));
  const blocks = sizeOf(dims.slice(0, axis));
  if (batchAxis === null || count === 1) return [data];
  return Array.from({ length: count }, (_, at) => {
    const part = new Float32Array(block * blocks);
    for (let outer = 0; outer < blocks; outer++) {
      const from = (outer * count + at) * block;
      part.set(data.subarray(from, from + block), outer * block);
    }
    return part;
  });
}

function sizeOf(dims: readonly number[]): number {
  return dims.reduce((size, dim) => size * dim, 1);
}

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
