import type { Clock } from '../base/clock.js';
import { waitAtMost } from '../base/deadlines.js';
import { reasonOf } from '../base/errors.js';
import type { WebhookAddress } from '../agent/webhook.js';
import { type CallFacts, callHistoryItem, type CallHistoryItem, shownItem } from '../session/record/call-history.js';
import type { CallOutcome } from '../session/record/end-reason.js';
import type { Session } from '../session/session.js';
import type { SessionReport } from '../session/record/session-report.js';
import { type Outbox, sessionMessageId } from '../tools/outbox.js';
import type { UnfinishedSessions } from './unfinished-session.js';

/** A log of calls. */
export interface CallHistory {
  /** Returns the stored item, which `session_data_webhook` also gets. */
  keep(item: CallHistoryItem, report: SessionReport): Promise<CallHistoryItem>;
}

/** A session or chat to record. */
export type RecordedSession = Pick<Session, 'id' | 'finished' | 'noteFault'>;

/** The facts for the record that the report does not have. */
export interface SessionRecord {
  /** The agent's `session_data_webhook`; null = it has none. */
  to: WebhookAddress | null;
  facts: Omit<CallFacts, 'outcome'>;
  /** How the phone call ended; called after the session. Null = not a phone call. */
  outcome: (() => Promise<CallOutcome>) | null;
}

/** Records finished sessions. */
export interface Recorder {
  /** Called when a session begins. Resolves when the session is recorded; never rejects. */
  record(session: RecordedSession, record: SessionRecord): Promise<void>;
  /** Resolves when every session that has ended is recorded. May be called twice. */
  close(): Promise<void>;
}

export interface SessionRecorderOptions {
  outbox: Outbox;
  /** Null = no history. */
  history: CallHistory | null;
  /** Removes sessions once they are recorded; null = none are stored. */
  unfinished: Pick<UnfinishedSessions, 'remove'> | null;
  /** A real-time clock. */
  clock: Clock;
}

/** Deadline for a carrier to report how a call ended. */
const OUTCOME_MS = 15_000;

/** Stores the history item of each finished session, and sends it to the agent's `session_data_webhook`. */
export class SessionRecorder implements Recorder {
  readonly #options: SessionRecorderOptions;
  readonly #pending = new Set<Promise<void>>();

  constructor(options: SessionRecorderOptions) {
    this.#options = options;
  }

  /** Sends nothing for a session that never ran, unless it was for a phone call. */
  record(session: RecordedSession, record: SessionRecord): Promise<void> {
    const work = this.#record(session, record).catch((error: unknown) => {
      session.noteFault('aftermath.failed', reasonOf(error));
    });
    this.#pending.add(work);
    return work.then(() => void this.#pending.delete(work));
  }

  async close(): Promise<void> {
    await Promise.all(this.#pending);
    await this.#options.outbox.close();
  }

  async #record(session: RecordedSession, { to, facts, outcome }: SessionRecord): Promise<void> {
    const report = await session.finished;
    const ended = outcome === null ? null : ((await waitAtMost(this.#options.clock, OUTCOME_MS, outcome())) ?? null);
    const item = callHistoryItem(report, { ...facts, outcome: ended });
    const kept = await this.#keep(session, item, report);
    const wasHeld = outcome !== null || report.durationMs > 0;
    const { outbox, unfinished } = this.#options;
    if (to !== null && wasHeld) {
      await outbox.send(
        session.id,
        to,
        JSON.stringify(shownItem(kept)),
        sessionMessageId(session.id, facts.startUnixMs),
      );
    }
    await unfinished?.remove(session.id);
  }

  /** The webhook is sent even if the history cannot be written. */
  async #keep(session: RecordedSession, item: CallHistoryItem, report: SessionReport): Promise<CallHistoryItem> {
    try {
      return (await this.#options.history?.keep(item, report)) ?? item;
    } catch (error) {
      session.noteFault('history.failed', reasonOf(error));
      return item;
    }
  }
}
