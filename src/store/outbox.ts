import type { Delivery, OutboxStore } from '../tools/outbox.js';
import type { SecretBox } from './secret-box.js';
import { run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';
import { DirectWrites, type Writes } from './writes.js';

/** Who configured the address: an agent's owner, or the operator, who may use private addresses. */
export type WebhookOwner = 'agent' | 'operator';

interface Row {
  id: string;
  seq: number;
  due_unix_ms: number;
  session_id: string;
  url: string;
  headers: string;
  body: string;
  created_unix_ms: number;
  attempts: number;
}

/** How long finished messages stay visible in the list of deliveries. */
const KEEP_DONE_MS = 30 * 24 * 3_600_000;

/** Purposes of the encryption of addresses and headers, see `SecretBox`. */
export const DELIVERY_URL = 'webhook_deliveries.url';
const HEADERS = 'webhook_deliveries.headers';

/** A message whose credentials are encrypted. */
interface SealedDelivery extends Omit<Delivery, 'url' | 'headers'> {
  url: string;
  headers: string;
}

/** Of an attempt. */
interface Outcome {
  id: string;
  /** Null = it failed. */
  deliveredUnixMs: number | null;
  /** Null = there are no more attempts. */
  retryUnixMs: number | null;
  error: string | null;
}

/** On PostgreSQL, an attempt that takes longer has failed with its node: another node makes the next one. */
const LEASE_MS = 60_000;
/** How often to look for messages of nodes that have died. */
const POLL_MS = 30_000;

/**
 * The daemon's outgoing messages to webhooks of one owner. Messages survive the process, and any node sends them. Addresses
 * and headers are encrypted, because they may hold credentials.
 */
export class StoredOutbox implements OutboxStore {
  readonly pollMs: number | undefined;
  readonly #database: SqlDatabase;
  readonly #box: SecretBox;
  readonly #owner: WebhookOwner;
  readonly #add: (delivery: SealedDelivery) => Promise<unknown>;
  readonly #note: (outcome: Outcome) => Promise<unknown>;
  #wake: () => void = () => undefined;

  /** @param writes default: the database can always be reached */
  constructor(
    database: SqlDatabase,
    box: SecretBox,
    owner: WebhookOwner = 'agent',
    writes: Writes = new DirectWrites(database),
  ) {
    this.pollMs = database.dialect === 'sqlite' ? undefined : POLL_MS;
    this.#database = database;
    this.#box = box;
    this.#owner = owner;
    // Messages may have waited for the database.
    writes.onWritten(() => this.wake());
    this.#add = writes.operation(`outbox.${owner}`, (delivery: SealedDelivery) => this.#adding(delivery));
    // Otherwise the messages behind it would wait for the end of its lease, and it would be sent again.
    this.#note = writes.operation(`outbox.${owner}.outcome`, (outcome: Outcome) => noting(outcome));
  }

  async add(delivery: Delivery): Promise<void> {
    await this.#add(this.#sealed(delivery));
  }

  /** As `add`, in a transaction. Call `wake` after it. */
  adding(delivery: Delivery): Transaction<void> {
    return this.#adding(this.#sealed(delivery));
  }

  #sealed({ url, headers, ...rest }: Delivery): SealedDelivery {
    const box = this.#box;
    return { ...rest, url: box.seal(url, DELIVERY_URL), headers: box.seal(JSON.stringify(headers), HEADERS) };
  }

  *#adding(delivery: SealedDelivery): Transaction<void> {
    const { id, sessionId, url, headers, body, createdUnixMs, attempts } = delivery;
    yield* run(
      sql`DELETE FROM webhook_deliveries WHERE due_unix_ms IS NULL AND created_unix_ms < ${createdUnixMs - KEEP_DONE_MS}`,
    );
    yield* run(
      sql`INSERT INTO webhook_deliveries
            (id, session_id, url, headers, body, created_unix_ms, attempts, due_unix_ms, audience)
          VALUES (${id}, ${sessionId}, ${url}, ${headers}, ${body}, ${createdUnixMs}, ${attempts}, ${createdUnixMs},
            ${this.#owner})
          ON CONFLICT DO NOTHING`,
    );
  }

  async due(unixMs: number, limit: number, busy: readonly string[]): Promise<Delivery[]> {
    const rows = await this.#database.all<Row>(this.#dueStatement(unixMs, limit, busy));
    return rows
      .toSorted((a, b) => a.due_unix_ms - b.due_unix_ms || a.seq - b.seq)
      .map((row) => ({
        id: row.id,
        sessionId: row.session_id,
        url: this.#box.open(row.url, DELIVERY_URL),
        headers: JSON.parse(this.#box.open(row.headers, HEADERS)) as Record<string, string>,
        body: row.body,
        createdUnixMs: row.created_unix_ms,
        attempts: row.attempts,
      }));
  }

  async nextDueUnixMs(): Promise<number | null> {
    const next = await this.#database.first<{ due: number | null }>(
      sql`SELECT MIN(due_unix_ms) AS due FROM webhook_deliveries WHERE seq IN (${this.#heads})`,
    );
    return next?.due ?? null;
  }

  async delivered(id: string, unixMs: number): Promise<void> {
    await this.#note({ id, deliveredUnixMs: unixMs, retryUnixMs: null, error: null });
  }

  async failed(id: string, reason: string, retryUnixMs: number | null): Promise<void> {
    await this.#note({ id, deliveredUnixMs: null, retryUnixMs, error: reason });
  }

  onDue(listener: () => void): void {
    this.#wake = listener;
  }

  /** Call this when a message has become due in the database. */
  wake(): void {
    this.#wake();
  }

  /** Gives up all open messages. */
  async abandon(reason: string): Promise<void> {
    await this.#database.run(
      sql`UPDATE webhook_deliveries SET due_unix_ms = NULL, error = ${reason}
          WHERE due_unix_ms IS NOT NULL AND audience = ${this.#owner}`,
    );
  }

  /** The first open message of each session. */
  get #heads(): Statement {
    return sql`SELECT MIN(seq) FROM webhook_deliveries WHERE due_unix_ms IS NOT NULL AND audience = ${this.#owner}
      GROUP BY session_id`;
  }

  #dueStatement(unixMs: number, limit: number, busy: readonly string[]): Statement {
    const columns = sql`id, seq, session_id, url, headers, body, created_unix_ms, attempts`;
    const others = busy.reduce((all, id) => sql`${all} AND session_id <> ${id}`, sql``);
    const due = sql`seq IN (${this.#heads}) AND due_unix_ms <= ${unixMs} ${others}
      ORDER BY due_unix_ms, seq LIMIT ${limit}`;
    if (this.#database.dialect === 'sqlite') {
      return sql`SELECT ${columns}, due_unix_ms FROM webhook_deliveries WHERE ${due}`;
    }
    // Another node that asks at the same time gets other messages.
    return sql`UPDATE webhook_deliveries m SET due_unix_ms = ${unixMs + LEASE_MS}
      FROM (SELECT seq AS taken, due_unix_ms AS was FROM webhook_deliveries WHERE ${due} FOR UPDATE SKIP LOCKED) t
      WHERE seq = taken RETURNING ${columns}, was AS due_unix_ms`;
  }
}

/** A message that was delivered stays so, whatever later attempts of other nodes come to. */
function* noting({ id, deliveredUnixMs, retryUnixMs, error }: Outcome): Transaction<void> {
  yield* run(
    sql`UPDATE webhook_deliveries SET attempts = attempts + 1, due_unix_ms = ${retryUnixMs},
          delivered_unix_ms = ${deliveredUnixMs}, error = ${error}
        WHERE id = ${id} AND delivered_unix_ms IS NULL`,
  );
}
