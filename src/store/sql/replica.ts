import { Queue } from '../../base/queues.js';
import { type LiveTable, selectOf, type TableView } from './live-table.js';
import type { SqlDatabase, SqlValue } from './statement.js';

interface Entry<T> {
  row: Record<string, SqlValue>;
  value: T;
}

/** Beyond this number of changed rows, all rows are loaded. */
const MANY_CHANGED = 100;

/** The rows of a table in memory. Whoever learns of a change calls `reload` or `refresh`. */
export class Replica<Row extends object, T> implements LiveTable<T> {
  readonly #database: SqlDatabase;
  readonly #view: TableView<Row, T>;
  #entries: ReadonlyMap<string, Entry<T>> = new Map();
  #all: readonly T[] | null = null;
  readonly #indexes = new Map<string, Map<string, T> | null>();
  /** Loads one after the other: what is read later is kept. */
  readonly #loads = new Queue();

  constructor(database: SqlDatabase, view: TableView<Row, T>) {
    this.#database = database;
    this.#view = view;
  }

  all(): readonly T[] {
    this.#all ??= Array.from(this.#entries.values(), ({ value }) => value);
    return this.#all;
  }

  get(...key: readonly SqlValue[]): T | null {
    return this.#entries.get(textOf(key))?.value ?? null;
  }

  by(column: string): (value: SqlValue) => T | null {
    this.#indexes.set(column, null);
    return (value) => {
      let index = this.#indexes.get(column) ?? null;
      if (index === null) {
        index = new Map(
          Array.from(this.#entries.values(), ({ row, value: of }) => [textOf([row[column] ?? null]), of]),
        );
        this.#indexes.set(column, index);
      }
      return index.get(textOf([value])) ?? null;
    };
  }

  /** Loads one row. */
  refresh(...key: readonly SqlValue[]): Promise<void> {
    return this.#loads.run(async () => {
      const [row] = await this.#rows(key);
      const entries = new Map(this.#entries);
      const name = textOf(key);
      const isNew = !entries.has(name);
      if (row === undefined) entries.delete(name);
      else entries.set(name, this.#entryOf(row));
      this.#set(isNew ? this.#sorted(entries) : entries);
    });
  }

  /** Loads what has changed. */
  reload(): Promise<void> {
    return this.#loads.run(async () => {
      const { stamp, key } = this.#view;
      if (stamp === null || this.#entries.size === 0) return this.#loadAll();
      const stamps = await this.#select<Record<string, SqlValue>>([], [...key, stamp].join(', '));
      const changed = stamps.filter(
        (now) => this.#entries.get(this.#keyOf(now))?.row[short(stamp)] !== now[short(stamp)],
      );
      if (changed.length > MANY_CHANGED) return this.#loadAll();
      const entries = new Map<string, Entry<T>>();
      for (const now of stamps) {
        const known = this.#entries.get(this.#keyOf(now));
        const [row] = changed.includes(now) ? await this.#rows(key.map((column) => now[short(column)] ?? null)) : [];
        const entry = row === undefined ? known : this.#entryOf(row);
        if (entry !== undefined) entries.set(this.#keyOf(now), entry);
      }
      this.#set(entries);
    });
  }

  #sorted(entries: ReadonlyMap<string, Entry<T>>): ReadonlyMap<string, Entry<T>> {
    const columns = this.#view.order.split(', ').map(short);
    const compare = ([, { row: a }]: [string, Entry<T>], [, { row: b }]: [string, Entry<T>]): number => {
      const column = columns.find((name) => a[name] !== b[name]);
      return column === undefined ? 0 : (a[column] ?? 0) < (b[column] ?? 0) ? -1 : 1;
    };
    return new Map(Array.from(entries).sort(compare));
  }

  async #loadAll(): Promise<void> {
    const rows = await this.#rows([]);
    this.#set(new Map(rows.map((row) => [this.#keyOf(row), this.#entryOf(row)])));
  }

  #rows(key: readonly SqlValue[]): Promise<readonly Record<string, SqlValue>[]> {
    return this.#select(key);
  }

  /** @param key [] = all rows */
  #select<R>(key: readonly SqlValue[], only?: string): Promise<readonly R[]> {
    const also = key.length === 0 ? null : this.#view.key.map((column) => `${column} = ?`).join(' AND ');
    const options = only === undefined ? { also } : { also, only };
    return this.#database.all<R>({ text: selectOf(this.#view, options), values: key });
  }

  #entryOf(row: Record<string, SqlValue>): Entry<T> {
    return { row, value: this.#view.decode(row as Row) };
  }

  #keyOf(row: Record<string, SqlValue>): string {
    return textOf(this.#view.key.map((column) => row[short(column)] ?? null));
  }

  #set(entries: ReadonlyMap<string, Entry<T>>): void {
    this.#entries = entries;
    this.#all = null;
    for (const column of this.#indexes.keys()) this.#indexes.set(column, null);
  }
}

/** The name of a column in a result. */
function short(column: string): string {
  return column.slice(column.indexOf('.') + 1);
}

function textOf(values: readonly SqlValue[]): string {
  return JSON.stringify(
    values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value)),
  );
}
