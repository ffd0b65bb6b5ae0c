import { randomInt } from 'node:crypto';
import type { Clock } from '../base/clock.js';
import { nowUnixMs } from '../base/real-clock.js';
import type { Engine } from '../engine/engine.js';
import type { Settings } from '../settings/settings.js';
import { Queues } from '../base/queues.js';
import { Random } from '../base/random.js';
import type { Leases } from '../store/leases.js';
import type { Changes } from '../store/sql/changes.js';
import type { SqlDatabase } from '../store/sql/statement.js';
import type { Writes } from '../store/writes.js';
import { AdmissionControl } from './admission-control.js';
import { CallEventBus } from './call-event-bus.js';
import { CallOwners } from './nodes/call-owners.js';
import type { DatabaseState } from './daemon-database.js';
import { openDaemonDatabase } from './open-database.js';
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
  readonly databaseState: DatabaseState;
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
  /** Does the writes that an earlier process has left, before anything else recovers. */
  readonly recoverWrites: () => Promise<void>;
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
  const faults = new FaultReporter(log, onError);
  const random = new Random(randomInt(2 ** 31));
  const opened = await openDaemonDatabase({
    settings,
    clock,
    nowUnixMs,
    chance: () => random.next(),
    onError: faults.report,
  });
  const { database, sqlite, leases, tables, changes, writes, state } = opened;
  const [node, queues] = [new ThisNode(), new Queues()];
  let stores: Stores;
  try {
    const parts = { settings, database, sqlite, tables, node, writes, queues, clock, nowUnixMs };
    stores = await Stores.open({ ...parts, onError: faults.report });
  } catch (error) {
    await opened.close();
    throw error;
  }
  engine.keepIn(stores.forEngine);
  return {
    settings,
    node,
    leases,
    owners: new CallOwners(sqlite === null ? database : null),
    engine,
    clock,
    nowUnixMs,
    database,
    changes,
    writes,
    queues,
    stores,
    log,
    faults,
    databaseState: state,
    events: new CallEventBus(),
    admission: new AdmissionControl({
      clock,
      engine,
      maxSessions: settings.limits.sessions,
      databaseFault: () => state.fault,
    }),
    recoverWrites: () => opened.recover(),
    closeDatabase: () => opened.close(),
  };
}
