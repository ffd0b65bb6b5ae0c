import Database from 'better-sqlite3';
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { RealClock } from '../base/real-clock.js';

/** The worker's start parameters. */
export interface CheckpointSettings {
  /** The database file. */
  path: string;
  /** The size at which the worker writes the write-ahead log back, in bytes. */
  aboveBytes: number;
  /** The interval between two checks, in milliseconds. */
  everyMs: number;
}

/** The number of pages written back. The first message, with 0 pages, says that the thread is running. */
export interface Checkpoint {
  pages: number;
}

/** If the log is this many times its limit, writers leave no gap: the worker makes them wait once. */
const STARVED = 8;

/**
 * The thread that writes the write-ahead log (`-wal`) back into the database file. A commit on the main thread would
 * otherwise do so, which takes tens of milliseconds, and audio frames are due every 20. See sqlite.org/wal.html,
 * "Checkpointing". Any message ends the thread.
 */
const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const { path, aboveBytes, everyMs } = workerData as CheckpointSettings;
const database = new Database(path, { fileMustExist: true, timeout: 1000 });
database.pragma('synchronous = FULL');
const clock = new RealClock();
let backfilled = 0;
let cancel = clock.schedule(clock.nowMs(), look);
const tell = (pages: number): void => port.postMessage({ pages } satisfies Checkpoint);
tell(0);

port.once('message', () => {
  cancel();
  database.close();
  port.close();
});

function look(): void {
  cancel = clock.schedule(clock.nowMs() + everyMs, look);
  const bytes = logBytes();
  if (bytes < aboveBytes) return;
  writeBack('PASSIVE');
  if (bytes >= STARVED * aboveBytes) writeBack('RESTART');
}

/** The log file keeps its size after a checkpoint, so this counts only its new pages. */
function writeBack(mode: 'PASSIVE' | 'RESTART'): void {
  const [done] = database.pragma(`wal_checkpoint(${mode})`) as [{ busy: number; log: number; checkpointed: number }];
  if (done.checkpointed > backfilled) tell(done.checkpointed - backfilled);
  backfilled = done.checkpointed;
}

function logBytes(): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
