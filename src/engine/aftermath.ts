import type { Clock } from '../clock/clock.js';
import { delay } from '../clock/clock.js';
import { reasonOf } from '../errors.js';
import { type CallFacts, callHistoryItem, type CallOutcome } from '../session/call-history.js';
import type { Session } from '../session/session.js';
import type { Outbox } from '../tools/outbox.js';
import type { WebhookAddress } from '../config/webhook.js';

export interface AftermathOptions {
  outbox: Outbox;
  /** A real one. */
  clock: Clock;
}

export interface Told {
  to: WebhookAddress;
  facts: Omit<CallFacts, 'outcome'>;
  /** How the phone call ended, for sessions that have one; asked for when the session is over. */
  outcome: (() => Promise<CallOutcome>) | null;
}

/** A carrier may take so long to say how a call ended. */
const OUTCOME_MS = 15_000;

/** Tells those who want to know of a session when it is over. */
export class Aftermath {
  readonly #options: AftermathOptions;
  readonly #pending = new Set<Promise<void>>();

  constructor(options: AftermathOptions) {
    this.#options = options;
  }

  /** Sends the session's history item once it has ended. A session without a phone call that never ran has none. */
  tell(session: Session, told: Told): void {
    const work = this.#tell(session, told).catch((error: unknown) => {
      session.noteFault('sessionDataWebhook.failed', reasonOf(error));
    });
    this.#pending.add(work);
    void work.then(() => this.#pending.delete(work));
  }

  /** Resolves when every session that has ended is told of. May be called twice. */
  async close(): Promise<void> {
    await Promise.all(this.#pending);
    await this.#options.outbox.close();
  }

  async #tell(session: Session, { to, facts, outcome }: Told): Promise<void> {
    const report = await session.finished;
    if (outcome === null && report.durationMs === 0) return;
    const ended = outcome === null ? null : await this.#within(outcome());
    const item = callHistoryItem(report, { ...facts, outcome: ended });
    this.#options.outbox.send(session.id, to, JSON.stringify(item));
  }

  /** Null where it takes too long. */
  async #within(outcome: Promise<CallOutcome>): Promise<CallOutcome | null> {
    const waiting = new AbortController();
    try {
      return await Promise.race([outcome, delay(this.#options.clock, OUTCOME_MS, waiting.signal).then(() => null)]);
    } finally {
      waiting.abort();
    }
  }
}
