import { createHash } from 'node:crypto';
import { ParleyError } from '../../base/errors.js';
import { run, sql, type SqlDatabase, type SqlValue, type Transaction } from '../sql/statement.js';
import { type CopiedRow, quoted, rowText, type TableCopy } from './table-copy.js';

/** What is being done. */
export interface CopyProgress {
  table: string;
  step: 'copy' | 'verify';
  /** Rows of the table that are done, and all of it. */
  done: number;
  total: number;
  /** 0..1, of everything. */
  share: number;
}

export interface FolderCopyOptions {
  /** For messages. */
  dataDir: string;
  /** Identifies the folder, wherever it is. */
  source: string;
  tables: readonly TableCopy[];
  target: SqlDatabase;
  signal: AbortSignal;
  onProgress: (progress: CopyProgress) => void;
}

interface StateRow {
  name: string;
  source: string;
  state: 'copying' | 'copied' | 'verified';
  copied: number;
  last_key: string | null;
}

/** Of one transaction: as many rows or characters, whichever is reached first. */
const PAGE_ROWS = 500;
const PAGE_CHARS = 4_000_000;
const LOCK = 'parley migrate';
/** Tables that say nothing about the data: of the schema, and of this copy. */
const OWN_TABLES = ['parley_schema', 'changes', 'migration'];

/**
 * Copies the tables of a data folder into a PostgreSQL database. Each transaction adds a page of rows and notes how far it
 * has come, so a copy that was interrupted at any point goes on there. Then it compares all rows.
 */
export class FolderCopy {
  readonly #options: FolderCopyOptions;
  /** Rows to copy and to compare. */
  readonly #total: number;
  #done = 0;

  constructor(options: FolderCopyOptions) {
    this.#options = options;
    this.#total = 2 * options.tables.reduce((sum, table) => sum + table.count(), 0);
  }

  /**
   * Takes the database for this folder. From then on no node uses it before the copy is complete.
   * @throws ParleyError MIGRATION_REFUSED for a database with other data, DATABASE_…
   */
  async begin(): Promise<void> {
    const refused = await this.#options.target.transaction(() => this.#claim(), LOCK);
    if (refused !== null) throw this.#refusal(refused);
  }

  /**
   * Copies what is not copied yet, after `begin`. Returns the number of rows by table.
   * @throws ParleyError MIGRATION_REFUSED for the copy of another folder, or rows that differ; DATABASE_…; the signal's
   * reason
   */
  async run(): Promise<ReadonlyMap<string, number>> {
    const { tables } = this.#options;
    const states = await this.#states();
    const counts = new Map<string, number>();
    for (const table of tables) {
      const state = states.get(table.name);
      if (state === undefined) throw this.#refusal(`the database was filled by another version of parley`);
      if (state.state === 'copying') await this.#copy(table, state);
      else this.#done += table.count();
    }
    // Behind the last row: a table that triggers fill is complete then.
    for (const table of tables) counts.set(table.name, await this.#verify(table));
    return counts;
  }

  /** The state of all tables. */
  async #states(): Promise<ReadonlyMap<string, StateRow>> {
    const { target, source, tables } = this.#options;
    const rows = await target.all<StateRow>(sql`SELECT name, source, state, copied, last_key FROM migration`);
    if (rows.some((row) => row.source !== source)) {
      throw this.#refusal('another data folder has been copied into this database');
    }
    if (rows.length !== tables.length) throw this.#refusal('another version of parley has begun to copy it');
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** @returns why the database is not taken */
  *#claim(): Transaction<string | null> {
    const { source, tables } = this.#options;
    const begun = yield sql`SELECT name FROM migration LIMIT 1`;
    if (begun.rows.length > 0) return null;
    const names = (yield sql`SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`).rows;
    for (const { name } of names as readonly { name: string }[]) {
      if (OWN_TABLES.includes(name)) continue;
      const found = yield { text: `SELECT 1 FROM ${quoted(name)} LIMIT 1`, values: [] };
      if (found.rows.length > 0) return `the database has data already, in the table ${name}; give it an empty one`;
    }
    for (const { name } of tables) {
      yield* run(sql`INSERT INTO migration (name, source, state, copied) VALUES (${name}, ${source}, 'copying', 0)`);
    }
    return null;
  }

  async #copy(table: TableCopy, state: StateRow): Promise<void> {
    const { target, signal } = this.#options;
    const total = table.count();
    let [done, after] = [state.copied, state.last_key === null ? null : (JSON.parse(state.last_key) as CopiedRow)];
    this.#done += done;
    for (;;) {
      signal.throwIfAborted();
      const page = table.insertion === null ? [] : pageOf(table.rows(after));
      const last = page.at(-1)?.slice(0, table.keyLength) ?? null;
      const before = done;
      done += page.length;
      await target.transaction(() => this.#addPage(table, page, { before, done, last }), LOCK);
      this.#progress(table, 'copy', done, total, page.length);
      if (last === null) return;
      after = last;
    }
  }

  /** Adds rows and notes it. An empty page ends the table. */
  *#addPage(
    { name, insertion }: TableCopy,
    page: readonly CopiedRow[],
    { before, done, last }: { before: number; done: number; last: CopiedRow | null },
  ): Transaction<void> {
    if (insertion !== null && page.length > 0) yield insertion(page);
    if (last === null) yield* continueSequences(name);
    const changed = yield* run(
      sql`UPDATE migration SET copied = ${done}, last_key = COALESCE(${last === null ? null : JSON.stringify(last)}, last_key),
            state = ${last === null ? 'copied' : 'copying'}
          WHERE name = ${name} AND state = 'copying' AND copied = ${before}`,
    );
    if (changed === 0) throw this.#refusal('another process copies it at the same time');
  }

  /** Compares all rows of a table. Returns their number. */
  async #verify(table: TableCopy): Promise<number> {
    const { target, signal } = this.#options;
    const { columns, keyLength, comparable = (row) => row } = table;
    const total = table.count();
    const [here, there] = [createHash('sha256'), createHash('sha256')];
    let [hereCount, thereCount] = [0, 0];
    let after: CopiedRow | null = null;
    let key: CopiedRow | null = null;
    for (;;) {
      signal.throwIfAborted();
      const page = pageOf(table.rows(after));
      const found: readonly Record<string, SqlValue>[] = await target.all(
        table.selection(key, Math.max(1, page.length)),
      );
      for (const row of page) here.update(`${rowText(row)}\n`);
      const rows: readonly CopiedRow[] = found.map((row) => comparable(columns.map((column) => row[column] ?? null)));
      for (const row of rows) there.update(`${rowText(row)}\n`);
      hereCount += page.length;
      thereCount += rows.length;
      this.#progress(table, 'verify', hereCount, total, page.length);
      if (page.length === 0 || rows.length === 0) break;
      after = page.at(-1)?.slice(0, keyLength) ?? null;
      key = rows.at(-1)?.slice(0, keyLength) ?? null;
    }
    const counts = `${String(hereCount)} rows in the folder, ${String(thereCount)} in the database`;
    if (hereCount !== thereCount || here.digest('hex') !== there.digest('hex')) {
      const reason = `the table ${table.name} differs: ${counts}. If a daemon has used one of them since, empty the database`;
      throw this.#refusal(`${reason} (DROP SCHEMA public CASCADE; CREATE SCHEMA public) and copy again`);
    }
    await target.run(sql`UPDATE migration SET state = 'verified' WHERE name = ${table.name}`);
    return hereCount;
  }

  #progress({ name }: TableCopy, step: CopyProgress['step'], done: number, total: number, more: number): void {
    this.#done += more;
    const share = this.#total === 0 ? 1 : Math.min(1, this.#done / this.#total);
    this.#options.onProgress({ table: name, step, done, total, share });
  }

  #refusal(reason: string): ParleyError {
    return new ParleyError('MIGRATION_REFUSED', { path: this.#options.dataDir, reason });
  }
}

function pageOf(rows: Iterable<CopiedRow>): CopiedRow[] {
  const page: CopiedRow[] = [];
  let chars = 0;
  for (const row of rows) {
    page.push(row);
    for (const value of row) chars += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
    if (page.length >= PAGE_ROWS || chars >= PAGE_CHARS) break;
  }
  return page;
}

/** Columns that count rows go on behind the highest number. */
function* continueSequences(table: string): Transaction<void> {
  const { rows } = yield sql`SELECT column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = ${table} AND is_identity = 'YES'`;
  for (const { name } of rows as readonly { name: string }[]) {
    yield {
      text: `SELECT setval(pg_get_serial_sequence(?, ?), MAX(${quoted(name)})) FROM ${table} HAVING COUNT(*) > 0`,
      values: [table, name],
    };
  }
}
