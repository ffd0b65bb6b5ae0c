import { WEEKDAYS } from '../../../../src/base/local-time.js';
import { randomUUID } from 'node:crypto';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import { CallStore } from '../../../../src/store/calls.js';
import { CampaignCallStore } from '../../../../src/store/campaign-calls.js';
import { CampaignRecordStore, type StoredRecord } from '../../../../src/store/campaign-records.js';
import { CampaignStore, type StoredCampaign } from '../../../../src/store/campaigns.js';
import { DialStore } from '../../../../src/store/dials.js';
import { sql, type SqlDatabase, type Statement, type Transaction } from '../../../../src/store/sql/statement.js';
import { type CampaignSchedule, DEFAULT_CAMPAIGN_SCHEDULE } from '../../../../src/settings/campaign-schedule.js';
import { DEFAULT_SETTINGS } from '../../../../src/settings/settings.js';
import type { CallGuards } from '../../../../src/settings/setting-groups.js';
import { CallEventBus } from '../../../../src/daemon/call-event-bus.js';
import { CallLog } from '../../../../src/daemon/call-log/call-log.js';
import type { DialEnd, DialledCall, DialRequest, RecordStarts } from '../../../../src/daemon/calls/dial.js';
import { CallPlacing } from '../../../../src/daemon/calls/placing.js';
import { CampaignCalls } from '../../../../src/daemon/campaigns/campaign-calls.js';
import { placeOfNumber } from '../../../../src/daemon/campaigns/phone-zones.js';
import { CampaignRunner } from '../../../../src/daemon/campaigns/runner.js';
import type { Placed } from './call-rules.js';
import { type Backend, sqlite, type TestDatabase } from '../../../store/support/backends.js';
import { newCampaign } from '../../../store/support/campaigns.js';

/** A Friday, 12:00 in London. */
export const START = Date.parse('2026-11-20T12:00:00Z');

/** Calls at any time. */
export const ALWAYS: CampaignSchedule = {
  ...DEFAULT_CAMPAIGN_SCHEDULE,
  timezone: 'UTC',
  concurrent: 5,
  perMinute: 60,
  hoursStart: '00:00',
  hoursEnd: '24:00',
  days: [...WEEKDAYS],
};

/** A file whose writes do not wait for the disk: the test's process does not crash. */
export const fastSqlite: Backend = {
  name: 'SQLite',
  open: async (nowUnixMs) => {
    const opened = await sqlite.open(nowUnixMs);
    await opened.database.all(sql`PRAGMA synchronous = OFF`);
    return opened;
  },
};

export interface RigOptions {
  schedule?: Partial<CampaignSchedule>;
  /** Default 1. */
  nodes?: number;
  /** Default: nodes hear of each other only when they have something to do. */
  pollMs?: number | null;
}

/** A transaction's simulated time on PostgreSQL, ms. Those that begin within it run at once, and race. */
const LATENCY_MS = 2;

/** Nodes with a runner each on one database, in simulated time, and a dialer that does what the test says. */
export class CampaignRig {
  readonly clock = new VirtualClock();
  readonly placed: Placed[] = [];
  readonly faults: Error[] = [];
  /** What comes of a call. Default: it is answered and ends after a minute. */
  outcome: (request: DialRequest, attempt: number) => { status: string; afterMs: number } = () => ({
    status: 'user-ended',
    afterMs: 60_000,
  });
  /** Checks the agent: rejects where a call is not to be taken. */
  guard: (request: DialRequest, node: string) => void | Promise<void> = () => undefined;
  isOpen = true;
  /** Whether the log closes calls without a word to others. */
  isDeaf = false;
  readonly schedule: CampaignSchedule;
  readonly pollMs: number | null;
  #opened!: TestDatabase;
  #nodes: RigNode[] = [];
  campaigns!: CampaignStore;
  records!: CampaignRecordStore;

  private constructor({ schedule = {}, pollMs = null }: RigOptions) {
    this.schedule = { ...ALWAYS, ...schedule };
    this.pollMs = pollMs;
  }

  static async open({ open }: Backend, options: RigOptions = {}): Promise<CampaignRig> {
    const rig = new CampaignRig(options);
    rig.#opened = await open(() => rig.nowMs);
    rig.campaigns = new CampaignStore(rig.#opened.database);
    rig.records = new CampaignRecordStore(rig.#opened.database);
    rig.#nodes = Array.from({ length: options.nodes ?? 1 }, (_, index) => rig.#newNode(`node ${String(index)}`));
    return rig;
  }

  /** Milliseconds since 1970. */
  get nowMs(): number {
    return START + this.clock.nowMs();
  }

  /** Outside of simulated time. */
  get database(): SqlDatabase {
    return this.#opened.database;
  }

  get nodes(): readonly RigNode[] {
    return this.#nodes;
  }

  get node(): RigNode {
    return this.#nodes[0] as RigNode;
  }

  async campaign(id: string, phones: readonly string[], change: Partial<StoredCampaign> = {}): Promise<void> {
    await this.campaigns.add(newCampaign(id, change));
    await this.add(id, phones);
  }

  async add(id: string, phones: readonly string[]): Promise<void> {
    const dueMs = this.nowMs;
    const records = phones.map((phone) => ({ phone, metadata: {}, place: placeOfNumber(phone), dueMs }));
    await this.records.add(id, records, 'upload');
    await this.records.endUpload('upload');
  }

  all(id: string): Promise<StoredRecord[]> {
    return this.records.page({ campaignId: id, after: 0, limit: 100_000 });
  }

  /** All nodes go to work. */
  resume(): void {
    for (const { runner } of this.#nodes) runner.resume();
  }

  /** As `kill -9`: nothing of this process is heard of any more. A new one takes its place. */
  restart(index = 0): RigNode {
    const dead = this.#nodes[index] as RigNode;
    dead.die();
    const node = this.#newNode(`${dead.id} again`);
    this.#nodes[index] = node;
    return node;
  }

  /** Another node notices that a node has died: closes its calls in the log and recovers its records. */
  async takeOver(dead: RigNode, by: RigNode): Promise<void> {
    for (const call of this.placed) {
      if (call.node !== dead.id || call.isOver) continue;
      Object.assign(call, { endMs: this.nowMs, status: 'error' });
      await by.close(call);
    }
    await by.runner.recover(dead.id);
  }

  async close(): Promise<void> {
    for (const { runner } of this.#nodes) runner.shut();
    await this.clock.advanceBy(86_400_000);
    for (const { runner, isDead } of this.#nodes) if (!isDead) await runner.close();
    await this.#opened.remove();
  }

  #newNode(id: string): RigNode {
    return new RigNode(id, this, new NodeDatabase(this.#opened.database, this.clock));
  }
}

/** A process of the daemon, as far as campaigns are concerned. */
export class RigNode {
  readonly runner: CampaignRunner;
  readonly #rig: CampaignRig;
  readonly #database: NodeDatabase;
  readonly #dials: DialStore;
  readonly #log: CallLog;
  /** A log without a word to others. */
  readonly #deafLog: CallLog;
  readonly #placing: CallPlacing;
  /** When calls were placed, by the clock of the database. */
  readonly #begunMs = new Map<string, number>();

  constructor(
    readonly id: string,
    rig: CampaignRig,
    database: NodeDatabase,
  ) {
    this.#rig = rig;
    this.#database = database;
    const scheduleOf = ({ overrides }: StoredCampaign): CampaignSchedule => ({ ...rig.schedule, ...overrides });
    const calls = new CampaignCallStore(database, { id });
    const parts = new CampaignCalls({ calls, scheduleOf });
    const events = new CallEventBus();
    const store = new CallStore(database);
    this.#log = new CallLog({ database, store, events });
    this.#deafLog = new CallLog({ database, store });
    this.#dials = new DialStore(database, { id });
    const records: RecordStarts = {
      begin: (seq, sessionId, unixMs) => {
        this.#begunMs.set(sessionId, unixMs);
        return parts.begin(seq, sessionId, unixMs);
      },
    };
    this.#placing = new CallPlacing({ database, records, dials: this.#dials, log: this.#log });
    this.runner = new CampaignRunner({
      clock: rig.clock,
      campaigns: new CampaignStore(database),
      calls,
      parts,
      dial: (request) => this.#dial(request),
      endOf: async (sessionId) => {
        const call = await store.get(sessionId);
        return call?.endedUs == null ? null : { status: call.status, error: call.item.error_message };
      },
      scheduleOf,
      isOpen: () => rig.isOpen,
      pollMs: rig.pollMs,
      onChange: () => undefined,
      onError: (error) => void rig.faults.push(error),
    });
    events.within((call) => parts.ended(call));
    events.on('call.ended', (call) => this.runner.callEnded(call.sessionId, call.campaignId ?? ''));
  }

  get isDead(): boolean {
    return this.#database.isDead;
  }

  /** Nothing of it is heard of any more. */
  die(): void {
    this.#database.isDead = true;
    this.runner.shut();
  }

  /** Closes a call in the log. */
  async close(call: Placed): Promise<void> {
    const { sessionId, status } = call;
    call.isOver = true;
    await (this.#rig.isDeaf ? this.#deafLog : this.#log).fail(sessionId, status, null);
    await this.#database.transaction(() => this.#dials.ended(sessionId));
  }

  async #dial(request: DialRequest): Promise<DialledCall> {
    const rig = this.#rig;
    await rig.guard(request, this.id);
    const ids = { sessionId: randomUUID(), callId: randomUUID() };
    const { from, to, record = null, campaignId = null } = request;
    await this.#placing.place({
      reservation: { ...ids, to, maxDurationS: 600, idempotency: null },
      limits: WIDE,
      call: {
        ...ids,
        channel: 'phone',
        direction: 'outbound',
        agentId: null,
        agentConfig: { prompt: 'Sell.' },
        campaignId,
        phones: { from, to },
        status: 'registered',
      },
      record,
    });
    const attempt = rig.placed.filter((call) => call.to === to).length + 1;
    const { status, afterMs } = rig.outcome(request, attempt);
    const [atMs, endMs] = [this.#begunMs.get(ids.sessionId) ?? rig.nowMs, rig.nowMs + afterMs];
    const node = this.id;
    const call: Placed = { ...ids, node, to, atMs, endMs, status, campaignId: campaignId ?? '', isOver: false };
    rig.placed.push(call);
    const finished = new Promise<DialEnd>((resolve) => {
      rig.clock.schedule(rig.clock.nowMs() + afterMs, () => {
        if (this.isDead) return;
        this.close(call).catch((error: unknown) => rig.faults.push(error as Error));
        resolve({ status: status as DialEnd['status'], error: null });
      });
    });
    return { ...ids, finished };
  }
}

/** No limits of the operator's. */
const WIDE: CallGuards = {
  ...DEFAULT_SETTINGS.calls,
  concurrent: 1e6,
  perMinute: 1e6,
  perDestinationPerMinute: 1e6,
  perDestinationPerDay: 1e6,
  minutesPerDay: 1e9,
};

/** The database as a process sees it: simulated time waits for it, and a dead process gets no answers. */
class NodeDatabase implements SqlDatabase {
  readonly dialect: SqlDatabase['dialect'];
  isDead = false;
  readonly #database: SqlDatabase;
  readonly #clock: VirtualClock;

  constructor(database: SqlDatabase, clock: VirtualClock) {
    this.#database = database;
    this.#clock = clock;
    this.dialect = database.dialect;
  }

  all<Row>(statement: Statement): Promise<readonly Row[]> {
    return this.#answer(() => this.#database.all<Row>(statement));
  }

  first<Row>(statement: Statement): Promise<Row | null> {
    return this.#answer(() => this.#database.first<Row>(statement));
  }

  run(statement: Statement): Promise<number> {
    return this.#answer(() => this.#database.run(statement));
  }

  transaction<T>(work: () => Transaction<T>, lock?: string): Promise<T> {
    return this.#answer(() => this.#database.transaction(work, lock));
  }

  read<T>(work: () => Transaction<T>): Promise<T> {
    return this.#answer(() => this.#database.read(work));
  }

  /** Of SQLite, `transaction`: the test's writes wait for no disk, and the lazy ones would turn that off. */
  lazyTransaction<T>(work: () => Transaction<T>): Promise<T> {
    if (this.dialect === 'sqlite') return this.transaction(work);
    return this.#answer(() => this.#database.lazyTransaction(work));
  }

  scrub(): Promise<void> {
    return this.#database.scrub();
  }

  nowUs(): Transaction<number> {
    return this.#database.nowUs();
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #answer<T>(ask: () => Promise<T>): Promise<T> {
    if (this.isDead) return new Promise(() => undefined);
    // SQLite answers at once.
    const answer = this.dialect === 'sqlite' ? ask() : this.#clock.settle(ask(), this.#clock.nowMs() + LATENCY_MS);
    const value = await answer;
    return this.isDead ? new Promise(() => undefined) : value;
  }
}
