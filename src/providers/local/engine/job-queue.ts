import { reasonOf } from '../../../base/errors.js';
import type { SendReply } from './engine-protocol.js';

/** A FIFO queue that yields to the event loop between two jobs. */
export class JobQueue<Job extends { id: number }> {
  readonly #reply: SendReply;
  readonly #work: (job: Job) => void | Promise<void>;
  readonly #waiting: Job[] = [];
  #running: number | null = null;
  #now: Promise<void> = Promise.resolve();

  constructor(reply: SendReply, work: (job: Job) => void | Promise<void>) {
    this.#reply = reply;
    this.#work = work;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    if (this.#waiting.length === 1 && this.#running === null) setImmediate(() => void this.#next());
  }

  drop(id: number): void {
    const at = this.#waiting.findIndex((job) => job.id === id);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (this.#running === id) this.#running = -1;
  }

  /** Whether the job is running and has not been cancelled. */
  isRunning(id: number): boolean {
    return this.#running === id;
  }

  /** Resolves when the current job is done. */
  settled(): Promise<void> {
    return this.#now;
  }

  async #next(): Promise<void> {
    const job = this.#waiting.shift();
    if (job === undefined || this.#running !== null) return;
    this.#running = job.id;
    this.#now = this.#do(job);
    await this.#now;
    this.#running = null;
    if (this.#waiting.length > 0) setImmediate(() => void this.#next());
  }

  async #do(job: Job): Promise<void> {
    try {
      await this.#work(job);
    } catch (error) {
      this.#reply({ type: 'failed', id: job.id, reason: reasonOf(error) });
    }
  }
}
