import type { Cancel, Clock } from '../../base/clock.js';
import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import type { CampaignRecordStore, StoredRecord } from '../../store/campaign-records.js';
import type { CampaignStore, StoredCampaign } from '../../store/campaigns.js';
import type { DialledCall, DialRequest } from '../calls/dial.js';
import { Scheduler } from './scheduler.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { InvalidConfigError } from '../../schema/issues.js';

/** What follows from a call that was not taken. */
export type Consequence =
  /** No campaign places a call for a while. `untilFree`: or until a call ends. */
  | { type: 'block'; forMs: number; untilFree: boolean }
  /** The record is called later. */
  | { type: 'postpone'; forMs: number }
  /** The record is not called, for good. */
  | { type: 'refuse'; reason: string }
  /** The campaign cannot call. `isFault`: because of a fault of parley's own. */
  | { type: 'fail'; reason: string; isFault: boolean };

/** The longest wait for a limit before it is checked again: others may have changed it. */
const LONGEST_BLOCK_S = 30;

/** @param error what `Dialer.dial` has thrown */
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
 * What a number is called again for: `failed` is what the network or the other side refused, `error` what broke off on
 * our side.
 */
export type RetryReason = 'busy' | 'noAnswer' | 'voicemail' | 'failed' | 'error';

/** How often a number has been called, and called again for each reason. */
export interface Tried {
  /** Calls placed, the one that is over included. */
  attempts: number;
  retried: Readonly<Partial<Record<RetryReason, number>>>;
}

/** What comes of a record when a call to it is over. */
export type Settlement =
  | { status: 'finished'; reason: string | null }
  | { status: 'failed'; reason: string }
  /** It is called again. */
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
 * @param error what went wrong, in words for people; null = the status says all
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
  // A mailbox that was reached is what the agent's voicemail settings made of it.
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

/** How a call ended, as the call log has it. */
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
  /** How a call ended that an earlier process placed; null where nothing is known of it. */
  endOf: (sessionId: string) => CallOver | null;
  scheduleOf: (campaign: StoredCampaign) => CampaignSchedule;
  /** False from when on the daemon takes no new calls. */
  isOpen: () => boolean;
  /** Whether more records are on their way to a campaign: it is not finished yet. */
  isFilling: (campaignId: string) => boolean;
  /** The state of a campaign has changed. */
  onChange: (campaignId: string) => void;
  /** Faults of parley itself. */
  onError: (error: Error) => void;
}

/** The longest sleep: the time of day may be set meanwhile. */
const LONGEST_WAIT_MS = 60_000;
/** How long after a call's end the log has it at the latest. */
const LOG_MS = 30_000;
/** Steps before other work runs. */
const STEPS = 20;
const STOPPED = 'the daemon stopped while the call went on';

/** While the agent was checked, the campaign stopped or its record was taken out. */
class RecordChanged extends Error {}

/** Places the calls that the scheduler decides on, one after the other, and writes down what comes of them. */
export class CampaignRunner {
  readonly #options: CampaignRunnerOptions;
  readonly #scheduler: Scheduler;
  /** Calls whose end is not written down, by session. */
  readonly #underWay = new Map<string, UnderWay>();
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
   * Settles what an earlier process left behind, before anything is started. A call that it placed counts, whatever
   * came of it: its row and the record's attempt were written together.
   */
  recover(): void {
    const { campaigns, records, endOf } = this.#options;
    for (const record of records.calling()) {
      const { sessionId } = record;
      const over = sessionId === null ? null : endOf(sessionId);
      this.#settle(record, sessionId ?? '', over ?? { status: 'error', error: STOPPED });
    }
    for (const { id } of campaigns.list()) this.#finishPaused(id);
  }

  /** Resumes the campaigns that ran in an earlier process. */
  resume(): void {
    for (const campaign of this.#options.campaigns.list()) if (campaign.status === 'started') this.start(campaign);
  }

  /** Also where it runs already and its schedule is another. */
  start(campaign: StoredCampaign): void {
    this.#scheduler.start(campaign.id, this.#options.scheduleOf(campaign), campaign.lastCallMs);
    this.reschedule();
  }

  /** Calls that are under way end by themselves. */
  stop(campaignId: string): void {
    this.#scheduler.stop(campaignId);
    this.#finishPaused(campaignId);
  }

  /** Calls of a campaign that are under way. */
  calls(campaignId: string): number {
    return this.#scheduler.calls(campaignId);
  }

  /** When its next call is due; null = that depends on what happens. */
  nextCallMs(campaignId: string): number | null {
    return this.#scheduler.nextCallMs(campaignId);
  }

  /** Why it does not place its next call now, for people; null = it does, or it has nobody to call. */
  whyLater(campaignId: string): string | null {
    return this.#scheduler.whyLater(campaignId);
  }

  /** Decides anew what is to be done. */
  reschedule(): void {
    this.#isRescheduled = true;
    if (!this.#isWorking) this.#arm(0);
  }

  /**
   * A call has ended. To be called in the transaction that closes its row in the log, so that record and log never
   * disagree. Calls that no campaign placed are ignored.
   */
  callOver(sessionId: string, over: CallOver): void {
    if (this.#underWay.has(sessionId)) this.#ended(sessionId, over);
  }

  /** Places no more calls; those that end from now on were cut off. */
  shut(): void {
    this.#closed = true;
    this.#cancelTimer();
  }

  /** What is not written down by now is settled at the next start. */
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

  /** Does what is to be done next. Returns how long there is nothing to do then; null = until something happens. */
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
        // What is on its way starts it again.
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
    const onReserved = ({ sessionId }: { sessionId: string }): void => {
      if (this.#closed || !this.#scheduler.isRunning(campaignId)) throw new RecordChanged();
      if (!records.begin(seq, sessionId, nowUnixMs())) throw new RecordChanged();
      reserved = sessionId;
      this.#underWay.set(sessionId, { seq, campaignId, cancel: () => undefined });
      this.#scheduler.began(campaignId, nowUnixMs());
    };
    try {
      const { sessionId, finished } = await dial({
        from: campaign.caller,
        to: record.phone,
        campaignId,
        metadata: record.metadata,
        onReserved,
        includeMetadataInPrompt: campaign.includeMetadataInPrompt,
      });
      this.#isFull = false;
      void finished.then((over) => this.#waitForLog(sessionId, over));
      onChange(campaignId);
    } catch (error) {
      if (reserved !== null && this.#underWay.delete(reserved)) this.#scheduler.ended(campaignId);
      if (!(error instanceof RecordChanged)) this.#refused(record, error);
    }
  }

  /** Waits for the log to have the end. Where it cannot be written, what the dialer knows is taken. */
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
    // Somebody waits for a free line.
    if (this.#isFull) this.#scheduler.block(0);
    try {
      const record = records.bySeq(seq);
      // What the shutdown has cut off was no end of a conversation.
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

  /** A campaign that was stopped is finished all the same when its last call has settled the last record. */
  #finishPaused(campaignId: string): void {
    const { campaigns, records, isFilling } = this.#options;
    if (campaigns.get(campaignId)?.status !== 'paused' || this.#scheduler.calls(campaignId) > 0) return;
    if (!isFilling(campaignId) && records.places(campaignId).length === 0) {
      campaigns.change(campaignId, { status: 'finished' });
    }
  }
}
