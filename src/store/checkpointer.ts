import type Database from 'better-sqlite3';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.js';
import { waitAtMost } from '../base/deadlines.js';
import { errorOf } from '../base/errors.js';
import { workerFile } from '../package-files.js';
import type { Checkpoint, CheckpointSettings } from './checkpoint-worker.js';

export interface CheckpointerOptions {
  database: Database.Database;
  /** For the deadline of closing. */
  clock: Clock;
  /** Limit of the write-ahead log in bytes. Default 4 MB, as in SQLite. */
  aboveBytes?: number;
  /** The interval between two checks. Default 500 ms. */
  everyMs?: number;
  /** Called with the number of pages written back. */
  onCheckpoint?: (pages: number) => void;
  /** Called when the thread fails. The connection then does its own checkpoints again. */
  onError: (error: Error) => void;
}

/** SQLite's default: a commit that brings the log to this many pages does a checkpoint. */
const OWN_PAGES = 1000;
const DEFAULT_BYTES = OWN_PAGES * 4096;
const DEFAULT_EVERY_MS = 500;
const CLOSE_MS = 2000;

/** Does the checkpoints of a connection in a thread, so that no commit blocks the event loop for one. */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  #worker: Worker | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  /** Has no effect a second time. The connection stops its own checkpoints once the thread reports that it runs. */
  start(): void {
    if (this.#worker !== null || this.#closing !== null) return;
    const { database, aboveBytes = DEFAULT_BYTES, everyMs = DEFAULT_EVERY_MS, onCheckpoint } = this.#options;
    const workerData: CheckpointSettings = { path: database.name, aboveBytes, everyMs };
    const worker = new Worker(workerFile('store/checkpoint-worker'), { workerData });
    this.#worker = worker;
    worker.unref();
    worker.on('message', ({ pages }: Checkpoint) => {
      if (this.#closing !== null) return;
      if (pages === 0) this.#leaveOff(0);
      else onCheckpoint?.(pages);
    });
    worker.on('error', (error) => this.#options.onError(errorOf(error)));
    worker.on('exit', () => {
      this.#worker = null;
      this.#leaveOff(OWN_PAGES);
    });
  }

  /** Resolves when the thread has ended. It is terminated if its work takes too long. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const ended = once(worker, 'exit');
    worker.postMessage('close');
    await waitAtMost(this.#options.clock, CLOSE_MS, ended);
    await worker.terminate();
  }

  #leaveOff(pages: number): void {
    const { database } = this.#options;
    if (database.open) database.pragma(`wal_autocheckpoint = ${String(pages)}`);
  }
}
