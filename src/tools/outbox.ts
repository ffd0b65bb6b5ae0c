import { createHash, createHmac, randomUUID } from 'node:crypto';
import { type Cancel, type Clock, delay } from '../base/clock.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import type { GuardedClient } from '../net/guarded-client.js';
import { waitAtMost } from '../base/deadlines.js';
import { unixSeconds } from '../base/real-clock.js';
import type { WebhookAddress } from '../agent/webhook.js';

/** Delivers events to webhooks, with retries. */
export interface Outbox {
  /**
   * Queues a message. Resolves when it is stored. Messages of one session are delivered in this order.
   * @param id of the message: a known id is ignored. Default: a random one
   */
  send(sessionId: string, to: WebhookAddress, body: string, id?: string): Promise<void>;
  /** Stops sending. Waits for requests in flight, with a time limit. Idempotent. */
  close(): Promise<void>;
}

/** An undelivered message. Times are milliseconds since 1970. */
export interface Delivery extends WebhookAddress {
  /** The same for all attempts, so that receivers can detect duplicates. */
  id: string;
  sessionId: string;
  body: string;
  createdUnixMs: number;
  /** Number of attempts. */
  attempts: number;
}

/** Storage for an outbox. */
export interface OutboxStore {
  /** A message with a known id is ignored. */
  add(delivery: Delivery): Promise<void>;
  /**
   * The first queued message of each session, if it is due, the longest due first. Other processes on the same storage do
   * not get them while this one tries to deliver them.
   * @param limit messages at most
   * @param busy sessions to leave out
   */
  due(unixMs: number, limit: number, busy: readonly string[]): Promise<Delivery[]>;
  /** When the next message is due; null = the queue is empty. */
  nextDueUnixMs(): Promise<number | null>;
  delivered(id: string, unixMs: number): Promise<void>;
  /** @param retryUnixMs null = no more retries */
  failed(id: string, reason: string, retryUnixMs: number | null): Promise<void>;
  /** Subscribes to messages that become due by other means. Default: there are none. */
  onDue?(listener: () => void): void;
  /** How often to look for messages of other processes, ms. Default: there are none. */
  readonly pollMs?: number | undefined;
}

export interface WebhookOutboxOptions {
  store: OutboxStore;
  client: GuardedClient;
  /** For deadlines and backoff. The network is real: pass a real clock. */
  clock: Clock;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  /** `whsec_…`; null = unsigned. */
  secret: string | null;
  /** A message has run out of retries, or is lost because the process ends. */
  onLost?: (delivery: Pick<Delivery, 'id' | 'sessionId' | 'url'>, reason: string) => void;
}

/** Retry delays, in milliseconds: eleven attempts, the last one a good 24 hours after the first. */
const BACK_OFF_MS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 21_600, 37_200].map((seconds) => seconds * 1_000);
const TIMEOUT_MS = 15_000;
/** Maximum number of concurrent requests. */
const MAX_RUNNING = 8;
/** How long `close` waits for requests in flight. */
const CLOSE_MS = 5_000;
/** How long to wait for a store that cannot be reached. */
const STORE_RETRY_MS = 5_000;
/** Longest timer: the wall clock may be adjusted meanwhile. */
const MAX_SLEEP_MS = 600_000;

/** A message without an attempt yet. */
export function newDelivery(
  sessionId: string,
  { url, headers }: WebhookAddress,
  body: string,
  createdUnixMs: number,
  id = `msg_${randomUUID().replaceAll('-', '')}`,
): Delivery {
  return { id, sessionId, url, headers, body, createdUnixMs, attempts: 0 };
}

/** The id of a session's end message: the same after a restart, so that receivers detect duplicates. */
export function sessionMessageId(sessionId: string, startUnixMs: number): string {
  const digest = createHash('sha256')
    .update(`${sessionId} ${String(startUnixMs)}`)
    .digest('hex');
  return `msg_${digest.slice(0, 32)}`;
}

/**
 * Delivers messages by POST, signed according to Standard Webhooks, at least once and in order per session. A 2xx is
 * success; 410 and a blocked address end the retries; anything else is retried with backoff for a day.
 */
export class WebhookOutbox implements Outbox {
  readonly #options: WebhookOutboxOptions;
  /** By session: one request at a time for each. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #abort = new AbortController();
  #cancelTimer: Cancel = () => undefined;
  /** The reading of the store that goes on. */
  #reading: Promise<void> | null = null;
  /** Whether the store has changed since that began. */
  #isStale = false;
  #closing: Promise<void> | null = null;

  /** Resumes with the messages in the store. */
  constructor(options: WebhookOutboxOptions) {
    this.#options = options;
    options.store.onDue?.(() => this.#work());
    this.#work();
  }

  async send(sessionId: string, to: WebhookAddress, body: string, id?: string): Promise<void> {
    const { store, nowUnixMs } = this.#options;
    await store.add(newDelivery(sessionId, to, body, nowUnixMs(), id));
    this.#work();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelTimer();
    await waitAtMost(this.#options.clock, CLOSE_MS, this.#idle());
    this.#abort.abort(new Error('parley shuts down'));
    await this.#reading;
    await Promise.all(this.#running.values());
  }

  /** Resolves when nothing runs. Messages that are due but queued are still tried. */
  async #idle(): Promise<void> {
    for (;;) {
      await this.#reading;
      if (this.#running.size === 0) return;
      await Promise.race(this.#running.values());
    }
  }

  /** Sends what is due, and arms the timer for the next message. */
  #work(): void {
    this.#cancelTimer();
    if (this.#abort.signal.aborted) return;
    this.#isStale = true;
    this.#reading ??= this.#readAll();
  }

  async #readAll(): Promise<void> {
    const { clock } = this.#options;
    while (this.#isStale && !this.#abort.signal.aborted) {
      this.#isStale = false;
      const waitMs = await this.#read().catch(() => STORE_RETRY_MS);
      if (waitMs === null || this.#isStale || this.#closing !== null) continue;
      this.#cancelTimer = clock.schedule(clock.nowMs() + waitMs, () => this.#work());
    }
    this.#reading = null;
  }

  /** Starts what is due. Resolves with the time to wait; null = a finished attempt or a new message ends the wait. */
  async #read(): Promise<number | null> {
    const { store, nowUnixMs } = this.#options;
    const free = MAX_RUNNING - this.#running.size;
    if (free <= 0) return null;
    const nowMs = nowUnixMs();
    for (const delivery of await store.due(nowMs, free, [...this.#running.keys()])) {
      const attempt = this.#attempt(delivery).finally(() => {
        this.#running.delete(delivery.sessionId);
        this.#work();
      });
      this.#running.set(delivery.sessionId, attempt);
    }
    if (this.#running.size > 0) return null;
    const next = await store.nextDueUnixMs();
    const untilNext = next === null ? Infinity : Math.max(0, next - nowMs);
    const waitMs = Math.min(untilNext, store.pollMs ?? Infinity, MAX_SLEEP_MS);
    return next === null && store.pollMs === undefined ? null : waitMs;
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const { store, nowUnixMs, onLost } = this.#options;
    const failure = await this.#post(delivery);
    const waitMs = failure === null || failure.final ? undefined : BACK_OFF_MS[delivery.attempts];
    const isStored = await this.#stored(() => {
      if (failure === null) return store.delivered(delivery.id, nowUnixMs());
      return store.failed(delivery.id, failure.reason, waitMs === undefined ? null : nowUnixMs() + waitMs);
    });
    if (isStored && failure !== null && waitMs === undefined) onLost?.(delivery, failure.reason);
  }

  /** Writes to the store. While that fails, it tries again, until the end: the receiver gets no message again meanwhile. */
  async #stored(write: () => Promise<void>): Promise<boolean> {
    for (;;) {
      try {
        await write();
        return true;
      } catch {
        if (this.#closing !== null) return false;
        await delay(this.#options.clock, STORE_RETRY_MS, this.#abort.signal).catch(() => undefined);
      }
    }
  }

  /** Null on success. */
  async #post({ id, url, headers, body }: Delivery): Promise<{ reason: string; final: boolean } | null> {
    const { client, secret, nowUnixMs } = this.#options;
    try {
      const { status } = await client.request({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers, ...signatureHeaders(id, body, nowUnixMs(), secret) },
        body,
        timeoutMs: TIMEOUT_MS,
        signal: this.#abort.signal,
      });
      if (status >= 200 && status <= 299) return null;
      return { reason: `it answered with status ${String(status)}`, final: status === 410 };
    } catch (error) {
      const refused = error instanceof ParleyError && error.code === 'NET_ADDRESS_REFUSED';
      // A reply that is too long to read still shows that the message arrived.
      if (error instanceof ParleyError && error.code === 'NET_TOO_LARGE') return null;
      return { reason: reasonOf(error), final: refused };
    }
  }
}

/**
 * The headers of Standard Webhooks 1.0 (standardwebhooks/standard-webhooks, spec/standard-webhooks.md): `webhook-id`,
 * `webhook-timestamp` in Unix seconds, and, given a secret, `webhook-signature`: `v1,` and the base64 of HMAC-SHA256
 * over `id.timestamp.body`.
 * @param secret `whsec_` and the key as base64; null = unsigned
 */
export function signatureHeaders(
  id: string,
  body: string,
  unixMs: number,
  secret: string | null,
): Readonly<Record<string, string>> {
  const timestamp = String(unixSeconds(unixMs));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === null) return headers;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

interface Kept {
  delivery: Delivery;
  dueUnixMs: number;
}

/** An in-memory outbox store; messages are lost when the process ends. */
export class MemoryOutboxStore implements OutboxStore {
  /** In insertion order. */
  readonly #open = new Map<string, Kept>();

  async add(delivery: Delivery): Promise<void> {
    this.#open.set(delivery.id, { delivery: { ...delivery }, dueUnixMs: delivery.createdUnixMs });
  }

  async due(unixMs: number, limit: number, busy: readonly string[]): Promise<Delivery[]> {
    return this.#heads()
      .filter(({ dueUnixMs, delivery }) => dueUnixMs <= unixMs && !busy.includes(delivery.sessionId))
      .sort((a, b) => a.dueUnixMs - b.dueUnixMs)
      .slice(0, limit)
      .map(({ delivery }) => ({ ...delivery }));
  }

  async nextDueUnixMs(): Promise<number | null> {
    const heads = this.#heads();
    return heads.length === 0 ? null : Math.min(...heads.map(({ dueUnixMs }) => dueUnixMs));
  }

  async delivered(id: string): Promise<void> {
    this.#open.delete(id);
  }

  async failed(id: string, _reason: string, retryUnixMs: number | null): Promise<void> {
    const kept = this.#open.get(id);
    if (kept === undefined) return;
    kept.delivery.attempts++;
    if (retryUnixMs === null) this.#open.delete(id);
    else kept.dueUnixMs = retryUnixMs;
  }

  /** The oldest message of each session. */
  #heads(): Kept[] {
    const heads = new Map<string, Kept>();
    for (const kept of this.#open.values()) {
      if (!heads.has(kept.delivery.sessionId)) heads.set(kept.delivery.sessionId, kept);
    }
    return [...heads.values()];
  }
}
