import type Database from 'better-sqlite3';
import type { Delivery, OutboxStore } from '../tools/outbox.js';
import type { SecretBox } from './secret-box.js';

/** Who configured the address: an agent's owner, or the operator, who may use private addresses. */
export type WebhookOwner = 'agent' | 'operator';

interface Row {
  id: string;
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

/**
 * The daemon's outgoing messages to webhooks of one owner. Messages survive the process. Addresses and headers are
 * encrypted, because they may hold credentials.
 */
export class SqliteOutboxStore implements OutboxStore {
  readonly #box: SecretBox;
  readonly #owner: WebhookOwner;
  readonly #add: (delivery: Delivery) => void;
  readonly #due: Database.Statement<unknown[], Row>;
  readonly #next: Database.Statement<unknown[], { due: number | null }>;
  readonly #delivered: Database.Statement<unknown[]>;
  readonly #failed: Database.Statement<unknown[]>;
  readonly #abandon: Database.Statement<unknown[]>;
  #wake: () => void = () => undefined;

  constructor(database: Database.Database, box: SecretBox, owner: WebhookOwner = 'agent') {
    this.#box = box;
    this.#owner = owner;
    const insert = database.prepare(
      `INSERT OR IGNORE INTO webhook_deliveries
         (id, session_id, url, headers, body, created_unix_ms, attempts, due_unix_ms, audience)
       VALUES (@id, @sessionId, @url, @headers, @body, @createdUnixMs, @attempts, @createdUnixMs, @audience)`,
    );
    const purge = database.prepare('DELETE FROM webhook_deliveries WHERE due_unix_ms IS NULL AND created_unix_ms < ?');
    this.#add = database.transaction((delivery: Delivery) => {
      purge.run(delivery.createdUnixMs - KEEP_DONE_MS);
      const headers = box.seal(JSON.stringify(delivery.headers), HEADERS);
      insert.run({ ...delivery, headers, url: box.seal(delivery.url, DELIVERY_URL), audience: owner });
    });
    const heads = `SELECT MIN(seq) FROM webhook_deliveries WHERE due_unix_ms IS NOT NULL AND audience = '${owner}'
      GROUP BY session_id`;
    this.#due = database.prepare(
      `SELECT id, session_id, url, headers, body, created_unix_ms, attempts FROM webhook_deliveries
       WHERE seq IN (${heads}) AND due_unix_ms <= ? ORDER BY due_unix_ms, seq LIMIT 100`,
    );
    this.#next = database.prepare(`SELECT MIN(due_unix_ms) AS due FROM webhook_deliveries WHERE seq IN (${heads})`);
    this.#delivered = database.prepare(
      `UPDATE webhook_deliveries SET attempts = attempts + 1, due_unix_ms = NULL, delivered_unix_ms = ?, error = NULL
       WHERE id = ?`,
    );
    this.#failed = database.prepare(
      'UPDATE webhook_deliveries SET attempts = attempts + 1, due_unix_ms = ?, error = ? WHERE id = ?',
    );
    this.#abandon = database.prepare(
      'UPDATE webhook_deliveries SET due_unix_ms = NULL, error = ? WHERE due_unix_ms IS NOT NULL AND audience = ?',
    );
  }

  add(delivery: Delivery): void {
    this.#add(delivery);
  }

  due(unixMs: number): Delivery[] {
    return this.#due.all(unixMs).map((row) => ({
      id: row.id,
      sessionId: row.session_id,
      url: this.#box.open(row.url, DELIVERY_URL),
      headers: JSON.parse(this.#box.open(row.headers, HEADERS)) as Record<string, string>,
      body: row.body,
      createdUnixMs: row.created_unix_ms,
      attempts: row.attempts,
    }));
  }

  nextDueUnixMs(): number | null {
    return this.#next.get()?.due ?? null;
  }

  delivered(id: string, unixMs: number): void {
    this.#delivered.run(unixMs, id);
  }

  failed(id: string, reason: string, retryUnixMs: number | null): void {
    this.#failed.run(retryUnixMs, reason, id);
  }

  onDue(listener: () => void): void {
    this.#wake = listener;
  }

  /** Call this when a message has become due in the database. */
  wake(): void {
    this.#wake();
  }

  /** Gives up all open messages. */
  abandon(reason: string): void {
    this.#abandon.run(reason, this.#owner);
  }
}
