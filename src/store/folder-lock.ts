import type Database from 'better-sqlite3';
import { join } from 'node:path';
import { ParleyError, reasonOf } from '../base/errors.js';
import { makeDataFolder, openDatabase } from './database.js';
import { FileLock } from './file-lock.js';
import { sqliteFault } from './sqlite.js';

const FILE_NAME = 'daemon.lock';

/** Exclusive use of a data folder: while one process holds the lock, no other gets it. */
export class FolderLock {
  readonly #lock: FileLock;

  /** @throws ParleyError DATA_FOLDER_IN_USE, or FILE_NOT_WRITABLE if the folder cannot be written to */
  constructor(dataDir: string) {
    let lock: FileLock | null;
    try {
      makeDataFolder(dataDir);
      lock = FileLock.take(join(dataDir, FILE_NAME));
    } catch (error) {
      const fault = sqliteFault(error);
      if (fault !== null) throw fault;
      const path = `the data folder ${dataDir} (PARLEY_DATA_DIR)`;
      throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
    }
    if (lock === null) throw new ParleyError('DATA_FOLDER_IN_USE', { path: dataDir });
    this.#lock = lock;
  }

  release(): void {
    this.#lock.release();
  }
}

/**
 * Locks a data folder and opens its database, until `close`.
 * @throws ParleyError as `FolderLock` and `openDatabase`
 */
export function openOwnDatabase(dataDir: string): { database: Database.Database; close: () => void } {
  const lock = new FolderLock(dataDir);
  try {
    const database = openDatabase(dataDir);
    const close = (): void => {
      database.close();
      lock.release();
    };
    return { database, close };
  } catch (error) {
    lock.release();
    throw error;
  }
}
