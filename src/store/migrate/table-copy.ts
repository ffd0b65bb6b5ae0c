import type { SqlValue, Statement } from '../sql/statement.js';

/** The values of a row, in the order of the table's columns. */
export type CopiedRow = readonly SqlValue[];

/** A table of a data folder and what becomes of it in PostgreSQL. */
export interface TableCopy {
  /** Of the table in PostgreSQL. */
  readonly name: string;
  /** The columns that are copied and compared; the first ones are the key. */
  readonly columns: readonly string[];
  readonly keyLength: number;
  /** Number of rows in the data folder. */
  count: () => number;
  /**
   * Rows of the data folder as PostgreSQL has to have them, in the order of their keys.
   * @param after the key of the last row before; null = from the beginning
   */
  rows: (after: CopiedRow | null) => Iterable<CopiedRow>;
  /** Adds rows; null = triggers do. */
  insertion: ((rows: readonly CopiedRow[]) => Statement) | null;
  /** Rows of PostgreSQL, in the same order. Their columns have the names of `columns`. */
  selection: (after: CopiedRow | null, limit: number) => Statement;
  /** Makes a row of PostgreSQL what it was before its insertion. Default: it is. */
  comparable?: (row: CopiedRow) => CopiedRow;
}

/** A text that both databases keep as it is: PostgreSQL's have no character 0. */
export function copied(value: SqlValue): SqlValue {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value;
}

/** Rows as JSON for `json_populate_recordset`, which reads a whole page in one statement. */
export function recordsJson(columns: readonly string[], rows: readonly CopiedRow[]): string {
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(row.map((value, index) => [columns[index] ?? '', plain(value)]))),
  );
}

/** For the checksum: the same text on both sides. */
export function rowText(row: CopiedRow): string {
  return JSON.stringify(row.map(plain));
}

/** Bytes as PostgreSQL reads them. */
function plain(value: SqlValue): string | number | null {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value;
}

/** `WHERE (a, b) > (?, ?)`, for the rows after one; nothing for the first page. */
export function laterThan(key: readonly string[], after: CopiedRow | null): { text: string; values: CopiedRow } {
  if (after === null) return { text: 'TRUE', values: [] };
  const names = key.map(quoted).join(', ');
  return { text: `(${names}) > (${key.map(() => '?').join(', ')})`, values: after };
}

/** A name of a column: some are words of SQL. */
export function quoted(name: string): string {
  return `"${name}"`;
}
