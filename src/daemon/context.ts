import type { Database } from 'better-sqlite3';
import type { Clock } from '../base/clock.js';
import { nowUnixMs } from '../base/real-clock.js';
import type { Engine } from '../engine/engine.js';
import type { Settings } from '../settings/settings.js';
import { type Leases, SoleLeases } from '../store/leases.js';
import { Queues } from '../base/queues.js';
import { openOwnDatabase } from '../store/folder-lock.js';
import { SqliteDatabase } from '../store/sqlite/sqlite-database.js';
import { type Changes, NO_CHANGES } from '../store/sql/changes.js';
import type { SqlDatabase } from '../store/sql/statement.js';
import { DirectWrites, type Writes } from '../store/writes.js';
import { AdmissionControl } from './admission-control.js';
import { CallEventBus } from './call-event-bus.js';
import { CallOwners } from './nodes/call-owners.js';
import { ThisNode } from './nodes/this-node.js';
import { type Log, NO_LOG, FaultReporter } from './operations/log.js';
import { Stores } from './stores.js';

/** Shared by all modules of the daemon. */
export interface DaemonContext {
  readonly settings: Settings;
  /** Read its id when a row is written: it may change. */
  readonly node: ThisNode;
  /** Work that one of all nodes does. */
  readonly leases: Leases;
  /** The nodes of calls. */
  readonly owners: CallOwners;
  readonly engine: Engine;
  /** The engine's. */
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly nowUnixMs: () => number;
  readonly database: SqlDatabase;
  /** The file of a SQLite database; null = the database is PostgreSQL. */
  readonly sqlite: Database | null;
  /** Changes of tables, also by other nodes. */
  readonly changes: Changes;
  /** Writes of calls that go on. */
  readonly writes: Writes;
  /** The order of the writes about each session. */
  readonly queues: Queues;
  readonly stores: Stores;
  readonly log: Log;
  readonly faults: FaultReporter;
  readonly events: CallEventBus;
  readonly admission: AdmissionControl;
  /** Closes the database and releases the data folder. */
  readonly closeDatabase: () => Promise<void>;
}

export interface ContextOptions {
  settings: Settings;
  engine: Engine;
  log?: Log | undefined;
  onError?: ((error: Error) => void) | undefined;
}

/**
 * Opens the data folder and gives its stores to the engine.
 * @throws ParleyError DATA_FOLDER_IN_USE, DATABASE_…, SECRETS_UNREADABLE
 */
export async function openContext({ settings, engine, log = NO_LOG, onError }: ContextOptions): Promise<DaemonContext> {
  const { clock } = engine;
  const { database: sqlite, close } = openOwnDatabase(settings.dataDir);
  const database = new SqliteDatabase(sqlite, nowUnixMs);
  const [writes, queues] = [new DirectWrites(database), new Queues()];
  const faults = new FaultReporter(log, onError);
  let stores: Stores;
  try {
    stores = await Stores.open({
      settings,
      database,
      sqlite,
      writes,
      queues,
      clock,
      nowUnixMs,
      onError: faults.report,
    });
  } catch (error) {
    close();
    throw error;
  }
  engine.keepIn(stores.forEngine);
  return {
    settings,
    node: new ThisNode(),
    leases: new SoleLeases(),
    owners: new CallOwners(null),
    engine,
    clock,
    nowUnixMs,
    database,
    sqlite,
    changes: NO_CHANGES,
    writes,
    queues,
    stores,
    log,
    faults,
    events: new CallEventBus(),
    admission: new AdmissionControl({ clock, engine, maxSessions: settings.limits.sessions }),
    closeDatabase: async () => close(),
  };
}

/** The file of a SQLite database, for parts that know no other one yet. */
export function sqliteOf({ sqlite }: DaemonContext): Database {
  if (sqlite === null) throw new Error('this part of the daemon has no PostgreSQL yet');
  return sqlite;
}
