import type { Cancel, Clock } from '../../base/clock.js';
import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import type { CampaignRecordStore, StoredRecord } from '../../store/campaign-records.js';
import type { CampaignStore, StoredCampaign } from '../../store/campaigns.js';
import { type DialledCall, type DialRequest, RecordChanged } from '../calls/dial.js';
import { Scheduler } from './scheduler.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { InvalidConfigError } from '../../schema/issues.js';

/** The consequence of a refused call. */
export type Consequence =
  /** All campaigns pause for a while. `untilFree`: or until a call ends. */
  | { type: 'block'; forMs: number; untilFree: boolean }
  /** The record gets a call later. */
  | { type: 'postpone'; forMs: number }
  /** The record fails and gets no more calls. */
  | { type: 'refuse'; reason: string }
  /** The campaign fails. `isFault`: because of an internal fault of parley. */
  | { type: 'fail'; reason: string; isFault: boolean };

/** The longest wait before a limit is checked again. Other callers may have freed it. */
const LONGEST_BLOCK_S = 30;

/** @param error from `Dialer.dial` */
export function consequenceOf(error: unknown): Consequence {
  if (error instanceof InvalidConfigError) {
    const isNumber = error.issues.every(({ loc }) => loc[1] === 'to_phone');
    const reason = error.issues.map(({ msg }) => msg).join('; ');
    return isNumber
      ? { type: 'refuse', reason }
      : { type: 'fail', reason: `its agent cannot call: ${reason}`, isFault: false };
  }
  if (!(error instanceof ParleyError)) return { type: 'fail', reason: `a fault: ${reasonOf(error)}`, isFault: true };
  const retryAfterS = error.details['retryAfterS'];
  const afterS = typeof retryAfterS === 'number' ? retryAfterS : 5;
  switch (error.code) {
    case 'LIMIT_DESTINATION_PER_MINUTE':
    case 'LIMIT_DESTINATION_PER_DAY':
      return { type: 'postpone', forMs: afterS * 1000 };
    case 'LIMIT_CONCURRENT_CALLS':
    case 'SESSIONS_FULL':
      return { type: 'block', forMs: Math.min(afterS, LONGEST_BLOCK_S) * 1000, untilFree: true };
    case 'LIMIT_CALLS_PER_MINUTE':
    case 'LIMIT_MINUTES_PER_DAY':
    case 'CALLS_STOPPED':
    case 'DAEMON_DRAINING':
      return { type: 'block', forMs: Math.min(afterS, LONGEST_BLOCK_S) * 1000, untilFree: false };
    case 'DO_NOT_CALL':
    case 'CALL_FORBIDDEN':
    case 'CALL_NOT_ALLOWED':
    case 'NUMBER_INVALID':
      return { type: 'refuse', reason: error.message };
    default:
      return { type: 'fail', reason: error.message, isFault: false };
  }
}

/**
 * Why a number gets another call. `failed`: the network or the other party refused the call. `error`: the call failed on
 * our side.
 */
export type RetryReason = 'busy' | 'noAnswer' | 'voicemail' | 'failed' | 'error';

/** The number of calls, and of repeated calls by reason. */
export interface Tried {
  /** Calls so far, including the one that has ended. */
  attempts: number;
  retried: Readonly<Partial<Record<RetryReason, number>>>;
}

/** The state of a record after a call. */
export type Settlement =
  | { status: 'finished'; reason: string | null }
  | { status: 'failed'; reason: string }
  /** Another call follows. */
  | { status: 'started'; dueMs: number; retried: Tried['retried']; reason: string };

const WAITS = {
  busy: 'retryBusyS',
  noAnswer: 'retryNoAnswerS',
  voicemail: 'retryVoicemailS',
  failed: 'retryFailedS',
  error: 'retryErrorS',
} as const satisfies Record<RetryReason, keyof CampaignSchedule>;

/**
 * @param callStatus how the call ended
 * @param error a sentence about the failure; null = the status says it
 * @param nowMs milliseconds since 1970, as `dueMs`
 */
export function settle(
  tried: Tried,
  { callStatus, error }: { callStatus: string; error: string | null },
  schedule: CampaignSchedule,
  nowMs: number,
): Settlement {
  const reason = error === null ? callStatus : `${callStatus}: ${error}`;
  if (callStatus === 'canceled') return { status: 'failed', reason };
  const why = retryReason(callStatus);
  if (why === null) return { status: 'finished', reason: null };
  const times = tried.retried[why] ?? 0;
  const waitS = schedule[WAITS[why]][times];
  if (waitS !== undefined && tried.attempts < schedule.maxAttempts) {
    return { status: 'started', dueMs: nowMs + waitS * 1000, retried: { ...tried.retried, [why]: times + 1 }, reason };
  }
  // The agent's voicemail settings have handled the mailbox, so the record is finished.
  return why === 'voicemail' ? { status: 'finished', reason } : { status: 'failed', reason };
}

function retryReason(callStatus: string): RetryReason | null {
  switch (callStatus) {
    case 'busy':
    case 'failed':
    case 'error':
      return callStatus;
    case 'no-answer':
      return 'noAnswer';
    case 'voicemail-hangup':
      return 'voicemail';
    default:
      return null;
  }
}

/** The end of a call in the call log. */
export interface CallOver {
  status: string;
  error: string | null;
}

interface UnderWay {
  seq: number;
  campaignId: string;
  cancel: Cancel;
}

export interface CampaignRunnerOptions {
  clock: Clock;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  campaigns: CampaignStore;
  records: CampaignRecordStore;
  /** As `Dialer.dial`. */
  dial: (request: DialRequest) => Promise<DialledCall>;
  /** The end of a call that an earlier process placed; null = unknown. */
  endOf: (sessionId: string) => Promise<CallOver | null>;
  scheduleOf: (campaign: StoredCampaign) => CampaignSchedule;
  /** False once the daemon refuses new calls. */
  isOpen: () => boolean;
  /** Whether an upload to the campaign is running, so that the campaign cannot finish yet. */
  isFilling: (campaignId: string) => boolean;
  /** Called when the state of a campaign changes. */
  onChange: (campaignId: string) => void;
  /** Called with internal faults of parley. */
  onError: (error: Error) => void;
}

/** The longest wait, because the system clock may be changed in between. */
const LONGEST_WAIT_MS = 60_000;
/** The longest time from the end of a call to its end in the log. */
const LOG_MS = 30_000;
/** Steps in a row before other work gets its turn. */
const STEPS = 20;
const STOPPED = 'the daemon stopped while the call went on';

/** Places the calls of the scheduler one after the other, and stores their results. */
export class CampaignRunner {
  readonly #options: CampaignRunnerOptions;
  readonly #scheduler: Scheduler;
  /** Calls whose end is not stored yet, by session. */
  readonly #underWay = new Map<string, UnderWay>();
  /** Records whose calls are about to be accepted. */
  readonly #placing = new Map<number, (sessionId: string) => boolean>();
  #cancelTimer: Cancel = () => undefined;
  #isWorking = false;
  #isRescheduled = false;
  #isFull = false;
  #closed = false;

  constructor(options: CampaignRunnerOptions) {
    this.#options = options;
    this.#scheduler = new Scheduler(options.records);
  }

  /**
   * Updates the records of an earlier process before any campaign starts. Each of its calls counts as an attempt,
   * because one transaction wrote the call and the attempt.
   */
  async recover(): Promise<void> {
    const { campaigns, records, endOf } = this.#options;
    for (const record of records.calling()) {
      const { sessionId } = record;
      const over = sessionId === null ? null : await endOf(sessionId);
      this.#settle(record, sessionId ?? '', over ?? { status: 'error', error: STOPPED });
    }
    for (const { id } of campaigns.list()) this.#finishPaused(id);
  }

  /** Resumes the campaigns that ran in an earlier process. */
  resume(): void {
    for (const campaign of this.#options.campaigns.list()) if (campaign.status === 'started') this.start(campaign);
  }

  /** Starts a campaign, or updates the schedule of a running one. */
  start(campaign: StoredCampaign): void {
    this.#scheduler.start(campaign.id, this.#options.scheduleOf(campaign), campaign.lastCallMs);
    this.reschedule();
  }

  /** Stops a campaign. Calls in progress continue to their end. */
  stop(campaignId: string): void {
    this.#scheduler.stop(campaignId);
    this.#finishPaused(campaignId);
  }

  /** The number of a campaign's calls in progress. */
  calls(campaignId: string): number {
    return this.#scheduler.calls(campaignId);
  }

  /** When its next call is due; null = unknown until something changes. */
  nextCallMs(campaignId: string): number | null {
    return this.#scheduler.nextCallMs(campaignId);
  }

  /** Why it does not place its next call now, for people; null = it does, or no call is left. */
  whyLater(campaignId: string): string | null {
    return this.#scheduler.whyLater(campaignId);
  }

  /** Makes the scheduler decide again. */
  reschedule(): void {
    this.#isRescheduled = true;
    if (!this.#isWorking) this.#arm(0);
  }

  /**
   * Call this in the transaction that closes a call in the log, so that the record and the log always agree. It ignores
   * calls that no campaign placed.
   */
  callOver(sessionId: string, over: CallOver): void {
    if (this.#underWay.has(sessionId)) this.#ended(sessionId, over);
  }

  /** Call this in the transaction that places a record's call. Returns false if it may not be called any more. */
  begin(seq: number, sessionId: string): boolean {
    return this.#placing.get(seq)?.(sessionId) ?? false;
  }

  /** Places no more calls. Calls that end after this count as interrupted. */
  shut(): void {
    this.#closed = true;
    this.#cancelTimer();
  }

  /** Waits for the last results. The next start stores those that are missing. */
  close(): void {
    this.shut();
    for (const { cancel } of this.#underWay.values()) cancel();
    this.#underWay.clear();
  }

  #arm(inMs: number): void {
    const { clock } = this.#options;
    this.#cancelTimer();
    if (!this.#closed) this.#cancelTimer = clock.schedule(clock.nowMs() + inMs, () => void this.#work());
  }

  async #work(): Promise<void> {
    if (this.#closed || this.#isWorking) return;
    this.#isWorking = true;
    this.#isRescheduled = false;
    let waitMs: number | null = 0;
    try {
      for (let step = 0; step < STEPS && waitMs === 0; step++) waitMs = await this.#step();
    } catch (error) {
      this.#options.onError(errorOf(error));
      waitMs = LONGEST_WAIT_MS;
    }
    this.#isWorking = false;
    if (this.#isRescheduled) waitMs = 0;
    if (waitMs !== null) this.#arm(Math.min(waitMs, LONGEST_WAIT_MS));
  }

  /** Does the next step. Returns the time until the following one; null = until something changes. */
  async #step(): Promise<number | null> {
    const { nowUnixMs, isOpen, isFilling, records, campaigns, onChange } = this.#options;
    if (this.#closed || !isOpen()) return null;
    const decision = this.#scheduler.next(nowUnixMs());
    switch (decision.type) {
      case 'call':
        await this.#call(decision.campaignId, decision.record.seq);
        return 0;
      case 'refuse':
        records.refusePlace(decision.campaignId, decision.place, decision.reason);
        onChange(decision.campaignId);
        return 0;
      case 'finish':
        this.#scheduler.stop(decision.campaignId);
        // The end of the running upload starts it again.
        if (isFilling(decision.campaignId)) return 0;
        campaigns.change(decision.campaignId, { status: 'finished' });
        onChange(decision.campaignId);
        return 0;
      case 'wait':
        return decision.untilMs === null ? null : Math.max(1, decision.untilMs - nowUnixMs());
    }
  }

  async #call(campaignId: string, seq: number): Promise<void> {
    const { campaigns, records, dial, nowUnixMs, onChange } = this.#options;
    const campaign = campaigns.get(campaignId);
    const record = records.bySeq(seq);
    if (campaign === null || campaign.caller === null || record === null) return this.#fail(campaignId, 'no caller');
    let reserved: string | null = null;
    this.#placing.set(seq, (sessionId) => {
      if (this.#closed || !this.#scheduler.isRunning(campaignId)) return false;
      if (!records.begin(seq, sessionId, nowUnixMs())) return false;
      reserved = sessionId;
      this.#underWay.set(sessionId, { seq, campaignId, cancel: () => undefined });
      this.#scheduler.began(campaignId, nowUnixMs());
      return true;
    });
    try {
      const { sessionId, finished } = await dial({
        from: campaign.caller,
        to: record.phone,
        campaignId,
        metadata: record.metadata,
        record: { seq },
        includeMetadataInPrompt: campaign.includeMetadataInPrompt,
      });
      this.#isFull = false;
      void finished.then((over) => this.#waitForLog(sessionId, over));
      onChange(campaignId);
    } catch (error) {
      if (reserved !== null && this.#underWay.delete(reserved)) this.#scheduler.ended(campaignId);
      if (!(error instanceof RecordChanged)) this.#refused(record, error);
    } finally {
      this.#placing.delete(seq);
    }
  }

  /** Waits until the log has the end of the call. If the log cannot be written, uses the dialer's result. */
  #waitForLog(sessionId: string, over: CallOver): void {
    const { clock } = this.#options;
    const call = this.#underWay.get(sessionId);
    if (call === undefined) return;
    call.cancel = clock.schedule(clock.nowMs() + LOG_MS, () => this.callOver(sessionId, over));
  }

  #refused(record: StoredRecord, error: unknown): void {
    const { records, nowUnixMs, onChange, onError } = this.#options;
    const found = consequenceOf(error);
    switch (found.type) {
      case 'block':
        this.#scheduler.block(nowUnixMs() + found.forMs);
        this.#isFull = found.untilFree;
        break;
      case 'postpone':
        records.postpone(record.seq, nowUnixMs() + found.forMs);
        break;
      case 'refuse':
        records.refuse(record.seq, found.reason);
        break;
      case 'fail':
        if (found.isFault) onError(errorOf(error));
        this.#fail(record.campaignId, found.reason);
    }
    onChange(record.campaignId);
  }

  #fail(campaignId: string, reason: string): void {
    this.#scheduler.stop(campaignId);
    this.#options.campaigns.change(campaignId, { status: 'failed', reason });
  }

  #ended(sessionId: string, over: CallOver): void {
    const { records, onError, onChange } = this.#options;
    const call = this.#underWay.get(sessionId);
    if (call === undefined) return;
    const { seq, campaignId, cancel } = call;
    cancel();
    this.#underWay.delete(sessionId);
    this.#scheduler.ended(campaignId);
    // A campaign waits for a free line.
    if (this.#isFull) this.#scheduler.block(0);
    try {
      const record = records.bySeq(seq);
      // The shutdown interrupted the call, so its status is not a result.
      const isCut = this.#closed && (over.status === 'api-ended' || over.status === 'canceled');
      if (record !== null) this.#settle(record, sessionId, isCut ? { status: 'error', error: STOPPED } : over);
      this.#finishPaused(campaignId);
    } catch (error) {
      onError(errorOf(error));
    }
    onChange(campaignId);
    this.reschedule();
  }

  #settle(record: StoredRecord, sessionId: string, { status, error }: CallOver): void {
    const { campaigns, records, scheduleOf, nowUnixMs } = this.#options;
    const campaign = campaigns.get(record.campaignId);
    if (campaign === null) return;
    const tried = { attempts: record.attempts, retried: record.retried };
    const settlement = settle(tried, { callStatus: status, error }, scheduleOf(campaign), nowUnixMs());
    records.end(record.seq, sessionId, { dueMs: null, retried: record.retried, ...settlement });
  }

  /** A paused campaign also finishes when its last call gives the last record its final state. */
  #finishPaused(campaignId: string): void {
    const { campaigns, records, isFilling } = this.#options;
    if (campaigns.get(campaignId)?.status !== 'paused' || this.#scheduler.calls(campaignId) > 0) return;
    if (!isFilling(campaignId) && records.places(campaignId).length === 0) {
      campaigns.change(campaignId, { status: 'finished' });
    }
  }
}
