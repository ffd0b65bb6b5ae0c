import { type Clock, delay } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import { sql, type SqlDatabase, type Statement, type Transaction } from './statement.js';

export interface WatchedDatabaseOptions {
  /** A real one. */
  clock: Clock;
  /** Called when the database cannot be reached any more, and when it is back. */
  onChange: (isReachable: boolean) => void;
}

/** How long to wait before the database is tried again. */
const RETRY_MS = { first: 100, most: 1_000 };

/**
 * A database that knows whether it can be reached. While it cannot, statements fail at once, so that nobody waits for a
 * connection in vain, and it is tried again and again.
 */
export class WatchedDatabase implements SqlDatabase {
  readonly dialect: SqlDatabase['dialect'];
  readonly #database: SqlDatabase;
  readonly #options: WatchedDatabaseOptions;
  /** Null = it can be reached. */
  #fault: ParleyError | null = null;
  #trying: Promise<void> | null = null;
  readonly #closed = new AbortController();

  constructor(database: SqlDatabase, options: WatchedDatabaseOptions) {
    this.dialect = database.dialect;
    this.#database = database;
    this.#options = options;
  }

  /** Null = it can be reached. Else why not: DATABASE_UNREACHABLE. */
  get fault(): ParleyError | null {
    return this.#fault;
  }

  all<Row>(statement: Statement): Promise<readonly Row[]> {
    return this.#through(() => this.#database.all<Row>(statement));
  }

  first<Row>(statement: Statement): Promise<Row | null> {
    return this.#through(() => this.#database.first<Row>(statement));
  }

  run(statement: Statement): Promise<number> {
    return this.#through(() => this.#database.run(statement));
  }

  transaction<T>(work: () => Transaction<T>, lock?: string): Promise<T> {
    return this.#through(() => this.#database.transaction(work, lock));
  }

  read<T>(work: () => Transaction<T>): Promise<T> {
    return this.#through(() => this.#database.read(work));
  }

  lazyTransaction<T>(work: () => Transaction<T>): Promise<T> {
    return this.#through(() => this.#database.lazyTransaction(work));
  }

  scrub(): Promise<void> {
    return this.#through(() => this.#database.scrub());
  }

  nowUs(): Transaction<number> {
    return this.#database.nowUs();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#trying;
    await this.#database.close();
  }

  async #through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#fault !== null) throw this.#fault;
    try {
      return await work();
    } catch (error) {
      if (error instanceof ParleyError && error.code === 'DATABASE_UNREACHABLE') this.#doubt(error);
      throw error;
    }
  }

  /** A statement has failed: asks whether another one works, for it may have been that statement only. */
  #doubt(error: ParleyError): void {
    this.#trying ??= this.#try(error).finally(() => (this.#trying = null));
  }

  async #try(error: ParleyError): Promise<void> {
    const { clock, onChange } = this.#options;
    for (let waitMs = RETRY_MS.first; !this.#closed.signal.aborted; waitMs = Math.min(RETRY_MS.most, 2 * waitMs)) {
      try {
        await this.#database.first(sql`SELECT 1 AS one`);
        break;
      } catch {
        const isNew = this.#fault === null;
        this.#fault ??= error;
        if (isNew) onChange(false);
      }
      await delay(clock, waitMs, this.#closed.signal).catch(() => undefined);
    }
    if (this.#fault === null || this.#closed.signal.aborted) return;
    this.#fault = null;
    onChange(true);
  }
}
