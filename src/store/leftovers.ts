import { run, sql, type SqlDatabase } from './sql/statement.js';

/** Counts of deleted rows of sessions or of a number, beside the calls. */
export interface Leftovers {
  /** Memories of agents. */
  memories: number;
  /** Messages stored for later sessions. */
  sessions: number;
  /** Webhook messages in any state. */
  deliveries: number;
  /** Calls of the last day that the guards count. */
  dials: number;
}

/** Deletes the data of a person's sessions and of their number. */
export class LeftoverStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  eraseSessions(sessionIds: readonly string[]): Promise<Leftovers> {
    return this.#database.transaction(function* () {
      const erased = { memories: 0, sessions: 0, deliveries: 0, dials: 0 };
      for (const id of sessionIds) {
        erased.memories += yield* run(sql`DELETE FROM memories WHERE session_id = ${id}`);
        erased.sessions += yield* run(sql`DELETE FROM finished_sessions WHERE id = ${id}`);
        erased.deliveries += yield* run(sql`DELETE FROM webhook_deliveries WHERE session_id = ${id}`);
      }
      return erased;
    });
  }

  /** Deletes the data of a user whose name is a number. */
  eraseNumber(number: string): Promise<Leftovers> {
    return this.#database.transaction(function* () {
      return {
        memories: yield* run(sql`DELETE FROM memories WHERE "user" = ${number}`),
        sessions: yield* run(
          sql`DELETE FROM finished_sessions
              WHERE id IN (SELECT session_id FROM session_identifiers WHERE value = ${number})`,
        ),
        deliveries: 0,
        // The row still counts for the daily limits, without its number.
        dials: yield* run(
          sql`UPDATE dials SET to_phone = 'erased' WHERE to_phone = ${number} AND ended_us IS NOT NULL`,
        ),
      };
    });
  }
}
