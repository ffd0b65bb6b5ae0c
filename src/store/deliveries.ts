import type Database from 'better-sqlite3';
import { redactUrl } from '../agent/redact.js';
import { type WebhookOwner, DELIVERY_URL } from './outbox.js';
import type { SecretBox } from './secret-box.js';

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

const STATE = `CASE WHEN due_unix_ms IS NOT NULL THEN 'pending'
  WHEN delivered_unix_ms IS NOT NULL THEN 'delivered' ELSE 'failed' END`;
const COLUMNS = `seq, id, audience, session_id, url, ${STATE} AS state, attempts, created_unix_ms, due_unix_ms,
  delivered_unix_ms, error`;

/** Delivery states of the messages in the outboxes, for operators. */
export class DeliveryStore {
  readonly #box: SecretBox;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #ofSession: Database.Statement<unknown[], Row>;
  readonly #get: Database.Statement<unknown[], Row>;
  readonly #resend: Database.Statement<unknown[]>;

  constructor(database: Database.Database, box: SecretBox) {
    this.#box = box;
    const rest = `(@before IS NULL OR seq < @before) AND (@state IS NULL OR ${STATE} = @state)
      ORDER BY seq DESC LIMIT @limit`;
    this.#list = database.prepare(`SELECT ${COLUMNS} FROM webhook_deliveries WHERE ${rest}`);
    this.#ofSession = database.prepare(
      `SELECT ${COLUMNS} FROM webhook_deliveries WHERE session_id = @sessionId AND ${rest}`,
    );
    this.#get = database.prepare(`SELECT ${COLUMNS} FROM webhook_deliveries WHERE id = ?`);
    this.#resend = database.prepare(
      `UPDATE webhook_deliveries SET due_unix_ms = ?, attempts = 0, delivered_unix_ms = NULL, error = NULL WHERE id = ?`,
    );
  }

  /** Newest first. */
  list({ sessionId, state, before, limit }: DeliveryQuery): StoredDelivery[] {
    const page = { state, before, limit };
    const rows = sessionId === null ? this.#list.all(page) : this.#ofSession.all({ ...page, sessionId });
    return rows.map((row) => this.#delivery(row));
  }

  get(id: string): StoredDelivery | null {
    const row = this.#get.get(id);
    return row === undefined ? null : this.#delivery(row);
  }

  /** Makes a message in any state due now, with all its attempts. Returns it; null = it does not exist. */
  resend(id: string, unixMs: number): StoredDelivery | null {
    this.#resend.run(unixMs, id);
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
