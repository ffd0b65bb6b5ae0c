import type Database from 'better-sqlite3';
import { comparableNumber, type DoNotCallEntry, type DoNotCallList } from '../session/after-call/do-not-call.js';

interface Row {
  number: string;
  source: DoNotCallEntry['source'];
  session_id: string | null;
  created_at: number;
}

/** The do-not-call list in the daemon's database. */
export class DoNotCallStore implements DoNotCallList {
  readonly #has: Database.Statement<unknown[]>;
  readonly #add: Database.Statement<unknown[]>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #list: Database.Statement<unknown[], Row>;

  constructor(database: Database.Database) {
    this.#has = database.prepare('SELECT 1 FROM do_not_call WHERE number = ?');
    this.#add = database.prepare(
      `INSERT INTO do_not_call (number, source, session_id, created_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (number) DO NOTHING`,
    );
    this.#remove = database.prepare('DELETE FROM do_not_call WHERE number = ?');
    this.#list = database.prepare('SELECT * FROM do_not_call ORDER BY created_at, number');
  }

  has(number: string): boolean {
    return this.#has.get(comparableNumber(number)) !== undefined;
  }

  add({ number, source, sessionId, createdAt }: DoNotCallEntry): void {
    this.#add.run(comparableNumber(number), source, sessionId, createdAt);
  }

  remove(number: string): boolean {
    return this.#remove.run(comparableNumber(number)).changes > 0;
  }

  list(): readonly DoNotCallEntry[] {
    return this.#list.all().map(({ number, source, session_id: sessionId, created_at: createdAt }) => {
      return { number, source, sessionId, createdAt };
    });
  }
}
