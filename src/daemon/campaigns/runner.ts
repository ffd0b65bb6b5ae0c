import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import type { CampaignCallStore, RecordClaim } from '../../store/campaign-calls.js';
import type { CampaignStore, StoredCampaign } from '../../store/campaigns.js';
import { type DialledCall, type DialRequest, RecordChanged } from '../calls/dial.js';
import { type CallOver, type CampaignCalls, STOPPED } from './campaign-calls.js';
import { Scheduler } from './scheduler.js';

/** The consequence of a refused call. */
export type Consequence =
  /** All campaigns pause on this node for a while. `untilFree`: or until a call ends. */
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
    case 'DATABASE_UNREACHABLE':
    case 'NODE_DISOWNED':
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

export interface CampaignRunnerOptions {
  clock: Clock;
  campaigns: CampaignStore;
  /** The store of calls, and what the transactions of calls do with records. */
  calls: CampaignCallStore;
  parts: CampaignCalls;
  /** As `Dialer.dial`. */
  dial: (request: DialRequest) => Promise<DialledCall>;
  /** The end of a call that another process placed; null = unknown, `open` = the log has not closed it. */
  endOf: (sessionId: string) => Promise<CallOver | 'open' | null>;
  scheduleOf: (campaign: StoredCampaign) => CampaignSchedule;
  /** False once the daemon refuses new calls. */
  isOpen: () => boolean;
  /** How often to look for what other nodes have changed, ms; null = there are none. */
  pollMs: number | null;
  /** Called when the state of a campaign changes. */
  onChange: (campaignId: string) => void;
  /** Called with internal faults of parley. */
  onError: (error: Error) => void;
}

/** The longest wait, because the system clock may be changed in between. */
const LONGEST_WAIT_MS = 60_000;
/** Until the next attempt while the database cannot be reached. */
const UNREACHABLE_MS = 5_000;
/** The longest time from the end of a call to its end in the log. */
const LOG_MS = 30_000;
/** Steps in a row before other work gets its turn. */
const STEPS = 20;

interface UnderWay {
  campaignId: string;
  cancel: Cancel;
}

/** Places calls of campaigns one after the other, on each node. */
export class CampaignRunner {
  readonly #options: CampaignRunnerOptions;
  readonly #scheduler: Scheduler;
  /** Calls of this node whose end is not stored yet, by session. */
  readonly #underWay = new Map<string, UnderWay>();
  /** What has to end before the database closes. */
  readonly #running = new Set<Promise<void>>();
  #cancelTimer: Cancel = () => undefined;
  #isResumed = false;
  #isWorking = false;
  #isRescheduled = false;
  #isFull = false;
  #isUnreachable = false;
  #closed = false;

  constructor(options: CampaignRunnerOptions) {
    this.#options = options;
    this.#scheduler = new Scheduler(options);
  }

  /**
   * Settles the records whose calls a dead process has placed, and gives back what it has claimed. The log has closed
   * these calls. Each counts as an attempt, because one transaction wrote the call and the attempt.
   * @param node null = every process but this one has died
   */
  async recover(node: string | null): Promise<void> {
    const { campaigns, calls, parts, endOf, onChange } = this.#options;
    const records = await calls.calling(node);
    for (const { campaignId, sessionId } of records) {
      const over = (sessionId === null ? null : await endOf(sessionId)) ?? STOPPED;
      // Its record is settled when the log closes it.
      if (over === 'open') continue;
      await calls.transaction(function* () {
        const nowMs = (yield* calls.nowUs()) / 1000;
        yield* parts.settle(campaignId, sessionId ?? '', over, nowMs);
      });
    }
    await calls.releaseAll(node);
    for (const { id, status } of await campaigns.list()) if (status === 'paused') await this.#finish(id, status);
    for (const { campaignId } of records) onChange(campaignId);
    this.reschedule();
  }

  /** Starts to place the calls of started campaigns. */
  resume(): void {
    this.#isResumed = true;
    this.reschedule();
  }

  /** Call it when a campaign has been paused. Calls in progress continue to their end. */
  async stopped(campaignId: string): Promise<void> {
    this.#scheduler.forget(campaignId);
    await this.#finish(campaignId, 'paused');
  }

  /** When its next call is due; null = unknown until something changes. */
  nextCallMs(campaignId: string): number | null {
    return this.#scheduler.nextCallMs(campaignId);
  }

  /** Why it does not place its next call now, for people; null = it does, or no call is left. */
  whyLater(campaignId: string): string | null {
    return this.#scheduler.whyLater(campaignId);
  }

  /** A session is free for those who wait for one. */
  freed(): void {
    if (this.#isFull) this.#scheduler.block(0);
    this.reschedule();
  }

  /** Makes the scheduler decide again. */
  reschedule(): void {
    this.#isRescheduled = true;
    if (!this.#isWorking) this.#arm(0);
  }

  /** Call this after the log has closed a call of a campaign, and its record is settled. */
  callEnded(sessionId: string, campaignId: string): void {
    const call = this.#underWay.get(sessionId);
    call?.cancel();
    this.#underWay.delete(sessionId);
    // A campaign waits for a free line.
    if (this.#isFull) this.#scheduler.block(0);
    this.#options.onChange(campaignId);
    this.reschedule();
  }

  /** Places no more calls. Calls that end after this count as interrupted. */
  shut(): void {
    this.#closed = true;
    this.#options.parts.shut();
    this.#cancelTimer();
  }

  /** Waits for what is under way. The next start stores the results that are missing. */
  async close(): Promise<void> {
    this.shut();
    for (const { cancel } of this.#underWay.values()) cancel();
    this.#underWay.clear();
    await Promise.all(this.#running);
  }

  #arm(inMs: number): void {
    const { clock } = this.#options;
    this.#cancelTimer();
    if (this.#closed || !this.#isResumed) return;
    this.#cancelTimer = clock.schedule(clock.nowMs() + inMs, () => this.#do(() => this.#work()));
  }

  /** Runs work that has to end before the database closes. */
  #do(work: () => Promise<void>): void {
    const done = work()
      .catch((error: unknown) => this.#options.onError(errorOf(error)))
      .finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  async #work(): Promise<void> {
    if (this.#closed || this.#isWorking) return;
    this.#isWorking = true;
    this.#isRescheduled = false;
    let waitMs: number | null = 0;
    try {
      for (let step = 0; step < STEPS && waitMs === 0; step++) waitMs = await this.#step();
      this.#isUnreachable = false;
    } catch (error) {
      waitMs = this.#failed(error);
    }
    this.#isWorking = false;
    if (this.#isRescheduled) waitMs = 0;
    const most = this.#options.pollMs ?? LONGEST_WAIT_MS;
    if (waitMs !== null || this.#options.pollMs !== null) this.#arm(Math.min(waitMs ?? most, most));
  }

  /** Returns the time until the next attempt. */
  #failed(error: unknown): number {
    const isUnreachable = error instanceof ParleyError && error.code === 'DATABASE_UNREACHABLE';
    // Once for each time without the database.
    if (!isUnreachable || !this.#isUnreachable) this.#options.onError(errorOf(error));
    this.#isUnreachable = isUnreachable;
    return isUnreachable ? UNREACHABLE_MS : LONGEST_WAIT_MS;
  }

  /** Does the next step. Returns the time until the following one; null = until something changes. */
  async #step(): Promise<number | null> {
    const { isOpen, onChange } = this.#options;
    if (this.#closed || !isOpen()) return null;
    const decision = await this.#scheduler.next();
    switch (decision.type) {
      case 'call':
        await this.#call(decision.campaign, decision.claim);
        return 0;
      case 'refused':
        onChange(decision.campaignId);
        return 0;
      case 'finish':
        await this.#finish(decision.campaignId, 'started');
        return 0;
      case 'again':
        return 0;
      case 'wait':
        return decision.forMs;
    }
  }

  async #call(campaign: StoredCampaign, claim: RecordClaim): Promise<void> {
    const { calls, dial, onChange } = this.#options;
    const { id: campaignId, caller, agentVersion, includeMetadataInPrompt } = campaign;
    if (caller === null) return this.#fail(campaignId, claim, 'no caller');
    const { seq, phone, metadata } = claim.record;
    try {
      const { sessionId, finished } = await dial({
        from: caller,
        to: phone,
        campaignId,
        agentVersion,
        metadata,
        record: { seq },
        includeMetadataInPrompt,
      });
      this.#isFull = false;
      this.#underWay.set(sessionId, { campaignId, cancel: () => undefined });
      void finished.then((over) => this.#waitForLog(sessionId, over));
      onChange(campaignId);
    } catch (error) {
      if (error instanceof RecordChanged) await calls.release(claim);
      else await this.#refused(claim, error);
    }
  }

  /** Waits until the log has the end of the call. If the log cannot be written, uses the dialer's result. */
  #waitForLog(sessionId: string, over: CallOver): void {
    const { clock, calls, parts } = this.#options;
    const call = this.#underWay.get(sessionId);
    if (call === undefined || this.#closed) return;
    call.cancel = clock.schedule(clock.nowMs() + LOG_MS, () =>
      this.#do(async () => {
        await calls.transaction(function* () {
          yield* parts.settle(call.campaignId, sessionId, over, (yield* calls.nowUs()) / 1000);
        });
        this.callEnded(sessionId, call.campaignId);
      }),
    );
  }

  async #refused(claim: RecordClaim, error: unknown): Promise<void> {
    const { calls, onChange, onError } = this.#options;
    const { campaignId } = claim.record;
    const found = consequenceOf(error);
    switch (found.type) {
      case 'block':
        this.#scheduler.block(found.forMs);
        this.#isFull = found.untilFree;
        await calls.release(claim);
        break;
      case 'postpone':
        await calls.postpone(claim, found.forMs);
        break;
      case 'refuse':
        await calls.refuse(claim, found.reason);
        break;
      case 'fail':
        if (found.isFault) onError(errorOf(error));
        await this.#fail(campaignId, claim, found.reason);
    }
    onChange(campaignId);
  }

  async #fail(campaignId: string, claim: RecordClaim, reason: string): Promise<void> {
    const { calls, campaigns } = this.#options;
    this.#scheduler.forget(campaignId);
    await campaigns.change(campaignId, { status: 'failed', reason }, ['started']);
    await calls.release(claim);
  }

  /** Finishes a campaign whose records all have their final state. */
  async #finish(campaignId: string, status: 'started' | 'paused'): Promise<void> {
    const { campaigns, onChange } = this.#options;
    if (!(await campaigns.finish(campaignId, status))) return;
    this.#scheduler.forget(campaignId);
    onChange(campaignId);
  }
}
