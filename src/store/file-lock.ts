import Database from 'better-sqlite3';
import { closeSync, openSync } from 'node:fs';

/**
 * A file that is locked; nothing is in it. It is a lock of the operating system's on an empty SQLite file, so it goes
 * with the process, however that ends, and there is no stale one.
 */
export class FileLock {
  readonly #database: Database.Database;

  private constructor(database: Database.Database) {
    this.#database = database;
  }

  /**
   * @returns null = somebody else has it
   * @throws Error where the file cannot be written
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
