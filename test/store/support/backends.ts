import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase } from '../../../src/store/database.js';
import { PostgresDatabase } from '../../../src/store/postgres/postgres-database.js';
import { PostgresLiveTables } from '../../../src/store/postgres/postgres-live-tables.js';
import { NO_CHANGES } from '../../../src/store/sql/changes.js';
import type { LiveTables } from '../../../src/store/sql/live-table.js';
import type { SqlDatabase } from '../../../src/store/sql/statement.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../../src/store/sqlite/sqlite-live-tables.js';
import { PostgresCluster } from '../../../scripts/postgres-cluster.mjs';

/** A new database with parley's schema. */
export interface TestDatabase {
  readonly database: SqlDatabase;
  /** Of a SQLite database. */
  readonly folder: string;
  /** Another connection, as another process has it. */
  readonly connect: (nowUnixMs?: () => number) => Promise<SqlDatabase>;
  /** Live tables of a node that is alone. */
  readonly tables: LiveTables;
  /** Closes and deletes it. */
  readonly remove: () => Promise<void>;
}

/** A kind of database. */
export interface Backend {
  readonly name: 'SQLite' | 'PostgreSQL';
  /** @param nowUnixMs the time of `nowUs`. Default: the system's or the server's */
  readonly open: (nowUnixMs?: () => number) => Promise<TestDatabase>;
}

export const sqlite: Backend = {
  name: 'SQLite',
  open: async (nowUnixMs) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-store-'));
    const opened: SqlDatabase[] = [];
    const file = openDatabase(folder);
    const connect = async (now?: () => number, own = openDatabase(folder)): Promise<SqlDatabase> => {
      const database = new SqliteDatabase(own, now);
      opened.push(database);
      return database;
    };
    const remove = async (): Promise<void> => {
      for (const database of opened) await database.close();
      rmSync(folder, { recursive: true });
    };
    return { folder, connect, remove, tables: new SqliteLiveTables(file), database: await connect(nowUnixMs, file) };
  },
};

export const postgres: Backend = {
  name: 'PostgreSQL',
  open: async (nowUnixMs) => {
    const { url, remove } = await postgresUrl();
    const opened: SqlDatabase[] = [];
    const connect = async (now?: () => number): Promise<SqlDatabase> => {
      const database = await openPostgres(url, now);
      opened.push(database);
      return database;
    };
    const removeAll = async (): Promise<void> => {
      for (const database of opened) await database.close();
      await remove();
    };
    const database = await connect(nowUnixMs);
    const tables = new PostgresLiveTables(database, NO_CHANGES);
    return { connect, tables, database, folder: '', remove: removeAll };
  },
};

/** Whether PostgreSQL's server is installed. Without it its tests are listed as skipped. */
export const isPostgresInstalled = PostgresCluster.programs !== null;

/** Both kinds, for `describe.each`. */
export const backends: readonly Backend[] = isPostgresInstalled ? [sqlite, postgres] : [sqlite];

/** A pool as the daemon has it. */
export function openPostgres(url: string, nowUnixMs?: () => number): Promise<PostgresDatabase> {
  const options = { url, poolSize: 8, statementTimeoutMs: 10_000, onError: () => undefined };
  return PostgresDatabase.open(nowUnixMs === undefined ? options : { ...options, nowUnixMs });
}

/** A new, empty database on the test run's server. */
export async function postgresUrl(): Promise<{ url: string; remove: () => Promise<void> }> {
  const cluster = await PostgresCluster.shared(process.env['PARLEY_TEST_SHARED'] ?? '');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const administer = async (statement: string): Promise<void> => {
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query(statement);
    await client.end();
  };
  await administer(`CREATE DATABASE ${name}`);
  const url = new URL(cluster.url);
  url.pathname = name;
  return { url: url.href, remove: () => administer(`DROP DATABASE ${name} WITH (FORCE)`) };
}
