import { comparableNumber, type DoNotCallEntry, type DoNotCallList } from '../session/after-call/do-not-call.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';

interface Row {
  number: string;
  source: DoNotCallEntry['source'];
  session_id: string | null;
  created_at: number;
}

/** The do-not-call list in the daemon's database. */
export class DoNotCallStore implements DoNotCallList {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async has(number: string): Promise<boolean> {
    const found = await this.#database.first(sql`SELECT 1 FROM do_not_call WHERE number = ${comparableNumber(number)}`);
    return found !== null;
  }

  async add(entry: DoNotCallEntry): Promise<void> {
    await this.#database.transaction(() => this.adding(entry));
  }

  /** As `add`, in a transaction. */
  *adding({ number, source, sessionId, createdAt }: DoNotCallEntry): Transaction<void> {
    yield* run(
      sql`INSERT INTO do_not_call (number, source, session_id, created_at)
          VALUES (${comparableNumber(number)}, ${source}, ${sessionId}, ${createdAt}) ON CONFLICT (number) DO NOTHING`,
    );
  }

  async remove(number: string): Promise<boolean> {
    const removed = await this.#database.run(sql`DELETE FROM do_not_call WHERE number = ${comparableNumber(number)}`);
    return removed > 0;
  }

  async list(): Promise<readonly DoNotCallEntry[]> {
    const rows = await this.#database.all<Row>(sql`SELECT * FROM do_not_call ORDER BY created_at, number`);
    return rows.map(({ number, source, session_id: sessionId, created_at: createdAt }) => {
      return { number, source, sessionId, createdAt };
    });
  }
}
