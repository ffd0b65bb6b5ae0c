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
  /** The log of changes may grow to this, in bytes. Default 4 MB, which is SQLite's own. */
  aboveBytes?: number;
  /** How often it is looked at. Default 500 ms. */
  everyMs?: number;
  /** Pages have been written back. Default nothing. */
  onCheckpoint?: (pages: number) => void;
  /** The thread has failed; the connection checkpoints for itself again, as it would without a thread. */
  onError: (error: Error) => void;
}

/** SQLite's own: a commit that brings the log to this many pages checkpoints. */
const OWN_PAGES = 1000;
const DEFAULT_BYTES = OWN_PAGES * 4096;
const DEFAULT_EVERY_MS = 500;
const CLOSE_MS = 2000;

/** Has a thread do the checkpoints of a connection, which would otherwise stop the event loop in some commit. */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  #worker: Worker | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  /** Of no effect a second time. The connection leaves off when the thread says that it is at work. */
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

  /** Resolves when the thread has ended, in the middle of its work if that takes too long. */
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
