import { createHash } from 'node:crypto';
import pg from 'pg';
import { ParleyError } from '../../base/errors.js';
import { checkMigrated, updateSchema } from './schema.js';
import { postgresCode, postgresFault } from './faults.js';
import {
  inTurn,
  run,
  type StatementResult,
  sql,
  type SqlDatabase,
  type SqlValue,
  type Statement,
  type Transaction,
  UnconfirmedCommit,
} from '../sql/statement.js';

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=verify-full` and the like. */
  url: string;
  /** Connections at most. */
  poolSize: number;
  /** A statement that takes longer fails, ms. */
  statementTimeoutMs: number;
  /** Called for a connection that fails while nobody uses it. The pool replaces it. */
  onError: (error: Error) => void;
  /** Whether the database may be one into which a data folder is being copied. Default false. */
  forMigration?: boolean;
  /** Milliseconds since 1970, for tests in simulated time. Default: the server's clock. */
  nowUnixMs?: () => number;
}

/** Connections of a node: of its pool, and one each for changes and leases, and two for the knowledge base. */
export const NODE_POOL_SIZE = 10;
export const NODE_CONNECTIONS = NODE_POOL_SIZE + 4;

/** Until a connection is made, or one of the pool is free. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Runs of a transaction that collides with others. */
const MAX_RUNS = 5;
/** serialization_failure and deadlock_detected: PostgreSQL asks to run the transaction again. */
const COLLISIONS = new Set(['40001', '40P01']);
/** int8. All of ours are below 2^53. */
const INT8 = 20;

/** A database on a PostgreSQL server, version 15 or newer. */
export class PostgresDatabase implements SqlDatabase {
  readonly dialect = 'postgres';
  readonly #onError: (error: Error) => void;
  readonly #nowUnixMs: (() => number) | null;
  readonly #pool: pg.Pool;
  readonly #texts = new Map<string, { name: string; text: string }>();
  #closing: Promise<void> | null = null;

  constructor({ url, poolSize, statementTimeoutMs, onError, nowUnixMs }: PostgresOptions) {
    const types = new pg.TypeOverrides();
    types.setTypeParser(INT8, Number);
    this.#pool = new pg.Pool({
      connectionString: url,
      max: poolSize,
      statement_timeout: statementTimeoutMs,
      // The server cannot end a statement whose connection is dead.
      query_timeout: 2 * statementTimeoutMs,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
      keepAlive: true,
      application_name: 'parley',
      types,
    });
    this.#pool.on('error', onError);
    this.#onError = onError;
    this.#nowUnixMs = nowUnixMs ?? null;
  }

  /**
   * Creates or updates the schema and opens the database.
   * @throws ParleyError DATABASE_UNREACHABLE, or DATABASE_UNUSABLE for a later schema, an older server, missing rights
   *   or half a copy of a data folder
   */
  static async open(options: PostgresOptions): Promise<PostgresDatabase> {
    const client = new pg.Client({
      connectionString: options.url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: 'parley',
    });
    client.on('error', () => undefined); // the statement under way rejects with it
    try {
      await client.connect();
      await updateSchema(client);
      if (options.forMigration !== true) await checkMigrated(client);
    } catch (error) {
      throw postgresFault(error);
    } finally {
      await client.end();
    }
    return new PostgresDatabase(options);
  }

  async all<Row>(statement: Statement): Promise<readonly Row[]> {
    return (await this.#run(this.#pool, statement)).rows as readonly Row[];
  }

  async first<Row>(statement: Statement): Promise<Row | null> {
    return ((await this.#run(this.#pool, statement)).rows[0] as Row | undefined) ?? null;
  }

  async run(statement: Statement): Promise<number> {
    return (await this.#run(this.#pool, statement)).changes;
  }

  async transaction<T>(work: () => Transaction<T>, lock?: string): Promise<T> {
    for (let count = 1; ; count++) {
      try {
        return await this.#once(work(), lock);
      } catch (error) {
        if (!COLLISIONS.has(postgresCode(error)) || count === MAX_RUNS) throw error;
      }
    }
  }

  read<T>(work: () => Transaction<T>): Promise<T> {
    return this.transaction(work);
  }

  lazyTransaction<T>(work: () => Transaction<T>): Promise<T> {
    return this.transaction(function* () {
      yield* run(sql`SET LOCAL synchronous_commit = off`);
      return yield* work();
    });
  }

  async scrub(): Promise<void> {
    // Deleted rows stay in the server's files until its autovacuum and its next checkpoints.
  }

  *nowUs(): Transaction<number> {
    if (this.#nowUnixMs !== null) return Math.floor(this.#nowUnixMs() * 1000);
    const [row] = (yield sql`SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint AS now`).rows;
    return (row as { now: number }).now;
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }

  async #once<T>(work: Transaction<T>, lock: string | undefined): Promise<T> {
    const client = await this.#connect();
    // Without a listener, a connection that is lost between two statements would end the process.
    client.on('error', this.#onError);
    let fault: Error | undefined;
    let isCommitting = false;
    try {
      await client.query('BEGIN');
      // Each statement sees what was committed before it began.
      if (lock !== undefined) await this.#runAll(client, inTurn(this, lock));
      const result = await this.#runAll(client, work);
      isCommitting = true;
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((lost: Error) => (fault = lost));
      const known = postgresFault(error);
      const isUnknown = isCommitting && known instanceof ParleyError && known.code === 'DATABASE_UNREACHABLE';
      throw isUnknown ? new UnconfirmedCommit(known) : known;
    } finally {
      client.off('error', this.#onError);
      // A connection that could not be rolled back is closed.
      client.release(fault);
    }
  }

  async #runAll<T>(client: pg.PoolClient, work: Transaction<T>): Promise<T> {
    let step = work.next();
    while (step.done !== true) step = work.next(await this.#run(client, step.value));
    return step.value;
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw postgresFault(error);
    }
  }

  async #run(client: pg.Pool | pg.PoolClient, { text, values }: Statement): Promise<StatementResult> {
    try {
      const { rows, rowCount } = await client.query<Record<string, unknown>>({
        ...this.#prepared(text),
        values: values.map(storable),
      });
      return { rows, changes: rowCount ?? 0 };
    } catch (error) {
      throw postgresFault(error);
    }
  }

  /** The text with `$1` in place of `?`, and its name as a prepared statement of each connection. */
  #prepared(text: string): { name: string; text: string } {
    let prepared = this.#texts.get(text);
    if (prepared === undefined) {
      let count = 0;
      const numbered = text.replaceAll('?', () => `$${String(++count)}`);
      prepared = { name: createHash('sha256').update(text).digest('hex').slice(0, 32), text: numbered };
      this.#texts.set(text, prepared);
    }
    return prepared;
  }
}

/** PostgreSQL's texts have no character 0. */
export function storable(value: SqlValue): Exclude<SqlValue, Uint8Array> | Buffer {
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD');
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}
