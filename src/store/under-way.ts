import type Database from 'better-sqlite3';

/** How much of the database is not done with: for those who watch over the daemon. */
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

  /** Calls that are not over, by how they came about and how far they are. */
  calls(): { channel: string; status: string; count: number }[] {
    return this.#calls.all();
  }

  /** Messages to webhooks that have not arrived and are not given up. */
  outbox(): number {
    return this.#outbox.get()?.count ?? 0;
  }
}
