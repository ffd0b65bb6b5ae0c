import { existsSync } from 'node:fs';
import type { Settings } from '../../settings/settings.js';
import { databaseFile, openDatabase } from '../../store/database.js';
import { PostgresDatabase } from '../../store/postgres/postgres-database.js';
import { PostgresLiveTables } from '../../store/postgres/postgres-live-tables.js';
import { NO_CHANGES } from '../../store/sql/changes.js';
import type { LiveTables } from '../../store/sql/live-table.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../store/sqlite/sqlite-live-tables.js';

/** A command's statements may read whole tables. */
const STATEMENT_TIMEOUT_MS = 60_000;

/** The daemon's database, for a command. */
export interface CommandDatabase {
  database: SqlDatabase;
  tables: LiveTables;
  close: () => Promise<void>;
}

/** Where the daemon's data are. */
export type DatabasePlace = Pick<Settings, 'databaseUrl' | 'dataDir'>;

/** Whether there is a database. A data folder has none before the daemon's first start. */
export function hasDatabase({ databaseUrl, dataDir }: DatabasePlace): boolean {
  return databaseUrl !== null || existsSync(databaseFile(dataDir));
}

/** Opens the database of the settings: PostgreSQL, or the one in the data folder. @throws ParleyError as both */
export async function openCommandDatabase({ databaseUrl, dataDir }: DatabasePlace): Promise<CommandDatabase> {
  if (databaseUrl === null) {
    const file = openDatabase(dataDir);
    const database = new SqliteDatabase(file);
    return { database, tables: new SqliteLiveTables(file), close: () => database.close() };
  }
  const database = await PostgresDatabase.open({
    url: databaseUrl,
    poolSize: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onError: () => undefined, // the statement under way rejects
  });
  return { database, tables: new PostgresLiveTables(database, NO_CHANGES), close: () => database.close() };
}
