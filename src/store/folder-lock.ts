import Database from 'better-sqlite3';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { ParleyError, reasonOf } from '../errors.js';
import { makeDataFolder, openDatabase } from './database.js';

/** The file that is locked; nothing is in it. */
const FILE_NAME = 'daemon.lock';

/**
 * Makes a data folder one's own: as long as the lock is held, nobody else gets it. It is a lock of the operating
 * system's on an empty SQLite file, so it goes with the process, however that ends, and there is no stale one.
 */
export class FolderLock {
  readonly #database: Database.Database;

  /** @throws ParleyError DATA_FOLDER_IN_USE, or FILE_NOT_WRITABLE where the folder cannot be written to */
  constructor(dataDir: string) {
    try {
      makeDataFolder(dataDir);
      const path = join(dataDir, FILE_NAME);
      closeSync(openSync(path, 'a', 0o600));
      this.#database = new Database(path, { timeout: 0 });
    } catch (error) {
      const path = `the data folder ${dataDir} (PARLEY_DATA_DIR)`;
      throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
    }
    try {
      this.#database.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      this.#database.close();
      throw new ParleyError('DATA_FOLDER_IN_USE', { path: dataDir }, { cause: error });
    }
  }

  /** May be called twice. */
  release(): void {
    this.#database.close();
  }
}

/**
 * The database of a data folder that nobody else uses, until `close`.
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
