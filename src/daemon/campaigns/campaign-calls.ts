import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import type { CampaignCallStore } from '../../store/campaign-calls.js';
import type { StoredRecord } from '../../store/campaign-records.js';
import { readCampaign, type StoredCampaign } from '../../store/campaigns.js';
import type { StoredCall } from '../../store/calls.js';
import type { Transaction } from '../../store/sql/statement.js';
import type { RecordStarts } from '../calls/dial.js';
import { mayCall } from './scheduler.js';
import { settle } from './settlement.js';

/** The end of a call in the call log. */
export interface CallOver {
  status: string;
  error: string | null;
}

export interface CampaignCallsOptions {
  calls: CampaignCallStore;
  scheduleOf: (campaign: StoredCampaign) => CampaignSchedule;
}

/** The end of a call whose process has died or was stopped. */
export const STOPPED: CallOver = { status: 'error', error: 'the daemon stopped while the call went on' };

/** Changes records in the transactions that place and end their calls, so that the records and the log always agree. */
export class CampaignCalls implements RecordStarts {
  readonly #options: CampaignCallsOptions;
  #isShut = false;

  constructor(options: CampaignCallsOptions) {
    this.#options = options;
  }

  /** Begins no more calls. Calls that end after this count as interrupted. */
  shut(): void {
    this.#isShut = true;
  }

  /** Begins the call of a record, unless its campaign has been stopped or has reached its limits meanwhile. */
  *begin(seq: number, sessionId: string, nowMs: number): Transaction<boolean> {
    if (this.#isShut) return false;
    const { calls, scheduleOf } = this.#options;
    const found = yield* calls.ofRecord(seq);
    if (found?.campaign.status !== 'started') return false;
    const { id, lastCallMs } = found.campaign;
    const schedule = scheduleOf(found.campaign);
    if (!mayCall(schedule, lastCallMs, found.place, nowMs)) return false;
    return yield* calls.begin({ seq, campaignId: id }, { sessionId, nowMs, concurrent: schedule.concurrent });
  }

  /** Settles the record of a call that has ended. Run it in the transaction that closes the call in the log. */
  *ended({ campaignId, sessionId, status, endedUs, item }: StoredCall): Transaction<void> {
    if (campaignId === null || endedUs === null) return;
    // The shutdown interrupted the call, so its status is not a result.
    const isCut = this.#isShut && (status === 'api-ended' || status === 'canceled');
    const over = isCut ? STOPPED : { status, error: item.error_message };
    yield* this.settle(campaignId, sessionId, over, endedUs / 1000);
  }

  /**
   * Gives a record the state that follows from the end of its call. No effect if that has been done.
   * @param nowMs the time from which another call is planned, in milliseconds since 1970
   */
  *settle(campaignId: string, sessionId: string, over: CallOver, nowMs: number): Transaction<void> {
    const { calls, scheduleOf } = this.#options;
    const record: StoredRecord | null = yield* calls.inProgress(campaignId, sessionId);
    const campaign = record === null ? null : yield* readCampaign(campaignId);
    if (record === null || campaign === null) return;
    const tried = { attempts: record.attempts, retried: record.retried };
    const settlement = settle(tried, { callStatus: over.status, error: over.error }, scheduleOf(campaign), nowMs);
    // A paused campaign finishes when its last call gives the last record its final state. Uploads take this lock before
    // the rows of records, too.
    const isPaused = campaign.status === 'paused';
    if (isPaused) yield* calls.hold(campaignId);
    yield* calls.end(record.seq, sessionId, { dueMs: null, retried: record.retried, ...settlement });
    if (isPaused) yield* calls.finishPaused(campaignId);
  }
}
