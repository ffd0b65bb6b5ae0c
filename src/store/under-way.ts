import type Database from 'better-sqlite3';

/** Counts open calls and messages, for metrics. */
export class UnderWay {
  readonly #calls: Database.Statement<unknown[], { channel: string; status: string; count: number }>;
  readonly #outbox: Database.Statement<unknown[], { count: number }>;

  constructor(database: Database.Database) {
    this.#calls = database.prepare(
      `SELECT channel, status, COUNT(*) AS count FROM calls WHERE ended_us IS NULL GROUP BY channel, status
       ORDER BY channel, status`,
    );
    this.#outbox = database.prepare('SELECT COUNT(*) AS count FROM webhook_deliveries WHERE due_unix_ms IS NOT NULL');
  }

  /** Calls that have not ended, by channel and status. */
  calls(): { channel: string; status: string; count: number }[] {
    return this.#calls.all();
  }

  /** Messages to webhooks that are neither delivered nor given up. */
  outbox(): number {
    return this.#outbox.get()?.count ?? 0;
  }
}
