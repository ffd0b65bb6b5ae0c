import { join } from 'node:path';
import { ParleyError } from '../base/errors.js';
import { RealClock } from '../base/real-clock.js';
import { FolderLock } from '../store/folder-lock.js';
import { ChangeFeed } from '../store/postgres/change-feed.js';
import { NODE_POOL_SIZE, PostgresDatabase } from '../store/postgres/postgres-database.js';
import { PostgresLeases } from '../store/postgres/postgres-leases.js';
import { PostgresLiveTables } from '../store/postgres/postgres-live-tables.js';
import { WatchedDatabase } from '../store/sql/watched-database.js';
import { WaitingWrites } from '../store/waiting-writes.js';
import type { DaemonDatabase, DaemonDatabaseOptions, DatabaseState } from './daemon-database.js';

/** In the data folder. */
const WAITING_FILE = 'waiting-writes';
const STATEMENT_TIMEOUT_MS = 10_000;

/** As `openDaemonDatabase`. */
export async function openPostgres(
  { settings, clock, nowUnixMs, chance, onError }: DaemonDatabaseOptions,
  url: string,
): Promise<DaemonDatabase> {
  // The server's time is real, even if the daemon's clock is simulated.
  const real = clock.virtual ? new RealClock() : clock;
  const closing: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (let next = closing.pop(); next !== undefined; next = closing.pop()) await next();
  };
  const lock = new FolderLock(settings.dataDir);
  closing.push(() => lock.release());
  try {
    const pool = await PostgresDatabase.open({
      url,
      poolSize: NODE_POOL_SIZE,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      onError: () => undefined, // the next statement reports it
    });
    const database = new WatchedDatabase(pool, {
      clock: real,
      onChange: () => {
        const { fault } = database;
        if (fault !== null) onError(fault);
      },
    });
    closing.push(() => database.close());
    const changes = await ChangeFeed.open({ database, url, chance, onError, clock: real });
    closing.push(() => changes.close());
    const leases = new PostgresLeases({ url, onError, clock: real });
    closing.push(() => leases.close());
    const path = join(settings.dataDir, WAITING_FILE);
    const maxBytes = settings.limits.waitingWriteBytes;
    const waiting = await WaitingWrites.open({ database, path, maxBytes, nowUnixMs, onError, clock: real });
    closing.push(() => waiting.close());
    return {
      database,
      leases,
      close,
      sqlite: null,
      changes,
      tables: new PostgresLiveTables(database, changes),
      writes: waiting,
      state: new PostgresState(database, waiting),
      recover: () => waiting.start(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

class PostgresState implements DatabaseState {
  readonly #database: WatchedDatabase;
  readonly #waiting: WaitingWrites;

  constructor(database: WatchedDatabase, waiting: WaitingWrites) {
    this.#database = database;
    this.#waiting = waiting;
  }

  get fault(): ParleyError | null {
    const reason = 'too many writes of running calls wait for it';
    return this.#database.fault ?? (this.#waiting.isFull ? new ParleyError('DATABASE_UNREACHABLE', { reason }) : null);
  }

  get waiting(): number {
    return this.#waiting.waiting;
  }

  get dropped(): number {
    return this.#waiting.dropped;
  }
}
