import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { StoredCall } from '../../../../src/store/calls.js';
import { CampaignCallStore } from '../../../../src/store/campaign-calls.js';
import { CampaignRecordStore, type StoredRecord } from '../../../../src/store/campaign-records.js';
import { CampaignStore, type StoredCampaign } from '../../../../src/store/campaigns.js';
import { openDatabase } from '../../../../src/store/database.js';
import { SqliteDatabase } from '../../../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../../../src/store/sqlite/sqlite-live-tables.js';
import type { SqlDatabase, Statement, Transaction } from '../../../../src/store/sql/statement.js';
import {
  type CampaignSchedule,
  DEFAULT_CAMPAIGN_SCHEDULE,
  WEEKDAYS,
} from '../../../../src/settings/campaign-schedule.js';
import { type DialEnd, type DialledCall, type DialRequest, RecordChanged } from '../../../../src/daemon/calls/dial.js';
import { CampaignCalls, type CallOver } from '../../../../src/daemon/campaigns/campaign-calls.js';
import { placeOfNumber } from '../../../../src/daemon/campaigns/phone-zones.js';
import { CampaignRunner } from '../../../../src/daemon/campaigns/runner.js';
import type { Placed } from './call-rules.js';
import type { Backend, TestDatabase } from '../../../store/support/backends.js';
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
  open: (nowUnixMs) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-campaigns-'));
    const file = openDatabase(folder);
    file.pragma('synchronous = OFF');
    const database = new SqliteDatabase(file, nowUnixMs);
    const remove = async (): Promise<void> => {
      await database.close();
      rmSync(folder, { recursive: true });
    };
    return Promise.resolve({ database, tables: new SqliteLiveTables(file), remove });
  },
};

export interface RigOptions {
  schedule?: Partial<CampaignSchedule>;
  /** Default 1. */
  nodes?: number;
  /** Default: nodes hear of each other only when they have something to do. */
  pollMs?: number | null;
}

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
  /** Whether the log keeps the ends of calls to itself. */
  isDeaf = false;
  readonly schedule: CampaignSchedule;
  readonly pollMs: number | null;
  /** The log: how calls ended. */
  readonly log = new Map<string, CallOver>();
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
      if (call.node !== dead.id || this.log.has(call.sessionId)) continue;
      call.endMs = this.nowMs;
      call.status = 'error';
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
  readonly #parts: CampaignCalls;
  readonly #database: NodeDatabase;

  constructor(
    readonly id: string,
    rig: CampaignRig,
    database: NodeDatabase,
  ) {
    this.#rig = rig;
    this.#database = database;
    const scheduleOf = ({ overrides }: StoredCampaign): CampaignSchedule => ({ ...rig.schedule, ...overrides });
    const calls = new CampaignCallStore(database, { id });
    this.#parts = new CampaignCalls({ calls, scheduleOf });
    this.runner = new CampaignRunner({
      clock: rig.clock,
      campaigns: new CampaignStore(database),
      calls,
      parts: this.#parts,
      dial: (request) => this.#dial(request),
      endOf: (sessionId) => Promise.resolve(rig.log.get(sessionId) ?? null),
      scheduleOf,
      isOpen: () => rig.isOpen,
      pollMs: rig.pollMs,
      onChange: () => undefined,
      onError: (error) => void rig.faults.push(error),
    });
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
  async close({ sessionId, campaignId, status }: Placed): Promise<void> {
    const { log, nowMs } = this.#rig;
    const item = { error_message: null } as StoredCall['item'];
    const call = { sessionId, campaignId, status, item, endedUs: nowMs * 1000 } as StoredCall;
    await this.#database.transaction(() => this.#parts.ended(call));
    log.set(sessionId, { status, error: null });
    this.runner.callEnded(sessionId, campaignId);
  }

  async #dial(request: DialRequest): Promise<DialledCall> {
    const rig = this.#rig;
    await rig.guard(request, this.id);
    const ids = { sessionId: randomUUID(), callId: randomUUID() };
    const { to, record, campaignId } = request;
    const [database, parts] = [this.#database, this.#parts];
    const hasBegun = await database.transaction(function* () {
      return yield* parts.begin(record?.seq ?? 0, ids.sessionId, (yield* database.nowUs()) / 1000);
    }, 'dials');
    if (!hasBegun) throw new RecordChanged();
    const attempt = rig.placed.filter((call) => call.to === to).length + 1;
    const { status, afterMs } = rig.outcome(request, attempt);
    const [atMs, endMs] = [rig.nowMs, rig.nowMs + afterMs];
    const call = { ...ids, campaignId: campaignId ?? '', node: this.id, to, atMs, endMs, status };
    rig.placed.push(call);
    const finished = new Promise<DialEnd>((resolve) => {
      rig.clock.schedule(rig.clock.nowMs() + afterMs, () => {
        const over = { status, error: null };
        if (this.#database.isDead) return;
        if (rig.isDeaf) rig.log.set(ids.sessionId, over);
        else void this.close(call);
        resolve(over as DialEnd);
      });
    });
    return { ...ids, finished };
  }
}

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

  nowUs(): Transaction<number> {
    return this.#database.nowUs();
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #answer<T>(ask: () => Promise<T>): Promise<T> {
    if (this.isDead) return new Promise(() => undefined);
    // SQLite answers at once.
    const answer = this.dialect === 'sqlite' ? ask() : this.#clock.settle(ask(), this.#clock.nowMs());
    const value = await answer;
    return this.isDead ? new Promise(() => undefined) : value;
  }
}
