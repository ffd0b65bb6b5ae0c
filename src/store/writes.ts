import type { SqlDatabase, Transaction } from './sql/statement.js';

/**
 * The statements of a write. `agoUs`: how long ago it was asked for. It may run twice, so its rows have keys that it always
 * gets.
 */
export type WriteOperation<T, R> = (data: T, agoUs: number) => Transaction<R>;

/** What a write has stored; null = the database cannot be reached, and the write waits for it. */
export type Written<R> = { readonly result: R } | null;

/** Writes of calls that go on. None is lost because the database cannot be reached for a while. */
export interface Writes {
  /**
   * Names a kind of write.
   * @param name never changes: waiting writes outlive the process
   * @returns writes data, which is plain JSON. Resolves when it is safe
   */
  operation<T, R>(name: string, work: WriteOperation<T, R>): (data: T) => Promise<Written<R>>;
  /** Subscribes to the moments when all that has waited is written. */
  onWritten(listener: () => void): void;
}

/** Writes to a database that can always be reached. */
export class DirectWrites implements Writes {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  operation<T, R>(_name: string, work: WriteOperation<T, R>): (data: T) => Promise<Written<R>> {
    return async (data) => ({ result: await this.#database.transaction(() => work(data, 0)) });
  }

  onWritten(): void {
    // Nothing waits.
  }
}
