import { Worker } from 'node:worker_threads';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { workerFile } from '../../../package-files.js';
import type { WorkerAnswer, AnswerValue, Request, WorkerSettings } from './protocol.js';

/** A request without the id, which the host assigns. */
export type RequestBody<Kind extends 'warm' | 'open' | 'audio' | 'score'> = Omit<
  Extract<Request, { kind: Kind }>,
  'id'
>;

interface Waiting {
  resolve(value: AnswerValue): void;
  reject(error: Error): void;
}

/**
 * The recogniser's worker thread, seen from the main thread. It starts with the first request, restarts after a crash,
 * and keeps the process alive only while a reply is pending.
 */
export class WorkerHost {
  readonly #settings: WorkerSettings;
  readonly #entry: URL;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onCrash: (error: ParleyError) => void;
  #worker: Worker | undefined;
  #nextId = 1;
  #closed = false;

  /** `onCrash` is called once for each thread that ends unexpectedly. */
  constructor(
    settings: WorkerSettings,
    onCrash: (error: ParleyError) => void,
    entry: URL = workerFile('providers/stt/embedded/worker'),
  ) {
    this.#settings = settings;
    this.#onCrash = onCrash;
    this.#entry = entry;
  }

  /** @throws ParleyError PROVIDER_FAILED if the worker fails or crashes, SESSION_CLOSED after `close` */
  request(
    body: RequestBody<'warm'> | RequestBody<'open'> | RequestBody<'audio'> | RequestBody<'score'>,
  ): Promise<AnswerValue> {
    if (this.#closed) return Promise.reject(new ParleyError('SESSION_CLOSED'));
    const worker = (this.#worker ??= this.#start());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) worker.ref();
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ ...body, id }, 'samples' in body ? [body.samples.buffer as ArrayBuffer] : []);
    });
  }

  /** Sends a message that has no reply. */
  send(message: Extract<Request, { kind: 'end' | 'expect' | 'close' }>): void {
    this.#worker?.postMessage(message);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#rejectAll(new ParleyError('SESSION_CLOSED'));
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, { workerData: this.#settings });
    worker.unref();
    let reason = 'its thread ended';
    worker.on('error', (error) => {
      reason = reasonOf(error);
    });
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      const error = failed(reason);
      this.#rejectAll(error);
      this.#onCrash(error);
    });
    worker.on('message', (answer: WorkerAnswer) => {
      if (this.#worker !== worker) return;
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (this.#waiting.size === 0) worker.unref();
      if (answer.ok) waiting?.resolve(answer.value);
      else waiting?.reject(failed(answer.reason));
    });
    return worker;
  }

  #rejectAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(error);
  }
}

function failed(reason: string): ParleyError {
  return new ParleyError('PROVIDER_FAILED', { provider: 'The embedded recogniser', reason });
}
