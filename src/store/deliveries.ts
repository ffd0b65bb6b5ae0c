import { redactUrl } from '../agent/redact.js';
import { type WebhookOwner, DELIVERY_URL } from './outbox.js';
import type { SecretBox } from './secret-box.js';
import { sql, type SqlDatabase } from './sql/statement.js';

/** Waiting for an attempt, delivered, or given up. */
export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** The state of a message to a webhook. Times are milliseconds since 1970. */
export interface StoredDelivery {
  seq: number;
  id: string;
  audience: WebhookOwner;
  sessionId: string;
  /** Without secrets. */
  url: string;
  state: DeliveryState;
  attempts: number;
  createdUnixMs: number;
  /** Null = no attempt is planned. */
  nextUnixMs: number | null;
  deliveredUnixMs: number | null;
  /** Why the last attempt failed. */
  error: string | null;
}

export interface DeliveryQuery {
  sessionId: string | null;
  state: DeliveryState | null;
  /** Only messages with a smaller `seq`; null = from the newest on. */
  before: number | null;
  limit: number;
}

interface Row {
  seq: number;
  id: string;
  audience: WebhookOwner;
  session_id: string;
  url: string;
  state: DeliveryState;
  attempts: number;
  created_unix_ms: number;
  due_unix_ms: number | null;
  delivered_unix_ms: number | null;
  error: string | null;
}

const STATE = sql`CASE WHEN due_unix_ms IS NOT NULL THEN 'pending'
  WHEN delivered_unix_ms IS NOT NULL THEN 'delivered' ELSE 'failed' END`;
const COLUMNS = sql`seq, id, audience, session_id, url, ${STATE} AS state, attempts, created_unix_ms, due_unix_ms,
  delivered_unix_ms, error`;

/** Delivery states of the messages in the outboxes, for operators. */
export class DeliveryStore {
  readonly #database: SqlDatabase;
  readonly #box: SecretBox;

  constructor(database: SqlDatabase, box: SecretBox) {
    this.#database = database;
    this.#box = box;
  }

  /** Newest first. */
  async list({ sessionId, state, before, limit }: DeliveryQuery): Promise<StoredDelivery[]> {
    const conditions = [
      sessionId === null ? [] : sql`session_id = ${sessionId}`,
      before === null ? [] : sql`seq < ${before}`,
      state === null ? [] : sql`${STATE} = ${state}`,
    ].flat();
    const where = conditions.reduce((all, condition) => sql`${all} AND ${condition}`, sql`WHERE 1 = 1`);
    const rows = await this.#database.all<Row>(
      sql`SELECT ${COLUMNS} FROM webhook_deliveries ${where} ORDER BY seq DESC LIMIT ${limit}`,
    );
    return rows.map((row) => this.#delivery(row));
  }

  async get(id: string): Promise<StoredDelivery | null> {
    const row = await this.#database.first<Row>(sql`SELECT ${COLUMNS} FROM webhook_deliveries WHERE id = ${id}`);
    return row === null ? null : this.#delivery(row);
  }

  /** Makes a message in any state due now, with all its attempts. Returns it; null = it does not exist. */
  async resend(id: string, unixMs: number): Promise<StoredDelivery | null> {
    await this.#database.run(
      sql`UPDATE webhook_deliveries SET due_unix_ms = ${unixMs}, attempts = 0, delivered_unix_ms = NULL, error = NULL
          WHERE id = ${id}`,
    );
    return this.get(id);
  }

  #delivery(row: Row): StoredDelivery {
    const url = redactUrl(this.#box.open(row.url, DELIVERY_URL));
    return {
      seq: row.seq,
      id: row.id,
      audience: row.audience,
      sessionId: row.session_id,
      url,
      state: row.state,
      attempts: row.attempts,
      createdUnixMs: row.created_unix_ms,
      nextUnixMs: row.due_unix_ms,
      deliveredUnixMs: row.delivered_unix_ms,
      error: row.error,
    };
  }
}
