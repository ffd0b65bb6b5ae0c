import pg from 'pg';
import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf } from '../../base/errors.js';
import type { ChangedTable, Changes } from '../sql/changes.js';
import { sql, type SqlDatabase } from '../sql/statement.js';

export interface ChangeFeedOptions {
  database: SqlDatabase;
  /** Of the same database, for a connection of its own: a notification comes to the connection that listens. */
  url: string;
  clock: Clock;
  /** 0 ≤ number < 1, for the time between attempts to connect. */
  chance: () => number;
  /** Called once for each time without the database, and for listeners that reject. */
  onError: (error: Error) => void;
}

type Listener = () => Promise<void>;

/** On which the triggers notify. */
const CHANNEL = 'parley_changes';
/** Lost notifications are noticed after this time and that of a query. */
const POLL_MS = 1_000;
/** Until the connection is made, or answers. */
const TIMEOUT_MS = 5_000;
/** Between attempts to connect, at most. Each time is random, from half of it on. */
const BACKOFF_MS = { first: 200, most: 5_000 };

/**
 * Changes of tables, from the notifications of triggers. Notifications can be lost: with the connection, in a pooler.
 * Therefore each commit also raises the version of its table in the table `changes`, which is compared regularly.
 */
export class ChangeFeed implements Changes {
  readonly #options: ChangeFeedOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Versions that the listeners know. */
  #seen: ReadonlyMap<string, number> = new Map();
  #check: Promise<void> | null = null;
  #isStale = false;
  #connection: pg.Client | null = null;
  /** Whether the connection listens and has answered all. */
  #isIdle = false;
  #attempts = 0;
  /** Faults that have been reported and go on. */
  readonly #reported = new Set<'database' | 'connection'>();
  readonly #timers = new Map<'poll' | 'connect', Cancel>();
  #isClosed = false;
  #connecting: Promise<void> = Promise.resolve();

  private constructor(options: ChangeFeedOptions) {
    this.#options = options;
  }

  /** @throws ParleyError DATABASE_UNREACHABLE */
  static async open(options: ChangeFeedOptions): Promise<ChangeFeed> {
    const feed = new ChangeFeed(options);
    feed.#seen = await feed.#versions();
    feed.#connecting = feed.#connect();
    await feed.#connecting;
    feed.#poll();
    return feed;
  }

  on(table: ChangedTable, listener: Listener): Cancel {
    const listeners = this.#listeners.get(table) ?? new Set();
    this.#listeners.set(table, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  check(): Promise<void> {
    // A check under way may have read the versions already.
    this.#isStale = true;
    this.#check ??= this.#checkAll().finally(() => (this.#check = null));
    return this.#check;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#timers.values()) cancel();
    await this.#connecting;
    this.#drop(this.#connection);
    await this.#check;
  }

  async #checkAll(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      try {
        await this.#tell(await this.#versions());
        this.#reported.delete('database');
      } catch (error) {
        this.#report('database', error);
      }
    }
  }

  async #versions(): Promise<ReadonlyMap<string, number>> {
    const { database } = this.#options;
    const rows = await database.all<{ name: string; version: number }>(sql`SELECT name, version FROM changes`);
    return new Map(rows.map(({ name, version }) => [name, version]));
  }

  /** Calls the listeners of tables with new versions. A version counts as seen when they have read its rows. */
  async #tell(versions: ReadonlyMap<string, number>): Promise<void> {
    const seen = new Map(this.#seen);
    const faults: unknown[] = [];
    const tell = async (name: string, version: number): Promise<void> => {
      try {
        for (const listener of this.#listeners.get(name) ?? []) await listener();
        seen.set(name, version);
      } catch (error) {
        faults.push(error);
      }
    };
    const changed = [...versions].filter(([name, version]) => this.#seen.get(name) !== version);
    await Promise.all(changed.map(([name, version]) => tell(name, version)));
    this.#seen = seen;
    if (faults.length > 0) throw faults[0];
  }

  #poll(): void {
    this.#after('poll', POLL_MS, async () => {
      this.#ping();
      await this.check();
      this.#poll();
    });
  }

  /** The server does not say that a connection is dead. */
  #ping(): void {
    if (!this.#isIdle) return;
    this.#isIdle = false;
    this.#connection?.query('SELECT 1').then(
      () => (this.#isIdle = true),
      () => undefined, // the connection is lost
    );
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      keepAlive: true,
      application_name: 'parley changes',
    });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the connection has ended')));
    client.on('notification', () => void this.check());
    this.#connection = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      this.#lose(client, error);
      return;
    }
    this.#isIdle = true;
    this.#attempts = 0;
    this.#reported.delete('connection');
    // What was committed before.
    void this.check();
  }

  /** Connects again, after a while. */
  #lose(client: pg.Client, error: unknown): void {
    if (this.#connection !== client || this.#isClosed) return;
    this.#drop(client);
    this.#report('connection', error);
    const most = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** this.#attempts++);
    this.#after('connect', (most * (1 + this.#options.chance())) / 2, () => {
      this.#connecting = this.#connect();
      return this.#connecting;
    });
  }

  #drop(client: pg.Client | null): void {
    this.#isIdle = false;
    this.#connection = null;
    void client?.end().catch(() => undefined);
  }

  #report(what: 'database' | 'connection', error: unknown): void {
    if (this.#reported.has(what) || this.#isClosed) return;
    this.#reported.add(what);
    this.#options.onError(errorOf(error));
  }

  #after(name: 'poll' | 'connect', ms: number, work: () => Promise<void>): void {
    if (this.#isClosed) return;
    const { clock } = this.#options;
    const begin = (): void => void clock.settle(work(), clock.nowMs());
    this.#timers.set(name, clock.schedule(clock.nowMs() + ms, begin));
  }
}
