import type { ChangedTable } from './changes.js';
import type { SqlValue } from './statement.js';

/** The rows and columns of the database that a live table shows, and what it makes of them. */
export interface TableView<Row, T> {
  /** Under which name `Changes` reports changes of its rows. */
  table: ChangedTable;
  /** What follows FROM. */
  from: string;
  columns: string;
  /** A condition on the rows. */
  where: string;
  /** What follows ORDER BY: some of the columns. */
  order: string;
  /** The columns that identify a row. */
  key: readonly string[];
  /** A column that gets another value with each change of a row. Null = every change loads all rows. */
  stamp: string | null;
  /** Whether `decode` takes so long that its results stay in memory. In a SQLite file, only this process may change them. */
  isCostly: boolean;
  decode: (row: Row) => T;
}

/** A small table whose rows can be read without waiting. */
export interface LiveTable<T> {
  all(): readonly T[];
  /** @param key the values of the key columns. Null = there is no such row */
  get(...key: readonly SqlValue[]): T | null;
  /** Finds rows by another unique column. */
  by(column: string): (value: SqlValue) => T | null;
  /** Call it after a change of a row. Resolves when the change is visible here. */
  refresh(...key: readonly SqlValue[]): Promise<void>;
}

/** Makes live tables of one database. */
export interface LiveTables {
  open<Row extends object, T>(view: TableView<Row, T>): Promise<LiveTable<T>>;
}

/** A statement that reads rows of a view, or other columns of them. */
export function selectOf(
  { from, columns, where, order }: TableView<never, unknown>,
  { also = null, only = columns }: { also?: string | null; only?: string } = {},
): string {
  const condition = also === null ? where : `${where} AND ${also}`;
  return `SELECT ${only} FROM ${from} WHERE ${condition} ORDER BY ${order}`;
}
