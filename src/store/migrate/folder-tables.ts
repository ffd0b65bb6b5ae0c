import type Database from 'better-sqlite3';
import type { SqlDatabase, SqlValue } from '../sql/statement.js';
import { sql } from '../sql/statement.js';
import { copied, type CopiedRow, laterThan, quoted, recordsJson, type TableCopy } from './table-copy.js';

/** Tables that are not copied: nodes that no longer run. */
const LEFT_OUT = new Set(['nodes']);
/** Tables that PostgreSQL's triggers fill. Rows that count nothing differ. */
const BY_TRIGGERS: ReadonlyMap<string, string> = new Map([['campaign_counts', 'count <> 0']]);

interface SourceTable {
  name: string;
  columns: readonly string[];
  key: readonly string[];
  parents: readonly string[];
}

/** The tables of `parley.db`, each behind those that its rows refer to. */
export async function folderTables(source: Database.Database, target: SqlDatabase): Promise<TableCopy[]> {
  const rows = await target.all<{ name: string; has_rowid: boolean }>(
    sql`SELECT table_name AS name, bool_or(column_name = 'rowid') AS has_rowid FROM information_schema.columns
        WHERE table_schema = current_schema() GROUP BY table_name`,
  );
  const hasRowid = new Map(rows.map(({ name, has_rowid: has }) => [name, has]));
  return sourceTables(source)
    .filter(({ name }) => !LEFT_OUT.has(name))
    .map((table) => tableCopy(source, table, hasRowid.get(table.name) === true));
}

function tableCopy(source: Database.Database, { name, columns, key }: SourceTable, hasRowid: boolean): TableCopy {
  const others = columns.filter((column) => !key.includes(column));
  const all = [...key, ...others, ...(hasRowid ? ['rowid'] : [])];
  const names = all.map(quoted).join(', ');
  const order = key.map(quoted).join(', ');
  const condition = BY_TRIGGERS.get(name) ?? 'TRUE';
  return {
    name,
    columns: all,
    keyLength: key.length,
    count: () =>
      source.prepare<unknown[], number>(`SELECT COUNT(*) FROM ${name} WHERE ${condition}`).pluck().get() ?? 0,
    *rows(after) {
      const { text, values } = laterThan(key, after);
      const found = source
        .prepare<unknown[], SqlValue[]>(`SELECT ${names} FROM ${name} WHERE ${condition} AND ${text} ORDER BY ${order}`)
        .raw()
        .iterate(...values);
      for (const row of found) yield row.map(copied);
    },
    insertion: BY_TRIGGERS.has(name)
      ? null
      : (rows: readonly CopiedRow[]) => ({
          text: `INSERT INTO ${name} (${names}) SELECT ${names}
            FROM json_populate_recordset(CAST(NULL AS ${name}), CAST(? AS json))`,
          values: [recordsJson(all, rows)],
        }),
    selection: (after, limit) => {
      const { text, values } = laterThan(key, after);
      return {
        text: `SELECT ${names} FROM ${name} WHERE ${condition} AND ${text} ORDER BY ${order} LIMIT ?`,
        values: [...values, limit],
      };
    },
  };
}

/** All tables, parents before their children. */
function sourceTables(source: Database.Database): SourceTable[] {
  const names = source
    .prepare<unknown[], string>(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .pluck()
    .all();
  const waiting = names.map((name) => sourceTable(source, name));
  const sorted: SourceTable[] = [];
  while (waiting.length > 0) {
    const done = new Set(sorted.map(({ name }) => name));
    const at = waiting.findIndex(({ name, parents }) => parents.every((parent) => parent === name || done.has(parent)));
    sorted.push(...waiting.splice(Math.max(0, at), 1));
  }
  return sorted;
}

function sourceTable(source: Database.Database, name: string): SourceTable {
  const columns = source.pragma(`table_info(${name})`) as { name: string; pk: number }[];
  const primary = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
  const parents = source.pragma(`foreign_key_list(${name})`) as { table: string }[];
  return {
    name,
    columns: columns.map((column) => column.name),
    key: primary.length > 0 ? primary.map((column) => column.name) : uniqueColumns(source, name),
    parents: parents.map(({ table }) => table),
  };
}

/** The columns of a unique index, for a table without a primary key. */
function uniqueColumns(source: Database.Database, name: string): string[] {
  const indexes = source.pragma(`index_list(${name})`) as { name: string; unique: number }[];
  const unique = indexes.find((index) => index.unique === 1);
  if (unique === undefined) throw new Error(`the table ${name} has no key`);
  return (source.pragma(`index_info(${unique.name})`) as { name: string }[]).map((column) => column.name);
}
