import Database from 'better-sqlite3';
import { closeSync, openSync } from 'node:fs';

/**
 * A lock on an empty SQLite file. The operating system holds it and releases it when the process ends in any way, so
 * no stale lock remains.
 */
export class FileLock {
  readonly #database: Database.Database;

  private constructor(database: Database.Database) {
    this.#database = database;
  }

  /**
   * @returns null = another process holds it
   * @throws Error if the file cannot be written
   */
  static take(path: string): FileLock | null {
    closeSync(openSync(path, 'a', 0o600));
    const database = new Database(path, { timeout: 0 });
    try {
      database.exec('BEGIN EXCLUSIVE');
      return new FileLock(database);
    } catch {
      database.close();
      return null;
    }
  }

  release(): void {
    this.#database.close();
  }
}
