import { openOwnDatabase } from '../store/folder-lock.js';
import { SoleLeases } from '../store/leases.js';
import { NO_CHANGES } from '../store/sql/changes.js';
import { SqliteDatabase } from '../store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../store/sqlite/sqlite-live-tables.js';
import { DirectWrites } from '../store/writes.js';
import type { DaemonDatabase, DaemonDatabaseOptions } from './daemon-database.js';

/**
 * Locks the data folder and opens the database of the settings.
 * @throws ParleyError DATA_FOLDER_IN_USE, DATABASE_…, FILE_NOT_WRITABLE, DISK_FULL
 */
export async function openDaemonDatabase(options: DaemonDatabaseOptions): Promise<DaemonDatabase> {
  const { databaseUrl: url } = options.settings;
  if (url === null) return openSqlite(options);
  // Loaded on demand: with SQLite, the start does not need it.
  const { openPostgres } = await import('./postgres-database.js');
  return openPostgres(options, url);
}

async function openSqlite({ settings, nowUnixMs }: DaemonDatabaseOptions): Promise<DaemonDatabase> {
  const { database: sqlite, close } = openOwnDatabase(settings.dataDir);
  const database = new SqliteDatabase(sqlite, nowUnixMs);
  return {
    database,
    sqlite,
    tables: new SqliteLiveTables(sqlite),
    changes: NO_CHANGES,
    leases: new SoleLeases(),
    writes: new DirectWrites(database),
    state: { fault: null, waiting: 0, dropped: 0 },
    recover: async () => undefined,
    close: async () => close(),
  };
}
