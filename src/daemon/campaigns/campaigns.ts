import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import type { CampaignCallStore } from '../../store/campaign-calls.js';
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
import type { VersionPin } from '../../store/agents.js';
import { ProgressFeed, type ProgressListener } from './progress-feed.js';
import { CampaignRunner, type CampaignRunnerOptions } from './runner.js';
import { mayCall } from './scheduler.js';
import { addRecords, readPhoneNumber, type RecordInput } from './upload.js';

export interface CampaignsOptions extends Pick<
  CampaignRunnerOptions,
  'dial' | 'endOf' | 'isOpen' | 'onError' | 'parts' | 'scheduleOf' | 'pollMs'
> {
  campaigns: CampaignStore;
  records: CampaignRecordStore;
  calls: CampaignCallStore;
  clock: Clock;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  phones: Pick<PhoneStore, 'get'>;
  agents: Pick<AgentRegistry, 'get' | 'kept'>;
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

  constructor(options: CampaignsOptions) {
    this.#options = options;
    const { clock, pollMs, onError } = options;
    this.#feed = new ProgressFeed({ clock, pollMs, onError, snapshot: (id) => this.#snapshot(id) });
    this.#runner = new CampaignRunner({ ...options, onChange: (id) => this.#feed.changed(id) });
  }

  /** Updates the records of calls that an earlier process placed. The log has closed these calls. */
  async recover(): Promise<void> {
    await this.#options.records.endUploads();
    await this.#runner.recover(null);
  }

  /** Updates the records of calls that a dead node placed. The log has closed these calls. */
  async recoverOf(node: string): Promise<void> {
    await this.#runner.recover(node);
  }

  /** Calls for the campaigns that run. */
  resume(): void {
    this.#runner.resume();
  }

  /** Call it when another node has changed a campaign. */
  changedElsewhere(): void {
    this.#feed.changedAll();
    this.#runner.reschedule();
  }

  async create(name: string): Promise<StoredCampaign> {
    const campaign: StoredCampaign = {
      id: randomUUID(),
      name,
      status: 'idle',
      caller: null,
      agentVersion: null,
      includeMetadataInPrompt: false,
      overrides: {},
      reason: null,
      lastCallMs: null,
      createdAt: unixSeconds(this.#options.nowUnixMs()),
    };
    await this.#options.campaigns.add(campaign);
    return campaign;
  }

  list(): Promise<StoredCampaign[]> {
    return this.#options.campaigns.list();
  }

  /** @throws ParleyError NOT_FOUND */
  async get(id: string): Promise<StoredCampaign> {
    const campaign = await this.#options.campaigns.get(id);
    if (campaign === null) throw new ParleyError('NOT_FOUND', { what: 'campaign', id });
    return campaign;
  }

  /** The schedule of a campaign: its own settings over the operator's. */
  scheduleOf(campaign: StoredCampaign): CampaignSchedule {
    return this.#options.scheduleOf(campaign);
  }

  /** @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED */
  async change(
    id: string,
    change: Pick<CampaignChange, 'name' | 'includeMetadataInPrompt' | 'overrides'>,
  ): Promise<StoredCampaign> {
    const campaign = await this.#changed(id, change);
    if (campaign.status === 'started' && change.overrides !== undefined) this.#runner.reschedule();
    return campaign;
  }

  /**
   * @param agentVersion of the number's agent; null = as all other calls of the number
   * @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED, NUMBER_NOT_OWNED
   */
  async setCaller(id: string, phone: string, agentVersion: VersionPin | null = null): Promise<StoredCampaign> {
    const read = await readPhoneNumber(phone);
    const caller = 'number' in read ? read.number : phone;
    await this.#changeable(id);
    const { agents, phones } = this.#options;
    const agentId = phones.get(caller)?.agentId;
    if (agentId === undefined) throw new ParleyError('NUMBER_NOT_OWNED', { number: phone });
    if (typeof agentVersion === 'number' && agentId !== null) await agents.kept(agentId, agentVersion);
    return this.#changed(id, { caller, agentVersion });
  }

  /** Deletes a campaign in steps, with time for other work. @throws ParleyError NOT_FOUND, CAMPAIGN_RUNNING while it runs */
  async remove(id: string): Promise<void> {
    const { campaigns, records } = this.#options;
    const { name } = await this.get(id);
    // It cannot start again.
    if (!(await campaigns.retire(id))) throw new ParleyError('CAMPAIGN_RUNNING', { campaign: name });
    while (await records.removeSome(id, REMOVED_AT_ONCE)) await new Promise((resolve) => setImmediate(resolve));
    await campaigns.remove(id);
    this.#feed.changed(id);
  }

  /** Starts or resumes a campaign. No effect if it runs already. @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED, CAMPAIGN_NOT_READY */
  async start(id: string): Promise<StoredCampaign> {
    const campaign = await this.#changeable(id);
    if (campaign.status === 'started') return campaign;
    await this.#checkReady(campaign);
    const started = await this.#changed(id, { status: 'started', reason: null });
    this.#runner.resume();
    return started;
  }

  /** Pauses a campaign. Calls in progress continue to their end. @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED */
  async stop(id: string): Promise<StoredCampaign> {
    const { campaigns } = this.#options;
    const paused = await campaigns.change(id, { status: 'paused' }, ['started']);
    if (paused === null) return this.#changeable(id);
    await this.#runner.stopped(id);
    this.#feed.changed(id);
    return this.get(id);
  }

  /**
   * Adds the valid records, and lists the others with their faults.
   * @returns the number of refused records
   * @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED
   */
  async upload(id: string, records: readonly RecordInput[]): Promise<number> {
    const { nowUnixMs, records: store, onError } = this.#options;
    const upload = randomUUID();
    if (!(await store.beginUpload(upload, id))) await this.#changeable(id);
    try {
      const refused = await addRecords({ store, campaignId: id, upload, nowUnixMs }, records);
      if (refused === null) await this.#changeable(id);
      return refused ?? records.length;
    } finally {
      // It ends by itself after a while.
      await store.endUpload(upload).catch((error: unknown) => onError(errorOf(error)));
      this.#runner.reschedule();
      this.#feed.changed(id);
    }
  }

  /**
   * Adds a record that is called soon, and starts its campaign if it has never run. A campaign that has finished is
   * replaced by one of the same name.
   * @param wanted null = the campaign with this name
   * @returns the campaign, and whether it may call the number now
   * @throws ParleyError NOT_FOUND, NUMBER_NOT_OWNED, CAMPAIGN_NOT_READY, RECORD_BEING_CALLED, NUMBER_INVALID
   */
  async callSoon(
    wanted: string | null,
    {
      name,
      caller,
      to,
      metadata,
    }: { name: string; caller: string; to: string; metadata: Readonly<Record<string, unknown>> },
  ): Promise<{ campaignId: string; isDue: boolean }> {
    const { records, nowUnixMs } = this.#options;
    const campaign = await this.#taking(wanted, name, caller);
    const { id } = campaign;
    const known = await records.get(id, to);
    if (known !== null && (known.status === 'finished' || known.status === 'failed')) await this.removeRecord(id, to);
    const isNew = known === null || known.status === 'finished' || known.status === 'failed';
    if (isNew && (await this.upload(id, [{ phone: to, metadata }])) > 0) {
      throw new ParleyError('NUMBER_INVALID', { number: to });
    }
    if (campaign.status === 'idle') await this.start(id);
    const { status, lastCallMs } = await this.get(id);
    const record = await records.get(id, to);
    const isDue = record !== null && mayCall(this.scheduleOf(campaign), lastCallMs, record.place, nowUnixMs());
    return { campaignId: id, isDue: isDue && status === 'started' };
  }

  /** A session is free: campaigns that wait for one try again. */
  wake(): void {
    this.#runner.freed();
  }

  /** A campaign that takes records. */
  async #taking(wanted: string | null, name: string, caller: string): Promise<StoredCampaign> {
    const asked = wanted === null ? null : await this.get(wanted);
    if (asked !== null && asked.status !== 'finished') return asked;
    const takes = (one: StoredCampaign): boolean =>
      one.name === name && one.caller === caller && one.status !== 'finished';
    const known = (await this.list()).findLast(takes);
    return known ?? this.setCaller((await this.create(name)).id, asked?.caller ?? caller);
  }

  /** @param status default all @throws ParleyError NOT_FOUND */
  async records(id: string, page: Omit<PageOf, 'campaignId'>, status?: RecordStatus): Promise<StoredRecord[]> {
    await this.get(id);
    return this.#options.records.page({ ...page, campaignId: id }, status);
  }

  /** The latest 10,000 refused items of uploads. @throws ParleyError NOT_FOUND */
  async rejections(id: string, page: Omit<PageOf, 'campaignId'>): Promise<StoredRejection[]> {
    await this.get(id);
    return this.#options.records.rejections({ ...page, campaignId: id });
  }

  /** @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED, RECORD_BEING_CALLED */
  async removeRecord(id: string, phone: string): Promise<void> {
    const { records } = this.#options;
    const read = await readPhoneNumber(phone);
    await this.#changeable(id);
    const record = await records.get(id, 'number' in read ? read.number : phone);
    if (record === null) throw new ParleyError('NOT_FOUND', { what: 'record', id: phone });
    if (!(await records.remove(record.seq))) throw new ParleyError('RECORD_BEING_CALLED', { number: record.phone });
    this.#runner.reschedule();
    this.#feed.changed(id);
  }

  /** @throws ParleyError NOT_FOUND */
  async progress(id: string): Promise<CampaignProgress> {
    const progress = await this.#snapshot(id);
    if (progress === null) throw new ParleyError('NOT_FOUND', { what: 'campaign', id });
    return progress;
  }

  /** @param known the progress that the listener has seen */
  watch(id: string, listener: ProgressListener<CampaignProgress>, known: CampaignProgress): Cancel {
    return this.#feed.watch(id, listener, known);
  }

  /** Call this after the log has closed a call, and its record is settled. */
  callEnded({ sessionId, campaignId }: StoredCall): void {
    if (campaignId !== null) this.#runner.callEnded(sessionId, campaignId);
  }

  /** Places no more calls. Calls that end after this count as interrupted. */
  shut(): void {
    this.#runner.shut();
  }

  /** Call this when the log will close no more calls. */
  async close(): Promise<void> {
    await Promise.all([this.#feed.close(), this.#runner.close()]);
  }

  async #changeable(id: string): Promise<StoredCampaign> {
    const campaign = await this.get(id);
    if (campaign.status === 'finished') throw new ParleyError('CAMPAIGN_FINISHED', { campaign: campaign.name });
    return campaign;
  }

  /** @throws ParleyError NOT_FOUND, CAMPAIGN_FINISHED */
  async #changed(id: string, change: CampaignChange): Promise<StoredCampaign> {
    const campaign = await this.#options.campaigns.change(id, change);
    this.#feed.changed(id);
    return campaign ?? this.#changeable(id);
  }

  async #checkReady({ id, name, caller }: StoredCampaign): Promise<void> {
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
    if ((await records.page({ campaignId: id, after: 0, limit: 1 })).length === 0) fail('it has no records');
  }

  async #snapshot(id: string): Promise<CampaignProgress | null> {
    const { campaigns, records, calls } = this.#options;
    const campaign = await campaigns.get(id);
    if (campaign === null) return null;
    const isRunning = campaign.status === 'started';
    return {
      status: campaign.status,
      reason: campaign.reason,
      records: await records.counts(id),
      calls: await calls.callsOf(id),
      nextCallMs: isRunning ? this.#runner.nextCallMs(id) : null,
      whyLater: isRunning ? this.#runner.whyLater(id) : null,
    };
  }
}
