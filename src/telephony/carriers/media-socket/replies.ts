import type { Clock } from '../../../base/clock.js';
import type { WebhookReply } from './webhook-endpoint.js';

export interface RepliesOptions {
  clock: Clock;
  /** How long a reply is remembered. */
  keptMs: number;
}

/** More than these are not remembered, the oldest first. */
const MOST = 20_000;

/**
 * Replies to webhooks that may come again: a carrier that has not got one asks once more, and who has overheard a signed
 * request may repeat it. What comes again is answered alike, and has no further effect.
 */
export class Replies {
  readonly #options: RepliesOptions;
  /** Oldest first. */
  readonly #kept = new Map<string, { reply: Promise<WebhookReply>; untilMs: number }>();

  constructor(options: RepliesOptions) {
    this.#options = options;
  }

  /**
   * @param key what a request has in common with its repetitions, and with no other
   * @param make answers it; what fails is not remembered
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
