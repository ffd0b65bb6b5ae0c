import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { RealClock } from '../../base/real-clock.js';
import type { WebhookAddress } from '../../agent/webhook.js';
import type { CallHistoryItem } from '../../session/record/call-history.js';
import type { StoredCall } from '../../store/calls.js';
import type { StoredOutbox } from '../../store/outbox.js';
import type { Transaction } from '../../store/sql/statement.js';
import { newDelivery, type WebhookOutbox } from '../../tools/outbox.js';
import type { GuardedClient } from '../../net/guarded-client.js';

export interface CallWebhookOptions {
  /** Null = there is no webhook. */
  to: WebhookAddress | null;
  store: StoredOutbox;
  /** `whsec_…`; null = not signed. */
  secret: string | null;
  clock: Clock;
  nowUnixMs: () => number;
  /** The item of a call for the message. */
  itemOf: (call: StoredCall) => CallHistoryItem;
  /** Called when a message is lost after all retries. */
  onLost: (sessionId: string, reason: string) => void;
}

/** A message to the operator's webhook. */
interface CallMessage {
  type: 'call.started' | 'call.ended';
  /** ISO 8601. */
  timestamp: string;
  data: CallHistoryItem;
}

/**
 * The operator's webhook. It sends `call.started` when a conversation starts and `call.ended` when a call ends, even if
 * it was never answered. The transaction that changes the call also writes the message, so none is lost.
 */
export class CallWebhook {
  readonly #options: CallWebhookOptions;
  #outbox: WebhookOutbox | null = null;
  #client: GuardedClient | null = null;
  #isClosed = false;

  constructor(options: CallWebhookOptions) {
    this.#options = options;
  }

  /** Gives up the messages of an earlier process if there is no webhook any more. */
  async recover(): Promise<void> {
    const { to, store } = this.#options;
    if (to === null) await store.abandon('the setting callWebhook is no longer set');
  }

  /** Starts to send, beginning with the messages of an earlier process. */
  async open(): Promise<void> {
    const { to, store, secret, clock, nowUnixMs, onLost } = this.#options;
    if (to === null || this.#outbox !== null) return;
    // Loaded on demand: the HTTP client would delay the start.
    const [{ GuardedClient: Client }, { WebhookOutbox: Outbox }] = await Promise.all([
      import('../../net/guarded-client.js'),
      import('../../tools/outbox.js'),
    ]);
    if (this.#isClosed) return;
    // Requests need real time, even if the daemon's clock is simulated.
    const network = clock.virtual ? new RealClock() : clock;
    this.#client = new Client({ clock: network, allowUrls: [to.url] });
    this.#outbox = new Outbox({
      store,
      client: this.#client,
      clock: network,
      nowUnixMs,
      secret,
      onLost: ({ sessionId }, reason) => onLost(sessionId, reason),
    });
  }

  /** The message about a change of a call, in the transaction that changes it. */
  *within(call: StoredCall): Transaction<void> {
    const { to, store, nowUnixMs, itemOf } = this.#options;
    const type = typeOf(call);
    if (to === null || type === null) return;
    const nowMs = nowUnixMs();
    const message: CallMessage = { type, timestamp: new Date(nowMs).toISOString(), data: itemOf(call) };
    // The same for the same change, in case that it is written twice.
    const id = callMessageId(call.sessionId, type);
    yield* store.adding(newDelivery(call.sessionId, to, JSON.stringify(message), nowMs, id));
  }

  /** Call this after the transaction. */
  onCall(call: StoredCall): void {
    const { to, store } = this.#options;
    if (to !== null && typeOf(call) !== null) store.wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#outbox?.close();
    await this.#client?.close();
  }
}

/** Null = nothing is sent. */
function typeOf({ channel, endedUs, status }: StoredCall): CallMessage['type'] | null {
  if (channel === 'chat') return null;
  if (endedUs !== null) return 'call.ended';
  return status === 'in-progress' ? 'call.started' : null;
}

function callMessageId(sessionId: string, type: CallMessage['type']): string {
  return `msg_${createHash('sha256').update(`${sessionId} ${type}`).digest('hex').slice(0, 32)}`;
}
