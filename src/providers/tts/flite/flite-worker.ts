import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../../base/errors.js';
import { FliteEngine, type FliteSpeech, type TokenTime } from './flite-engine.js';
import type { WasmModule } from '../../../base/webassembly.js';

/** Given to a new worker. */
export interface FliteWorkerData {
  /** flite, if another worker has compiled it before. */
  module: WasmModule | null;
  /** One number: the id of the last cancelled clause. */
  stop: SharedArrayBuffer;
}

export interface FliteJob extends FliteSpeech {
  id: number;
}

export type FliteReply =
  | { type: 'ready'; module: WasmModule }
  | { type: 'tokens'; id: number; tokens: TokenTime[] }
  | { type: 'audio'; id: number; samples: Int16Array<ArrayBuffer>; sampleRateHz: number }
  | { type: 'done'; id: number; memoryBytes: number }
  | { type: 'failed'; id: number; reason: string };

/** An engine whose memory has grown beyond this is replaced by a fresh one (17 MB at its start, 24 MB in use). */
const MAX_MEMORY_BYTES = 64_000_000;

const port = parentPort;
if (port === null) throw new Error('flite-worker runs only as a worker thread');
const data = workerData as FliteWorkerData;
const stop = new Int32Array(data.stop);
const module = data.module ?? (await FliteEngine.compile());
let engine: FliteEngine | undefined = new FliteEngine(module);

port.on('message', (job: FliteJob) => {
  try {
    engine ??= new FliteEngine(module);
    speak(engine, job);
    if (engine.memoryBytes > MAX_MEMORY_BYTES) engine = undefined;
  } catch (error) {
    engine = undefined;
    reply({ type: 'failed', id: job.id, reason: reasonOf(error) });
  }
});
reply({ type: 'ready', module });

function speak(current: FliteEngine, job: FliteJob): void {
  current.speak(job, {
    onTokens: (tokens) => {
      reply({ type: 'tokens', id: job.id, tokens });
    },
    onAudio: (samples, sampleRateHz) => {
      const owned = samples as Int16Array<ArrayBuffer>;
      reply({ type: 'audio', id: job.id, samples: owned, sampleRateHz }, [owned.buffer]);
      return Atomics.load(stop, 0) !== job.id;
    },
  });
  reply({ type: 'done', id: job.id, memoryBytes: current.memoryBytes });
}

function reply(message: FliteReply, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}
