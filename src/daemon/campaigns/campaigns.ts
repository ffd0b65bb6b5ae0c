import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../../base/clock.js';
import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type {
  CampaignRecordStore,
  PageOf,
  RecordStatus,
  StoredRecord,
  StoredRejection,
} from '../../store/campaign-records.js';
import type { CampaignChange, CampaignStatus, CampaignStore, StoredCampaign } from '../../store/campaigns.js';
import type { StoredCall } from '../../store/calls.js';
import type { PhoneStore } from '../../store/phones.js';
import type { AgentRegistry } from '../agents/agents.js';
import { CampaignRunner, type CampaignRunnerOptions } from './runner.js';
import { addRecords, readPhoneNumber, type RecordInput } from './upload.js';

export interface CampaignsOptions extends Pick<
  CampaignRunnerOptions,
  'campaigns' | 'records' | 'clock' | 'nowUnixMs' | 'dial' | 'endOf' | 'isOpen' | 'onError'
> {
  campaigns: CampaignStore;
  records: CampaignRecordStore;
  clock: Clock;
  phones: Pick<PhoneStore, 'get'>;
  agents: Pick<AgentRegistry, 'get'>;
  /** The operator's settings, which those of a campaign override. */
  schedule: CampaignSchedule;
}

/** The progress of a campaign. */
export interface CampaignProgress {
  status: CampaignStatus;
  /** Why it failed. */
  reason: string | null;
  records: Record<RecordStatus | 'rejected', number>;
  /** Calls in progress. */
  calls: number;
  /** When the next call is due, in milliseconds since 1970; null = unknown until something changes. */
  nextCallMs: number | null;
  /** Why it is not placed now, in a sentence; null = it is, or no call is left. */
  whyLater: string | null;
}

/** Records that one step deletes. */
const REMOVED_AT_ONCE = 250;

/** The daemon's campaigns: lists of people whom the agent of a number calls. */
export class Campaigns {
  readonly #options: CampaignsOptions;
  readonly #runner: CampaignRunner;
  readonly #feed: ProgressFeed<CampaignProgress>;
  /** Running uploads, by campaign. */
  readonly #filling = new Map<string, number>();

  constructor(options: CampaignsOptions) {
    this.#options = options;
    this.#feed = new ProgressFeed({ clock: options.clock, snapshot: (id) => this.#snapshot(id) });
    this.#runner = new CampaignRunner({
      ...options,
      scheduleOf: (campaign) => this.scheduleOf(campaign),
      isFilling: (id) => this.#filling.has(id),
      onChange: (id) => this.#feed.changed(id),
    });
  }

  /** Updates the records of calls that an earlier process placed. The log has closed these calls. */
  recover(): Promise<void> {
    return this.#runner.recover();
  }

  /** Resumes the campaigns that ran in an earlier process. */
  resume(): void {
    this.#runner.resume();
  }

  create(name: string): StoredCampaign {
    const campaign: StoredCampaign = {
      id: randomUUID(),
      name,
      status: 'idle',
      caller: null,
      includeMetadataInPrompt: false,
      overrides: {},
      reason: null,
      lastCallMs: null,
      createdAt: unixSeconds(this.#options.nowUnixMs()),
    };
    this.#options.campaigns.add(campaign);
    return campaign;
  }

  list(): StoredCampaign[] {
    return this.#options.campaigns.list();
  }

  /** @throws ParleyError NOT_FOUND */
  get(id: string): StoredCampaign {
    const campaign = this.#options.campaigns.get(id);
    if (campaign === null) throw new ParleyError('NOT_FOUND', { what: 'campaign', id });
    return campaign;
  }

  /** The schedule of a campaign: its own settings over the operator's. */
  scheduleOf({ overrides }: StoredCampaign): CampaignSchedule {
    return { ...this.#options.schedule, ...overrides };
  }

  /** @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED */
  change(id: string, change: Pick<CampaignChange, 'name' | 'includeMetadataInPrompt' | 'overrides'>): StoredCampaign {
    this.#changeable(id);
    const campaign = this.#changed(id, change);
    if (campaign.status === 'started' && change.overrides !== undefined) this.#runner.start(campaign);
    return campaign;
  }

  /** @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED, NUMBER_NOT_OWNED */
  async setCaller(id: string, phone: string): Promise<StoredCampaign> {
    const read = await readPhoneNumber(phone);
    const caller = 'number' in read ? read.number : phone;
    this.#changeable(id);
    if (this.#options.phones.get(caller) === null) throw new ParleyError('NUMBER_NOT_OWNED', { number: phone });
    return this.#changed(id, { caller });
  }

  /** Deletes a campaign in steps, with time for other work. @throws ParleyError NOT_FOUND, CAMPAIGN_RUNNING while it runs */
  async remove(id: string): Promise<void> {
    const { campaigns, records } = this.#options;
    const { name, status } = this.get(id);
    if (status === 'started' || this.#runner.calls(id) > 0)
      throw new ParleyError('CAMPAIGN_RUNNING', { campaign: name });
    campaigns.change(id, { status: 'finished' }); // it cannot start again
    while (records.removeSome(id, REMOVED_AT_ONCE)) await new Promise((resolve) => setImmediate(resolve));
    campaigns.remove(id);
    this.#feed.changed(id);
  }

  /** Starts or resumes a campaign. No effect if it runs already. @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED, CAMPAIGN_NOT_READY */
  start(id: string): StoredCampaign {
    const campaign = this.#changeable(id);
    if (campaign.status === 'started') return campaign;
    this.#checkReady(campaign);
    const started = this.#changed(id, { status: 'started', reason: null });
    this.#runner.start(started);
    return started;
  }

  /** Pauses a campaign. Calls in progress continue to their end. @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED */
  stop(id: string): StoredCampaign {
    const campaign = this.#changeable(id);
    if (campaign.status !== 'started') return campaign;
    this.#changed(id, { status: 'paused' });
    this.#runner.stop(id);
    return this.get(id);
  }

  /**
   * Adds the valid records, and lists the others with their faults.
   * @returns the number of refused records
   * @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED
   */
  async upload(id: string, records: readonly RecordInput[]): Promise<number> {
    const { nowUnixMs, records: store } = this.#options;
    this.#changeable(id);
    this.#filling.set(id, (this.#filling.get(id) ?? 0) + 1);
    try {
      return await addRecords(store, id, records, { nowUnixMs, mayGoOn: () => void this.#changeable(id) });
    } finally {
      const others = (this.#filling.get(id) ?? 0) - 1;
      if (others > 0) this.#filling.set(id, others);
      else this.#filling.delete(id);
      const campaign = this.#options.campaigns.get(id);
      if (campaign?.status === 'started') this.#runner.start(campaign);
      this.#feed.changed(id);
    }
  }

  /** @param status default all @throws ParleyError NOT_FOUND */
  records(id: string, page: Omit<PageOf, 'campaignId'>, status?: RecordStatus): StoredRecord[] {
    this.get(id);
    return this.#options.records.page({ ...page, campaignId: id }, status);
  }

  /** The latest 10,000 refused items of uploads. @throws ParleyError NOT_FOUND */
  rejections(id: string, page: Omit<PageOf, 'campaignId'>): StoredRejection[] {
    this.get(id);
    return this.#options.records.rejections({ ...page, campaignId: id });
  }

  /** @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED, RECORD_BEING_CALLED */
  async removeRecord(id: string, phone: string): Promise<void> {
    const { records } = this.#options;
    const read = await readPhoneNumber(phone);
    this.#changeable(id);
    const record: StoredRecord | null = records.get(id, 'number' in read ? read.number : phone);
    if (record === null) throw new ParleyError('NOT_FOUND', { what: 'record', id: phone });
    if (!records.remove(record.seq)) throw new ParleyError('RECORD_BEING_CALLED', { number: record.phone });
    this.#runner.reschedule();
    this.#feed.changed(id);
  }

  /** @throws ParleyError NOT_FOUND */
  progress(id: string): CampaignProgress {
    this.get(id);
    return this.#snapshot(id) as CampaignProgress;
  }

  /** @throws ParleyError NOT_FOUND */
  watch(id: string, listener: ProgressListener<CampaignProgress>): Cancel {
    this.get(id);
    return this.#feed.watch(id, listener);
  }

  /** Places no more calls. Calls that end after this count as interrupted. */
  shut(): void {
    this.#runner.shut();
    this.#feed.close();
  }

  /** Call this in the transaction that closes the call in the log. */
  callEnded({ sessionId, status, item }: StoredCall): void {
    this.#runner.callOver(sessionId, { status, error: item.error_message });
  }

  /** As `CampaignRunner.begin`. */
  begin(seq: number, sessionId: string): boolean {
    return this.#runner.begin(seq, sessionId);
  }

  /** Call this when the log will close no more calls. */
  close(): void {
    this.shut();
    this.#runner.close();
  }

  #changeable(id: string): StoredCampaign {
    const campaign = this.get(id);
    if (campaign.status === 'finished') throw new ParleyError('CAMPAIGN_FINISHED', { campaign: campaign.name });
    return campaign;
  }

  #changed(id: string, change: CampaignChange): StoredCampaign {
    const campaign = this.#options.campaigns.change(id, change);
    if (campaign === null) throw new ParleyError('NOT_FOUND', { what: 'campaign', id });
    this.#feed.changed(id);
    return campaign;
  }

  #checkReady({ id, name, caller }: StoredCampaign): void {
    const { agents, phones, records } = this.#options;
    const fail = (reason: string): never => {
      throw new ParleyError('CAMPAIGN_NOT_READY', { campaign: name, reason });
    };
    if (caller === null) return fail('it has no number to call with. Set one of your numbers as its caller');
    const phone = phones.get(caller);
    if (phone === null) return fail(`its caller ${caller} is none of our numbers any more. Set another one`);
    if (phone.status !== 'active') throw new ParleyError('NUMBER_INACTIVE', { number: caller });
    if (phone.agentId === null)
      return fail(`its caller ${caller} has no agent. Set the agent that answers this number`);
    const { config } = agents.get(phone.agentId);
    if (config.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    if (records.page({ campaignId: id, after: 0, limit: 1 }).length === 0) fail('it has no records');
  }

  #snapshot(id: string): CampaignProgress | null {
    const campaign = this.#options.campaigns.get(id);
    if (campaign === null) return null;
    return {
      status: campaign.status,
      reason: campaign.reason,
      records: this.#options.records.counts(id),
      calls: this.#runner.calls(id),
      nextCallMs: this.#runner.nextCallMs(id),
      whyLater: this.#runner.whyLater(id),
    };
  }
}

interface ProgressFeedOptions<T> {
  clock: Clock;
  /** The progress of a campaign; null = the campaign was deleted. */
  snapshot: (campaignId: string) => T | null;
}

/** Receives each new state of a campaign; null = the campaign was deleted, or the daemon closes. */
type ProgressListener<T> = (progress: T | null) => void;

/** Changes within this time are reported together. */
const APART_MS = 250;

interface Watched<T> {
  listeners: Set<ProgressListener<T>>;
  sent: string;
  lastMs: number;
  cancel: Cancel | null;
}

/** Reports the progress of campaigns to watchers. */
class ProgressFeed<T> {
  readonly #options: ProgressFeedOptions<T>;
  readonly #watched = new Map<string, Watched<T>>();

  constructor(options: ProgressFeedOptions<T>) {
    this.#options = options;
  }

  /** Reports changes only. Callers get the current state with `progress`. */
  watch(campaignId: string, listener: ProgressListener<T>): Cancel {
    const watched = this.#watched.get(campaignId) ?? {
      listeners: new Set(),
      sent: '',
      lastMs: -Infinity,
      cancel: null,
    };
    this.#watched.set(campaignId, watched);
    watched.listeners.add(listener);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size > 0) return;
      watched.cancel?.();
      if (this.#watched.get(campaignId) === watched) this.#watched.delete(campaignId);
    };
  }

  changed(campaignId: string): void {
    const { clock } = this.#options;
    const watched = this.#watched.get(campaignId);
    if (watched === undefined || watched.cancel !== null) return;
    watched.cancel = clock.schedule(Math.max(clock.nowMs(), watched.lastMs + APART_MS), () => {
      watched.cancel = null;
      watched.lastMs = clock.nowMs();
      this.#notify(campaignId, watched);
    });
  }

  /** Ends all watching. */
  close(): void {
    for (const watched of this.#watched.values()) {
      watched.cancel?.();
      for (const listener of Array.from(watched.listeners)) listener(null);
    }
    this.#watched.clear();
  }

  #notify(campaignId: string, { listeners, ...watched }: Watched<T>): void {
    const progress = this.#options.snapshot(campaignId);
    const text = JSON.stringify(progress);
    if (text === watched.sent) return;
    const kept = this.#watched.get(campaignId);
    if (kept !== undefined) kept.sent = text;
    for (const listener of Array.from(listeners)) listener(progress);
  }
}
