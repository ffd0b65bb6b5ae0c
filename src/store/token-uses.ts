import { sql, type SqlDatabase } from './sql/statement.js';

/** Remembers which session tokens were used. */
export interface TokenUses {
  /**
   * @param expiresMs when the token expires, milliseconds since 1970. It is remembered until then
   * @returns whether this is its first use
   */
  use(id: string, expiresMs: number): Promise<boolean>;
}

/** How far the clocks of nodes may be apart. */
const CLOCKS_MS = 60_000;
/** Between removals of expired entries. */
const SWEEP_MS = 60_000;

/** Of one process: its tokens are not valid in another one. */
export class MemoryTokenUses implements TokenUses {
  readonly #expiries = new Map<string, number>();
  readonly #nowUnixMs: () => number;
  #sweptMs = -Infinity;

  constructor(nowUnixMs: () => number) {
    this.#nowUnixMs = nowUnixMs;
  }

  async use(id: string, expiresMs: number): Promise<boolean> {
    this.#sweep();
    const isFirst = !this.#expiries.has(id);
    this.#expiries.set(id, expiresMs);
    return isFirst;
  }

  #sweep(): void {
    const now = this.#nowUnixMs();
    if (now < this.#sweptMs + SWEEP_MS) return;
    this.#sweptMs = now;
    for (const [id, expiresMs] of this.#expiries) if (expiresMs <= now) this.#expiries.delete(id);
  }
}

/** Of all nodes that share a database. */
export class SqlTokenUses implements TokenUses {
  readonly #database: SqlDatabase;
  readonly #nowUnixMs: () => number;
  #sweptMs = -Infinity;

  constructor(database: SqlDatabase, nowUnixMs: () => number) {
    this.#database = database;
    this.#nowUnixMs = nowUnixMs;
  }

  /** Rejects with DATABASE_UNREACHABLE if nobody can know. */
  async use(id: string, expiresMs: number): Promise<boolean> {
    await this.#sweep();
    const count = await this.#database.run(sql`INSERT INTO session_token_uses (id, expires_us)
      VALUES (${id}, ${Math.floor(expiresMs * 1000)}) ON CONFLICT (id) DO NOTHING`);
    return count > 0;
  }

  async #sweep(): Promise<void> {
    const now = this.#nowUnixMs();
    if (now < this.#sweptMs + SWEEP_MS) return;
    this.#sweptMs = now;
    // A node whose clock is late still takes a token that has expired here.
    const before = Math.floor((now - CLOCKS_MS) * 1000);
    await this.#database.run(sql`DELETE FROM session_token_uses WHERE expires_us < ${before}`);
  }
}
