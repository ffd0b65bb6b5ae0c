import type { Clock } from '../base/clock.js';
import { waitAtMost } from '../base/deadlines.js';
import { reasonOf } from '../base/errors.js';
import { type CallFacts, callHistoryItem, type CallHistoryItem, shownItem } from '../session/record/call-history.js';
import type { CallOutcome } from '../session/record/end-reason.js';
import type { Session } from '../session/session.js';
import type { SessionReport } from '../session/record/session-report.js';
import { type Outbox, sessionMessageId } from '../tools/outbox.js';
import type { WebhookAddress } from '../agent/webhook.js';
import type { CallHistory } from './options.js';
import type { UnfinishedSessions } from './unfinished.js';

export interface SessionRecorderOptions {
  outbox: Outbox;
  /** Null = nobody keeps them. */
  history: CallHistory | null;
  /** Where sessions are kept until they are told of; null = nowhere. */
  unfinished: Pick<UnfinishedSessions, 'remove'> | null;
  /** A real one. */
  clock: Clock;
}

/** A session, or a chat. */
export type Finishing = Pick<Session, 'id' | 'finished' | 'noteFault'>;

export interface Told {
  /** Null = nobody is sent it. */
  to: WebhookAddress | null;
  facts: Omit<CallFacts, 'outcome'>;
  /** How the phone call ended, for sessions that have one; asked for when the session is over. */
  outcome: (() => Promise<CallOutcome>) | null;
}

/** A carrier may take so long to say how a call ended. */
const OUTCOME_MS = 15_000;

/** Who tells of sessions that are over. */
export type Teller = Pick<SessionRecorder, 'tell' | 'close'>;

/** Tells those who want to know of a session when it is over. */
export class SessionRecorder {
  readonly #options: SessionRecorderOptions;
  readonly #pending = new Set<Promise<void>>();

  constructor(options: SessionRecorderOptions) {
    this.#options = options;
  }

  /**
   * Keeps and sends the session's history item once it has ended. Nobody is sent that of a session that never ran,
   * unless it was for a phone call. Resolves when it is kept; never rejects.
   */
  tell(session: Finishing, told: Told): Promise<void> {
    const work = this.#tell(session, told).catch((error: unknown) => {
      session.noteFault('aftermath.failed', reasonOf(error));
    });
    this.#pending.add(work);
    return work.then(() => void this.#pending.delete(work));
  }

  /** Resolves when every session that has ended is told of. May be called twice. */
  async close(): Promise<void> {
    await Promise.all(this.#pending);
    await this.#options.outbox.close();
  }

  async #tell(session: Finishing, { to, facts, outcome }: Told): Promise<void> {
    const report = await session.finished;
    const ended = outcome === null ? null : ((await waitAtMost(this.#options.clock, OUTCOME_MS, outcome())) ?? null);
    const item = callHistoryItem(report, { ...facts, outcome: ended });
    const kept = this.#keep(session, item, report);
    const wasHeld = outcome !== null || report.durationMs > 0;
    const { outbox, unfinished } = this.#options;
    if (to !== null && wasHeld) {
      outbox.send(session.id, to, JSON.stringify(shownItem(kept)), sessionMessageId(session.id, facts.startUnixMs));
    }
    unfinished?.remove(session.id);
  }

  /** A log that cannot be written keeps nobody from being told. */
  #keep(session: Finishing, item: CallHistoryItem, report: SessionReport): CallHistoryItem {
    try {
      return this.#options.history?.keep(item, report) ?? item;
    } catch (error) {
      session.noteFault('history.failed', reasonOf(error));
      return item;
    }
  }
}
