import { existsSync } from 'node:fs';
import type { Settings } from '../../settings/settings.js';
import { databaseFile, openDatabase } from '../../store/database.js';
import { NO_CHANGES } from '../../store/sql/changes.js';
import type { LiveTables } from '../../store/sql/live-table.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../store/sqlite/sqlite-live-tables.js';

/** Where the daemon's data are. */
export type DatabasePlace = Pick<Settings, 'dataDir' | 'databaseUrl'>;

/** The database of the daemon, also while it runs. */
export interface DaemonDatabase {
  database: SqlDatabase;
  tables: LiveTables;
  /** May be called twice. */
  close: () => Promise<void>;
}

/** A command needs few connections, and no node waits for it. */
const COMMAND_POOL = { poolSize: 2, statementTimeoutMs: 60_000, onError: () => undefined };

/** Whether there is a database. A PostgreSQL server has one; the data folder has none before the first start. */
export function hasDatabase({ dataDir, databaseUrl }: DatabasePlace): boolean {
  return databaseUrl !== null || existsSync(databaseFile(dataDir));
}

/** What holds the daemon's data, for messages. */
export function databaseName({ dataDir, databaseUrl }: DatabasePlace): string {
  if (databaseUrl === null) return dataDir;
  const { host, pathname } = new URL(databaseUrl);
  return `${host}${pathname}`;
}

/**
 * Opens the daemon's database: on the server of `databaseUrl`, or in the data folder, which is created if it is missing.
 * @throws ParleyError FILE_NOT_WRITABLE, DATABASE_…
 */
export async function openDaemonDatabase({ dataDir, databaseUrl }: DatabasePlace): Promise<DaemonDatabase> {
  if (databaseUrl === null) {
    const file = openDatabase(dataDir);
    const database = new SqliteDatabase(file);
    return { database, tables: new SqliteLiveTables(file), close: () => database.close() };
  }
  // Loaded late: most commands work on a data folder.
  const [{ PostgresDatabase }, { PostgresLiveTables }] = await Promise.all([
    import('../../store/postgres/postgres-database.js'),
    import('../../store/postgres/postgres-live-tables.js'),
  ]);
  const database = await PostgresDatabase.open({ ...COMMAND_POOL, url: databaseUrl });
  return { database, tables: new PostgresLiveTables(database, NO_CHANGES), close: () => database.close() };
}
