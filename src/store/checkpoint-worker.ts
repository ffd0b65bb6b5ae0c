import Database from 'better-sqlite3';
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { RealClock } from '../base/real-clock.js';

/** What the thread is started with. */
export interface CheckpointSettings {
  /** The database file. */
  path: string;
  /** The log of changes may grow to this before it is written back. */
  aboveBytes: number;
  /** How often it is looked at, in milliseconds. */
  everyMs: number;
}

/** Pages that have been written back. The first message, of 0 pages, says that the thread is at work. */
export interface Checkpoint {
  pages: number;
}

/** A log this many times larger than it should be has writers that leave no gap: they are made to wait once. */
const STARVED = 8;

/**
 * The thread that writes the database's log of changes (`-wal`) back into its file, so that no commit of the main
 * thread has to: that takes tens of milliseconds, and frames of audio are due every 20. See sqlite.org/wal.html,
 * "Checkpointing". Ends when it is sent any message.
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

/** The file keeps its size when its content has been written back: only its new pages are reported. */
function writeBack(mode: 'PASSIVE' | 'RESTART'): void {
  const [done] = database.pragma(`wal_checkpoint(${mode})`) as [{ busy: number; log: number; checkpointed: number }];
  if (done.checkpointed > backfilled) tell(done.checkpointed - backfilled);
  backfilled = done.checkpointed;
}

function logBytes(): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
