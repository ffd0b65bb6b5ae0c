import { Worker } from 'node:worker_threads';
import { raceAbort } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { CaseRunner, EvalJob } from '../../eval/case-runner.js';
import type { CaseRun } from '../../eval/result.js';
import { workerFile } from '../../package-files.js';
import type { EvalReply, EvalRequest, EvalWorkerData } from './worker.js';

interface Waiting {
  resolve(run: CaseRun): void;
  reject(error: Error): void;
}

/** Holds calls in threads: each job goes to the one with the fewest. */
export class ThreadedCaseRunner implements CaseRunner {
  readonly #threads: readonly Thread[];
  readonly #signal: AbortSignal;

  /** @param count of threads, at least 1 */
  constructor(count: number, data: EvalWorkerData, signal: AbortSignal) {
    this.#threads = Array.from({ length: count }, () => new Thread(data));
    this.#signal = signal;
  }

  run(job: EvalJob): Promise<CaseRun> {
    const [least] = this.#threads.toSorted((a, b) => a.load - b.load);
    if (least === undefined) throw new RangeError('there is no thread');
    return raceAbort(least.run(job), this.#signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}

class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #failure: Error | null = null;

  constructor(workerData: EvalWorkerData) {
    this.#worker = new Worker(workerFile('cli/eval/worker'), { workerData, execArgv: [] });
    this.#worker.on('message', ({ id, run }: EvalReply) => {
      this.#waiting.get(id)?.resolve(run);
      this.#waiting.delete(id);
    });
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new ParleyError('SESSION_CLOSED')));
  }

  get load(): number {
    return this.#failure === null ? this.#waiting.size : Number.POSITIVE_INFINITY;
  }

  run(job: EvalJob): Promise<CaseRun> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, job } satisfies EvalRequest);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: Error): void {
    this.#failure ??= new Error(`a thread that holds calls has ended: ${reasonOf(error)}`, { cause: error });
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure);
    this.#waiting.clear();
  }
}
