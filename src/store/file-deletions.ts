import { run, sql, type SqlDatabase } from './sql/statement.js';

/**
 * Files in the store whose deletion was asked for. A node that still has such a file on its disk must not send it, so
 * rows stay after the deletion until no disk can have the file.
 */
export class FileDeletionStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /** @param tsUs microseconds since 1970 */
  add(keys: readonly string[], tsUs: number): Promise<void> {
    return this.#database.transaction(function* () {
      for (const key of keys) {
        yield* run(
          sql`INSERT INTO file_deletions (key, ts_us, done) VALUES (${key}, ${tsUs}, 0)
              ON CONFLICT (key) DO UPDATE SET ts_us = excluded.ts_us, done = 0`,
        );
      }
    });
  }

  async has(key: string): Promise<boolean> {
    return (await this.#database.first(sql`SELECT 1 FROM file_deletions WHERE key = ${key}`)) !== null;
  }

  /** The oldest files that the store may still have. */
  async open(limit: number): Promise<readonly string[]> {
    const rows = await this.#database.all<{ key: string }>(
      sql`SELECT key FROM file_deletions WHERE done = 0 ORDER BY ts_us, key LIMIT ${limit}`,
    );
    return rows.map(({ key }) => key);
  }

  /** The store has deleted files. */
  done(keys: readonly string[]): Promise<void> {
    return this.#database.transaction(function* () {
      for (const key of keys) yield* run(sql`UPDATE file_deletions SET done = 1 WHERE key = ${key}`);
    });
  }

  /** Removes rows of deleted files that were asked for before a time. Returns their number. */
  purge(beforeUs: number): Promise<number> {
    return this.#database.run(sql`DELETE FROM file_deletions WHERE done = 1 AND ts_us < ${beforeUs}`);
  }

  /** Notes the recording of a call that another node closed without it. */
  async attach(sessionId: string, recording: string): Promise<boolean> {
    const changes = await this.#database.run(
      sql`UPDATE calls SET recording = ${recording}
          WHERE session_id = ${sessionId} AND recording IS NULL AND ended_us IS NOT NULL`,
    );
    return changes > 0;
  }
}
