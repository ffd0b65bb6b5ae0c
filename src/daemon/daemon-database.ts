import type { Database } from 'better-sqlite3';
import type { Clock } from '../base/clock.js';
import type { ParleyError } from '../base/errors.js';
import type { Settings } from '../settings/settings.js';
import type { Leases } from '../store/leases.js';
import type { LiveTables } from '../store/sql/live-table.js';
import type { Changes } from '../store/sql/changes.js';
import type { SqlDatabase } from '../store/sql/statement.js';
import type { Writes } from '../store/writes.js';

/** The daemon's database and what belongs to it. */
export interface DaemonDatabase {
  readonly database: SqlDatabase;
  /** The file of a SQLite database; null = the database is PostgreSQL. */
  readonly sqlite: Database | null;
  readonly tables: LiveTables;
  /** Changes of tables, also by other nodes. */
  readonly changes: Changes;
  readonly leases: Leases;
  /** Writes of calls that go on. */
  readonly writes: Writes;
  readonly state: DatabaseState;
  /** Does the writes that an earlier process has left. Call it when all operations have their names. */
  recover(): Promise<void>;
  /** Closes the database and releases the data folder. May be called twice. */
  close(): Promise<void>;
}

/** Whether the database can be used. */
export interface DatabaseState {
  /** Why no call may begin now; null = it may. */
  readonly fault: ParleyError | null;
  /** Writes of running calls that wait for the database. */
  readonly waiting: number;
  /** Writes of running calls that are lost. */
  readonly dropped: number;
}

export interface DaemonDatabaseOptions {
  settings: Pick<Settings, 'dataDir' | 'databaseUrl' | 'limits'>;
  clock: Clock;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  /** 0 ≤ number < 1. */
  chance: () => number;
  onError: (error: Error) => void;
}
