import type Database from 'better-sqlite3';

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
  readonly #database: Database.Database;
  readonly #ofSessions: (sessionIds: readonly string[]) => Leftovers;
  readonly #ofNumber: (number: string) => Leftovers;

  constructor(database: Database.Database) {
    this.#database = database;
    const memory = database.prepare('DELETE FROM memories WHERE session_id = ?');
    const session = database.prepare('DELETE FROM finished_sessions WHERE id = ?');
    const delivery = database.prepare('DELETE FROM webhook_deliveries WHERE session_id = ?');
    this.#ofSessions = database.transaction((sessionIds: readonly string[]) => ({
      memories: sum(sessionIds, (id) => memory.run(id).changes),
      sessions: sum(sessionIds, (id) => session.run(id).changes),
      deliveries: sum(sessionIds, (id) => delivery.run(id).changes),
      dials: 0,
    }));
    // The row still counts for the daily limits, without its number.
    const dials = database.prepare("UPDATE dials SET to_phone = 'erased' WHERE to_phone = ? AND ended_us IS NOT NULL");
    const memories = database.prepare('DELETE FROM memories WHERE user = ?');
    const sessions = database.prepare(
      'DELETE FROM finished_sessions WHERE id IN (SELECT session_id FROM session_identifiers WHERE value = ?)',
    );
    this.#ofNumber = database.transaction((number: string) => ({
      memories: memories.run(number).changes,
      sessions: sessions.run(number).changes,
      deliveries: 0,
      dials: dials.run(number).changes,
    }));
  }

  eraseSessions(sessionIds: readonly string[]): Leftovers {
    return this.#ofSessions(sessionIds);
  }

  /** Deletes the data of a user whose name is a number. */
  eraseNumber(number: string): Leftovers {
    return this.#ofNumber(number);
  }

  /** Writes the write-ahead log back, so that it holds no deleted content. */
  settle(): void {
    this.#database.pragma('wal_checkpoint(TRUNCATE)');
  }
}

function sum(ids: readonly string[], count: (id: string) => number): number {
  return ids.reduce((total, id) => total + count(id), 0);
}
