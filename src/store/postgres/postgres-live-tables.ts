import type { Changes } from '../sql/changes.js';
import type { LiveTable, LiveTables, TableView } from '../sql/live-table.js';
import { Replica } from '../sql/replica.js';
import type { SqlDatabase } from '../sql/statement.js';

/** Live tables in the memory of each node. They can be read while the database cannot. */
export class PostgresLiveTables implements LiveTables {
  readonly #database: SqlDatabase;
  readonly #changes: Changes;

  constructor(database: SqlDatabase, changes: Changes) {
    this.#database = database;
    this.#changes = changes;
  }

  async open<Row extends object, T>(view: TableView<Row, T>): Promise<LiveTable<T>> {
    const replica = new Replica(this.#database, view);
    // First the listener: a change while the rows are read is not missed.
    this.#changes.on(view.table, () => replica.reload());
    await replica.reload();
    return replica;
  }
}
