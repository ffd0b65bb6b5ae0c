import type { Clock } from '../../../base/clock.js';
import type { WebhookReply } from './webhook-endpoint.js';

export interface RepliesOptions {
  clock: Clock;
  /** How long a reply is kept. */
  keptMs: number;
}

/** Maximum number of replies; the oldest are dropped first. */
const MOST = 20_000;

/**
 * Replies to webhooks that may be repeated: a carrier repeats a request without an answer, and an attacker may replay a
 * signed one. A repetition gets the same reply and has no further effect.
 */
export class Replies {
  readonly #options: RepliesOptions;
  /** Oldest first. */
  readonly #kept = new Map<string, { reply: Promise<WebhookReply>; untilMs: number }>();

  constructor(options: RepliesOptions) {
    this.#options = options;
  }

  /**
   * @param key equal only for repetitions of a request
   * @param make creates the reply; failures are not kept
   */
  once(key: string, make: () => WebhookReply | Promise<WebhookReply>): Promise<WebhookReply> {
    const { clock, keptMs } = this.#options;
    const nowMs = clock.nowMs();
    for (const [oldest, { untilMs }] of this.#kept) {
      if (untilMs > nowMs && this.#kept.size < MOST) break;
      this.#kept.delete(oldest);
    }
    const before = this.#kept.get(key);
    if (before !== undefined) return before.reply;
    const reply = (async () => make())();
    this.#kept.set(key, { reply, untilMs: nowMs + keptMs });
    reply.catch(() => this.#kept.delete(key));
    return reply;
  }
}
