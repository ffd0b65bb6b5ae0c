import type Database from 'better-sqlite3';

/** What the database has of sessions and of a number beside the calls. */
export interface Leftovers {
  /** What agents remember. */
  memories: number;
  /** Messages that later sessions go on from. */
  sessions: number;
  /** Webhooks, sent or not. */
  deliveries: number;
  /** Calls of the last day, which the guards count. */
  dials: number;
}

/** Erases what is kept of the sessions of somebody, and under their number. */
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
    // Minutes and calls of the day still count; whom they went to does not matter to that.
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

  /** What is kept under a number as the name of a user. */
  eraseNumber(number: string): Leftovers {
    return this.#ofNumber(number);
  }

  /** Nothing of what was erased stays in the database's log of changes. */
  settle(): void {
    this.#database.pragma('wal_checkpoint(TRUNCATE)');
  }
}

function sum(ids: readonly string[], count: (id: string) => number): number {
  return ids.reduce((total, id) => total + count(id), 0);
}
