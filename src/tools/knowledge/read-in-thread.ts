import { Worker } from 'node:worker_threads';
import type { Cancel, Clock } from '../../base/clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { workerFile } from '../../package-files.js';
import { unreadable } from './chunker.js';
import type { ReaderJob, ReaderMessage } from './reader-worker.js';
import type { IndexedChunk } from './formats.js';

/** A file that takes longer is hostile or broken. */
const TIMEOUT_MS = 120_000;
/** The thread's memory limit; larger files are rejected. */
const MAX_HEAP_MB = 1_024;

/**
 * Reads a file in a thread of its own, which has exited when this resolves.
 * @param onChunks receives the passages with backpressure
 * @throws ParleyError FILE_NOT_READABLE naming the file
 */
export async function readInThread(
  job: ReaderJob,
  onChunks: (chunks: readonly IndexedChunk[]) => Promise<void>,
  clock: Clock,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const worker = new Worker(workerFile('tools/knowledge/reader-worker'), {
    workerData: job,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  let cancel: Cancel = () => undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string): void => reject(unreadable(job.name, reason));
      cancel = clock.schedule(clock.nowMs() + timeoutMs, () => {
        fail(`it took longer than ${String(timeoutMs / 1000)} s`);
      });
      worker.on('message', (message: ReaderMessage) => {
        if (message.kind === 'chunks') {
          onChunks(message.chunks)
            // Lets other pending work of this thread run first.
            .then(() => setImmediate(() => worker.postMessage('taken')))
            .catch((error: unknown) => {
              reject(error instanceof ParleyError ? error : unreadable(job.name, reasonOf(error)));
            });
          return;
        }
        if (message.kind === 'done') resolve();
        else fail(message.reason);
      });
      worker.once('error', (error: Error & { code?: string }) => {
        fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it does not fit into memory' : error.message);
      });
      worker.once('exit', () => fail('its reading was broken off'));
    });
  } finally {
    cancel();
    await worker.terminate();
  }
}
