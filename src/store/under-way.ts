import { sql, type SqlDatabase } from './sql/statement.js';

/** Counts open calls and messages, for metrics. */
export class UnderWay {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /** Calls that have not ended, by channel and status. */
  calls(): Promise<readonly { channel: string; status: string; count: number }[]> {
    return this.#database.all(
      sql`SELECT channel, status, COUNT(*) AS count FROM calls WHERE ended_us IS NULL GROUP BY channel, status
          ORDER BY channel, status`,
    );
  }

  /** Messages to webhooks that are neither delivered nor given up. */
  async outbox(): Promise<number> {
    const row = await this.#database.first<{ count: number }>(
      sql`SELECT COUNT(*) AS count FROM webhook_deliveries WHERE due_unix_ms IS NOT NULL`,
    );
    return row?.count ?? 0;
  }
}
