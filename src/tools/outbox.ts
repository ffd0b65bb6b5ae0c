import { createHash, createHmac, randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../base/clock.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import type { GuardedClient } from '../net/guarded-client.js';
import { abortAfter } from './deadline.js';
import type { WebhookAddress } from '../agent/webhook.js';

/** Sends what has happened to where it is to be told, until it has arrived or is given up. */
export interface Outbox {
  /**
   * Takes a message; when this returns, it is kept. Messages of one session are delivered in this order.
   * @param id of the message: one that is known already is not taken again. Default a random one
   */
  send(sessionId: string, to: WebhookAddress, body: string, id?: string): void;
  /** Sends nothing more. Waits for what is under way, but not for ever. May be called twice. */
  close(): Promise<void>;
}

/** A message that has not been delivered. Times are milliseconds since 1970. */
export interface Delivery extends WebhookAddress {
  /** Stays the same over all attempts: receivers tell a repetition by it. */
  id: string;
  sessionId: string;
  body: string;
  createdUnixMs: number;
  /** How often it was tried. */
  attempts: number;
}

/** Where an outbox keeps its messages. */
export interface OutboxStore {
  /** A message whose id is known is not added again. */
  add(delivery: Delivery): void;
  /** The oldest open message of each session, where it is due: those that have been due longest come first. */
  due(nowUnixMs: number): Delivery[];
  /** When the next one is due; null = none is open. */
  nextDueUnixMs(): number | null;
  delivered(id: string, nowUnixMs: number): void;
  /** @param retryUnixMs null = it is given up */
  failed(id: string, reason: string, retryUnixMs: number | null): void;
  /** Has the outbox told when somebody else makes messages due. Default: nobody does. */
  onDue?(listener: () => void): void;
}

export interface WebhookOutboxOptions {
  store: OutboxStore;
  client: GuardedClient;
  /** Times the deadlines and the waiting. The network is real: give a real clock. */
  clock: Clock;
  /** Milliseconds since 1970. */
  unixMs: () => number;
  /** `whsec_…`; null = messages are not signed. */
  secret: string | null;
  /** A message was given up, or is lost because the process ends. */
  onLost?: (delivery: Pick<Delivery, 'id' | 'sessionId' | 'url'>, reason: string) => void;
}

/** Waits between attempts, in milliseconds: eleven attempts, the last one a good 24 hours after the first. */
const BACK_OFF_MS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 21_600, 37_200].map((seconds) => seconds * 1_000);
const TIMEOUT_MS = 15_000;
/** Attempts that run at once. */
const MAX_RUNNING = 8;
/** How long `close` waits for what is under way. */
const CLOSE_MS = 5_000;
/** The longest that a timer is armed for: time on the wall may be set meanwhile. */
const MAX_SLEEP_MS = 600_000;

/** A message that nobody has tried to deliver. */
export function newDelivery(
  sessionId: string,
  { url, headers }: WebhookAddress,
  body: string,
  createdUnixMs: number,
  id = `msg_${randomUUID().replaceAll('-', '')}`,
): Delivery {
  return { id, sessionId, url, headers, body, createdUnixMs, attempts: 0 };
}

/** The id of the message that tells of a session's end: the same after a restart, so that receivers see a repetition. */
export function sessionMessageId(sessionId: string, startUnixMs: number): string {
  const digest = createHash('sha256')
    .update(`${sessionId} ${String(startUnixMs)}`)
    .digest('hex');
  return `msg_${digest.slice(0, 32)}`;
}

/**
 * Delivers as POST, signed as Standard Webhooks asks for, at least once and in order per session. A 2xx is a delivery,
 * 410 and an address that may not be called end the attempts, everything else is tried again, ever less often, for a day.
 */
export class WebhookOutbox implements Outbox {
  readonly #options: WebhookOutboxOptions;
  /** By session: one message of each at a time. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #abort = new AbortController();
  #cancelTimer: Cancel = () => undefined;
  #closing: Promise<void> | null = null;

  /** Goes on with what the store still has. */
  constructor(options: WebhookOutboxOptions) {
    this.#options = options;
    options.store.onDue?.(() => this.#work());
    this.#work();
  }

  send(sessionId: string, to: WebhookAddress, body: string, id?: string): void {
    const { store, unixMs } = this.#options;
    store.add(newDelivery(sessionId, to, body, unixMs(), id));
    this.#work();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelTimer();
    const deadline = abortAfter(this.#options.clock, CLOSE_MS, new AbortController().signal);
    const expired = new Promise<void>((resolve) => {
      deadline.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    // What is due and waits for its turn is still tried.
    while (this.#running.size > 0 && !deadline.signal.aborted) {
      await Promise.race([...this.#running.values(), expired]);
    }
    deadline.cancel();
    this.#abort.abort(new Error('parley shuts down'));
    await Promise.all(this.#running.values());
  }

  /** Begins what is due, and wakes up for what comes next. */
  #work(): void {
    this.#cancelTimer();
    if (this.#abort.signal.aborted) return;
    const { store, clock, unixMs } = this.#options;
    const nowMs = unixMs();
    for (const delivery of store.due(nowMs)) {
      if (this.#running.size >= MAX_RUNNING) return; // an attempt that ends comes back here
      if (this.#running.has(delivery.sessionId)) continue;
      const attempt = this.#attempt(delivery).finally(() => {
        this.#running.delete(delivery.sessionId);
        this.#work();
      });
      this.#running.set(delivery.sessionId, attempt);
    }
    const next = store.nextDueUnixMs();
    if (next === null || this.#closing !== null || this.#running.size > 0) return;
    const waitMs = Math.min(MAX_SLEEP_MS, Math.max(0, next - nowMs));
    this.#cancelTimer = clock.schedule(clock.nowMs() + waitMs, () => this.#work());
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const { store, unixMs, onLost } = this.#options;
    const failure = await this.#post(delivery);
    if (failure === null) {
      store.delivered(delivery.id, unixMs());
      return;
    }
    const waitMs = failure.final ? undefined : BACK_OFF_MS[delivery.attempts];
    store.failed(delivery.id, failure.reason, waitMs === undefined ? null : unixMs() + waitMs);
    if (waitMs === undefined) onLost?.(delivery, failure.reason);
  }

  /** Null where it arrived. */
  async #post({ id, url, headers, body }: Delivery): Promise<{ reason: string; final: boolean } | null> {
    const { client, secret, unixMs } = this.#options;
    try {
      const { status } = await client.request({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers, ...signatureHeaders(id, body, unixMs(), secret) },
        body,
        timeoutMs: TIMEOUT_MS,
        signal: this.#abort.signal,
      });
      if (status >= 200 && status <= 299) return null;
      return { reason: `it answered with status ${String(status)}`, final: status === 410 };
    } catch (error) {
      const refused = error instanceof ParleyError && error.code === 'NET_ADDRESS_REFUSED';
      // That a reply is too long to read says that the message has arrived.
      if (error instanceof ParleyError && error.code === 'NET_TOO_LARGE') return null;
      return { reason: reasonOf(error), final: refused };
    }
  }
}

/**
 * The headers of Standard Webhooks 1.0 (standardwebhooks/standard-webhooks, spec/standard-webhooks.md): `webhook-id`,
 * `webhook-timestamp` in Unix seconds, and `webhook-signature`, `v1,` and the base64 of HMAC-SHA256 over
 * `id.timestamp.body`, where there is a secret.
 * @param secret `whsec_` and the key as base64; null = not signed
 */
export function signatureHeaders(
  id: string,
  body: string,
  unixMs: number,
  secret: string | null,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(unixMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === null) return headers;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}
