import type Database from 'better-sqlite3';
import { type LiveTable, type LiveTables, selectOf, type TableView } from '../sql/live-table.js';
import { Replica } from '../sql/replica.js';
import type { SqlValue } from '../sql/statement.js';
import { SqliteDatabase } from './sqlite-database.js';

/** Live tables of a file. Each read asks SQLite, which sees at once what other processes have changed. */
export class SqliteLiveTables implements LiveTables {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  async open<Row extends object, T>(view: TableView<Row, T>): Promise<LiveTable<T>> {
    if (!view.isCostly) return new SqliteLiveTable(this.#database, view);
    const replica = new Replica(new SqliteDatabase(this.#database), view);
    await replica.reload();
    return replica;
  }
}

/** A table that asks SQLite at each read. */
export class SqliteLiveTable<Row extends object, T> implements LiveTable<T> {
  readonly #database: Database.Database;
  readonly #view: TableView<Row, T>;
  readonly #all: Database.Statement<unknown[], Row>;
  readonly #get: Database.Statement<unknown[], Row>;

  constructor(database: Database.Database, view: TableView<Row, T>) {
    this.#database = database;
    this.#view = view;
    this.#all = database.prepare(selectOf(view));
    this.#get = this.#where(view.key);
  }

  all(): readonly T[] {
    return this.#all.all().map((row) => this.#view.decode(row));
  }

  get(...key: readonly SqlValue[]): T | null {
    return this.#decoded(this.#get.get(...key));
  }

  by(column: string): (value: SqlValue) => T | null {
    const statement = this.#where([column]);
    return (value) => this.#decoded(statement.get(value));
  }

  async refresh(): Promise<void> {
    // Nothing is in memory.
  }

  #where(columns: readonly string[]): Database.Statement<unknown[], Row> {
    const also = columns.map((column) => `${column} = ?`).join(' AND ');
    return this.#database.prepare(selectOf(this.#view, { also }));
  }

  #decoded(row: Row | undefined): T | null {
    return row === undefined ? null : this.#view.decode(row);
  }
}
