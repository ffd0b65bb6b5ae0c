import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import { readOnnxFacts } from '../local/onnx-facts.js';
import { logMel, MEL_BANDS } from './log-mel.js';
import { asProbability, openModel, type OnnxRuntime, type OnnxSession, StreamRunner } from './stream-runner.js';
import { signatureOf, type TurnSignature } from './signature.js';

/** What the thread is started with. */
export interface OnnxWorkerData {
  /** The model's file. */
  path: string;
  /** Runtime packages, by name or URL; the first installed one is used. */
  runtimes: readonly string[];
  windowSamples: number;
}

/**
 * What it is asked: about a window; to start a stream anew, to take a step of its audio, what the probability is after
 * some more audio, to forget it.
 */
export type OnnxQuestion =
  | { type: 'window'; id: number; samples: Int16Array }
  | { type: 'start' | 'close'; stream: number }
  | { type: 'step'; stream: number; samples: Int16Array }
  | { type: 'ask'; id: number; stream: number; samples: Int16Array };

/** What it answers: how the model is fed, or why it cannot be; probabilities; how many steps of a stream are done. */
export type OnnxAnswer =
  | { type: 'ready'; signature: TurnSignature }
  | { type: 'unusable'; reason: string }
  | { type: 'value'; id: number; value: number }
  | { type: 'failed'; id: number; reason: string }
  | { type: 'steps'; stream: number; steps: number };

interface Loaded {
  ort: OnnxRuntime;
  session: OnnxSession;
  signature: TurnSignature;
  streams: StreamRunner | null;
}

const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const { path, runtimes, windowSamples } = workerData as OnnxWorkerData;

const loading = load();
loading.then(
  ({ signature }) => send({ type: 'ready', signature }),
  (error: unknown) => send({ type: 'unusable', reason: reasonOf(error) }),
);
port.on('message', (question: OnnxQuestion) => {
  loading.then(
    (loaded) => take(loaded, question),
    () => undefined, // said already
  );
});

async function load(): Promise<Loaded> {
  const { ort, session } = await openModel(path, runtimes);
  const inputs = session.inputMetadata ?? session.inputNames.map((name) => ({ name, shape: [] }));
  // The runtime does not give a model's metadata.
  const metadata = inputs.length === 1 ? new Map<string, string>() : await metadataOf(path);
  const signature = signatureOf(inputs, session.outputNames, metadata);
  const onSteps = (stream: number, steps: number): void => send({ type: 'steps', stream, steps });
  const streams = signature.kind === 'stream' ? new StreamRunner(ort, session, signature, onSteps) : null;
  return { ort, session, signature, streams };
}

async function metadataOf(file: string): Promise<ReadonlyMap<string, string>> {
  try {
    return (await readOnnxFacts(file)).metadata;
  } catch {
    return new Map(); // the runtime also reads its own format, .ort
  }
}

function take(loaded: Loaded, question: OnnxQuestion): void {
  const { streams } = loaded;
  if (question.type === 'window') {
    judge(loaded, question.samples).then(
      (value) => send({ type: 'value', id: question.id, value }),
      (error: unknown) => send({ type: 'failed', id: question.id, reason: reasonOf(error) }),
    );
  } else if (question.type === 'ask') {
    const { id, stream, samples } = question;
    const answer = {
      resolve: (value: number): void => send({ type: 'value', id, value }),
      reject: (error: Error): void => send({ type: 'failed', id, reason: reasonOf(error) }),
    };
    if (streams === null) answer.reject(new Error('it takes windows'));
    else streams.add(stream, { samples, answer });
  } else if (question.type === 'step') {
    streams?.add(question.stream, { samples: question.samples, answer: null });
  } else if (question.type === 'start') {
    streams?.start(question.stream);
  } else {
    streams?.close(question.stream);
  }
}

async function judge({ ort, session, signature }: Loaded, samples: Int16Array): Promise<number> {
  if (signature.kind === 'stream') throw new Error('it takes audio as it comes, not windows');
  const audio = normalised(samples);
  const tensor =
    signature.input === 'input_features'
      ? new ort.Tensor('float32', logMel(audio), [1, MEL_BANDS, audio.length / 160])
      : new ort.Tensor('float32', audio, [1, audio.length]);
  const outputs = await session.run({ [signature.input]: tensor });
  const data = outputs[signature.output]?.data ?? [];
  const [first, second] = [Number(data[0]), Number(data[1])];
  // A probability, a logit, or a pair of logits of which the second is that of "over".
  return data.length >= 2 ? 1 / (1 + Math.exp(first - second)) : asProbability(first);
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

function send(answer: OnnxAnswer): void {
  port?.postMessage(answer);
}
