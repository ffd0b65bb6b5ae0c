import type Database from 'better-sqlite3';
import { nowUnixMs as systemUnixMs } from '../../base/real-clock.js';
import type { StatementResult, SqlDatabase, Statement, Transaction } from '../sql/statement.js';

/**
 * A database in a file. Each statement runs when it is called: calls take effect in their order, and a transaction runs
 * from its first to its last statement before anything else does.
 */
export class SqliteDatabase implements SqlDatabase {
  readonly dialect = 'sqlite';
  readonly #database: Database.Database;
  readonly #prepared = new Map<string, Database.Statement<unknown[]>>();

  readonly #nowUnixMs: () => number;

  /** @param nowUnixMs milliseconds since 1970, with a fraction if the clock has one */
  constructor(database: Database.Database, nowUnixMs: () => number = systemUnixMs) {
    this.#database = database;
    this.#nowUnixMs = nowUnixMs;
  }

  all<Row>(statement: Statement): Promise<readonly Row[]> {
    return settled(() => this.#run(statement).rows as readonly Row[]);
  }

  first<Row>(statement: Statement): Promise<Row | null> {
    return settled(() => (this.#run(statement).rows[0] as Row | undefined) ?? null);
  }

  run(statement: Statement): Promise<number> {
    return settled(() => this.#run(statement).changes);
  }

  transaction<T>(work: () => Transaction<T>): Promise<T> {
    // Immediate: a transaction that reads first could not write after another process has.
    return settled(() => this.#database.transaction(() => this.#runAll(work())).immediate());
  }

  read<T>(work: () => Transaction<T>): Promise<T> {
    return settled(() => this.#database.transaction(() => this.#runAll(work())).deferred());
  }

  lazyTransaction<T>(work: () => Transaction<T>): Promise<T> {
    return settled(() => {
      this.#database.pragma('synchronous = NORMAL');
      try {
        return this.#database.transaction(() => this.#runAll(work())).immediate();
      } finally {
        this.#database.pragma('synchronous = FULL');
      }
    });
  }

  /** Writes the write-ahead log back. Free pages have been overwritten already: `secure_delete`. */
  scrub(): Promise<void> {
    return settled(() => void this.#database.pragma('wal_checkpoint(TRUNCATE)'));
  }

  // oxlint-disable-next-line require-yield -- the clock needs no statement
  *nowUs(): Transaction<number> {
    return Math.floor(this.#nowUnixMs() * 1000);
  }

  close(): Promise<void> {
    return settled(() => void this.#database.close());
  }

  #runAll<T>(work: Transaction<T>): T {
    let step = work.next();
    while (step.done !== true) step = work.next(this.#run(step.value));
    return step.value;
  }

  #run({ text, values }: Statement): StatementResult {
    const statement = this.#prepare(text);
    if (!statement.reader) return { rows: [], changes: statement.run(...values).changes };
    const rows = statement.all(...values);
    return { rows, changes: rows.length };
  }

  #prepare(text: string): Database.Statement<unknown[]> {
    let statement = this.#prepared.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare<unknown[]>(text);
      this.#prepared.set(text, statement);
    }
    return statement;
  }
}

/** Runs at once; a fault rejects. */
function settled<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}
