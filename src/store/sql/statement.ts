import { ParleyError } from '../../base/errors.js';

/** A value that a statement stores or compares. Booleans are 0 and 1. */
export type SqlValue = string | number | null | Uint8Array;

/** SQL in the part that SQLite and PostgreSQL share, with `?` for each value. No literal in it has a question mark. */
export interface Statement {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** What a statement returned, and how many rows it inserted, changed or deleted. */
export interface StatementResult {
  readonly rows: readonly unknown[];
  readonly changes: number;
}

/** Makes a statement of a template. Values become parameters, statements become parts of the text. */
export function sql(parts: readonly string[], ...values: readonly (SqlValue | Statement)[]): Statement {
  let text = parts[0] ?? '';
  const all: SqlValue[] = [];
  for (const [index, value] of values.entries()) {
    if (isStatement(value)) {
      text += value.text;
      all.push(...value.values);
    } else {
      text += '?';
      all.push(value);
    }
    text += parts[index + 1] ?? '';
  }
  return { text, values: all };
}

function isStatement(value: SqlValue | Statement): value is Statement {
  return typeof value === 'object' && value !== null && 'text' in value;
}

/**
 * The statements of a transaction. It yields each and continues with its outcome, so that the same code runs without
 * a pause on SQLite, where nothing can come in between, and over the network on PostgreSQL. It may be run again from the
 * start if the database asks for that, so it changes nothing but the database.
 */
export type Transaction<T> = Generator<Statement, T, StatementResult>;

/** Runs a statement inside a transaction. Returns the number of rows that it inserted, changed or deleted. */
export function* run(statement: Statement): Transaction<number> {
  return (yield statement).changes;
}

/**
 * From here on, transactions with the same lock run one after the other on all nodes, until they end. A transaction that
 * needs several locks takes them in the same order as all others.
 */
export function* inTurn({ dialect }: Pick<SqlDatabase, 'dialect'>, lock: string): Transaction<void> {
  // On SQLite, all transactions do.
  if (dialect === 'postgres') yield* run(sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`);
}

/** The connection broke while a transaction was committed: the database has all of it, or nothing. */
export class UnconfirmedCommit extends ParleyError {
  constructor(cause: ParleyError) {
    super('DATABASE_UNREACHABLE', cause.details, { cause });
  }
}

/** A database of a daemon. */
export interface SqlDatabase {
  /** For the few statements that differ. */
  readonly dialect: 'sqlite' | 'postgres';
  /** All rows of a statement. */
  all<Row>(statement: Statement): Promise<readonly Row[]>;
  /** The first row of a statement; null = there is none. */
  first<Row>(statement: Statement): Promise<Row | null>;
  /** Runs a statement. Returns the number of rows that it inserted, changed or deleted. */
  run(statement: Statement): Promise<number>;
  /**
   * Runs statements in a transaction: all of them, or none. Rejects with what `work` throws, with UnconfirmedCommit if it
   * cannot know which.
   * @param lock transactions with the same lock run one after the other, on all nodes. Without one, others may come in
   * between two statements on PostgreSQL
   */
  transaction<T>(work: () => Transaction<T>, lock?: string): Promise<T>;
  /** As `transaction`, for statements that only read. It waits for no writer. */
  read<T>(work: () => Transaction<T>): Promise<T>;
  /** As `transaction`, without waiting for the disk: after a crash of the machine, its changes may be undone. */
  lazyTransaction<T>(work: () => Transaction<T>): Promise<T>;
  /** Removes deleted content from the database's files, as far as the database can. */
  scrub(): Promise<void>;
  /**
   * The time that all nodes share, in microseconds since 1970: the server's on PostgreSQL, because the nodes' clocks
   * differ. Limits and due times compare it.
   */
  nowUs(): Transaction<number>;
  /** May be called twice. */
  close(): Promise<void>;
}
