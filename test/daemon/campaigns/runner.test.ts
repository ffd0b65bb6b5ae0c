import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { type CampaignSchedule, DEFAULT_CAMPAIGN_SCHEDULE, WEEKDAYS } from '../../../src/settings/campaign-schedule.js';
import { InvalidConfigError } from '../../../src/schema/issues.js';
import { isWithinHours } from '../../../src/daemon/campaigns/calling-hours.js';
import { placeOfNumber, zonesOfPlace } from '../../../src/daemon/campaigns/phone-zones.js';
import { type CallOver, CampaignRunner } from '../../../src/daemon/campaigns/runner.js';
import { type DialEnd, type DialledCall, type DialRequest, RecordChanged } from '../../../src/daemon/calls/dial.js';
import { ParleyError } from '../../../src/base/errors.js';
import { Random } from '../../../src/base/random.js';
import { CampaignRecordStore, type StoredRecord } from '../../../src/store/campaign-records.js';
import { CampaignStore, type StoredCampaign } from '../../../src/store/campaigns.js';
import { openDatabase } from '../../../src/store/database.js';

/** A Friday, 12:00 in London. */
const START = Date.parse('2026-11-20T12:00:00Z');
const DAY_MS = 86_400_000;
const CALLER = '+12025550100';
const ALWAYS: CampaignSchedule = {
  ...DEFAULT_CAMPAIGN_SCHEDULE,
  timezone: 'UTC',
  concurrent: 5,
  perMinute: 60,
  hoursStart: '00:00',
  hoursEnd: '24:00',
  days: [...WEEKDAYS],
};

interface Placed {
  campaignId: string;
  to: string;
  atMs: number;
  endMs: number;
  status: string;
}

/** A runner on a database of its own, with a dialer that does what the test says. */
class Rig {
  readonly clock: VirtualClock;
  readonly folder: string;
  readonly placed: Placed[] = [];
  readonly faults: Error[] = [];
  /** What comes of a call. Default: it is answered and ends after a minute. */
  outcome: (request: DialRequest, attempt: number) => { status: string; afterMs: number } = () => ({
    status: 'user-ended',
    afterMs: 60_000,
  });
  /** Throws where a call is not to be taken. */
  guard: (request: DialRequest) => void = () => undefined;
  isOpen = true;
  /** Whether the log keeps the ends of calls to itself. */
  isDeaf = false;
  #database: Database.Database;
  campaigns: CampaignStore;
  records: CampaignRecordStore;
  runner: CampaignRunner;
  readonly #callsOver = new Map<string, CallOver>();
  readonly #schedule: CampaignSchedule;

  constructor(schedule: Partial<CampaignSchedule> = {}) {
    this.clock = new VirtualClock();
    this.folder = mkdtempSync(join(tmpdir(), 'parley-campaigns-'));
    this.#schedule = { ...ALWAYS, ...schedule };
    this.#database = openFast(this.folder);
    this.campaigns = new CampaignStore(this.#database);
    this.records = new CampaignRecordStore(this.#database);
    this.runner = this.#newRunner();
  }

  get nowMs(): number {
    return START + this.clock.nowMs();
  }

  campaign(id: string, phones: readonly string[]): StoredCampaign {
    const campaign: StoredCampaign = {
      id,
      name: id,
      status: 'started',
      caller: CALLER,
      includeMetadataInPrompt: false,
      overrides: {},
      reason: null,
      lastCallMs: null,
      createdAt: 0,
    };
    this.campaigns.add(campaign);
    this.add(id, phones);
    return campaign;
  }

  add(id: string, phones: readonly string[]): void {
    const dueMs = this.nowMs;
    this.records.add(
      id,
      phones.map((phone) => ({ phone, metadata: {}, place: placeOfNumber(phone), dueMs })),
    );
  }

  all(id: string): StoredRecord[] {
    return this.records.page({ campaignId: id, after: 0, limit: 100_000 });
  }

  /** As `kill -9`: nothing of this process is heard of any more. */
  crash(): void {
    this.runner.shut();
    this.#database.close();
    this.#database = openFast(this.folder);
    this.campaigns = new CampaignStore(this.#database);
    this.records = new CampaignRecordStore(this.#database);
    this.runner = this.#newRunner();
  }

  async close(): Promise<void> {
    this.runner.shut();
    await this.clock.advanceBy(DAY_MS);
    this.#database.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #newRunner(): CampaignRunner {
    const database = this.#database;
    return new CampaignRunner({
      clock: this.clock,
      nowUnixMs: () => this.nowMs,
      campaigns: this.campaigns,
      records: this.records,
      dial: (request) => this.#dial(request),
      endOf: async (sessionId) => this.#callsOver.get(sessionId) ?? null,
      scheduleOf: ({ overrides }) => ({ ...this.#schedule, ...overrides }),
      isOpen: () => this.isOpen,
      isFilling: () => false,
      onChange: () => undefined,
      // What a crashed process would have made of it is nobody's business.
      onError: (error) => database === this.#database && this.faults.push(error),
    });
  }

  async #dial(request: DialRequest): Promise<DialledCall> {
    await Promise.resolve(); // the agent is checked
    this.guard(request);
    const ids = { sessionId: randomUUID(), callId: randomUUID() };
    const begin = (): boolean => this.runner.begin(request.record?.seq ?? 0, ids.sessionId);
    if (!this.#database.transaction(begin).immediate()) throw new RecordChanged();
    const { to } = request;
    const campaignId = request.campaignId ?? '';
    const attempt = this.placed.filter((call) => call.to === to).length + 1;
    const { status, afterMs } = this.outcome(request, attempt);
    this.placed.push({ campaignId, to, atMs: this.nowMs, endMs: this.nowMs + afterMs, status });
    const { runner } = this;
    const finished = new Promise<DialEnd>((resolve) => {
      this.clock.schedule(this.clock.nowMs() + afterMs, () => {
        this.#callsOver.set(ids.sessionId, { status, error: null });
        if (runner === this.runner && !this.isDeaf) runner.callOver(ids.sessionId, { status, error: null });
        resolve({ status: status as DialEnd['status'], error: null });
      });
    });
    return { ...ids, finished };
  }
}

/** The test's process does not crash, so nothing need be on the disk. */
function openFast(folder: string): Database.Database {
  const database = openDatabase(folder);
  database.pragma('synchronous = OFF');
  return database;
}

const numbers = (count: number, prefix = '+1202555'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(1000 + index)}`);

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.close());

describe('a campaign', () => {
  it('calls everybody once and is finished', async () => {
    rig.runner.start(rig.campaign('a', numbers(20)));
    await rig.clock.advanceBy(600_000);
    expect(rig.placed.map(({ to }) => to)).toEqual(numbers(20));
    expect(rig.campaigns.get('a')?.status).toBe('finished');
    expect(rig.all('a').every(({ status, attempts }) => status === 'finished' && attempts === 1)).toBe(true);
  });

  it('calls nobody else when it is stopped, and goes on later', async () => {
    const campaign = rig.campaign('a', numbers(10));
    rig.runner.start(campaign);
    await rig.clock.advanceBy(2500);
    rig.campaigns.change('a', { status: 'paused' });
    rig.runner.stop('a');
    await rig.clock.advanceBy(600_000);
    expect(rig.placed).toHaveLength(3);
    expect(rig.records.counts('a')).toMatchObject({ finished: 3, not_started: 7 });
    rig.campaigns.change('a', { status: 'started' });
    rig.runner.start(campaign);
    await rig.clock.advanceBy(600_000);
    expect(rig.campaigns.get('a')?.status).toBe('finished');
    expect(rig.placed).toHaveLength(10);
  });

  it('is finished, also when it was stopped, with the end of its last call', async () => {
    rig.runner.start(rig.campaign('a', numbers(1)));
    await rig.clock.advanceBy(10);
    rig.campaigns.change('a', { status: 'paused' });
    rig.runner.stop('a');
    expect(rig.campaigns.get('a')?.status).toBe('paused');
    await rig.clock.advanceBy(60_000);
    expect(rig.campaigns.get('a')?.status).toBe('finished');
  });

  it('fails, its records untouched, where it cannot call', async () => {
    rig.guard = () => {
      throw new ParleyError('AGENT_DISABLED');
    };
    rig.runner.start(rig.campaign('a', numbers(3)));
    await rig.clock.advanceBy(1000);
    expect(rig.campaigns.get('a')).toMatchObject({
      status: 'failed',
      reason: 'This agent is disabled and takes no calls',
    });
    expect(rig.records.counts('a')).toMatchObject({ not_started: 3 });
  });

  it('does not call whom it must not, and tells why', async () => {
    const [first = '', second = ''] = numbers(3);
    rig.guard = ({ to }) => {
      if (to === first) throw new ParleyError('DO_NOT_CALL', { number: to });
      const issue = { loc: ['body', 'to_phone'], msg: 'no such number', type: 'phone' };
      if (to === second) throw new InvalidConfigError([issue]);
    };
    rig.runner.start(rig.campaign('a', numbers(3)));
    await rig.clock.advanceBy(600_000);
    expect(rig.placed).toHaveLength(1);
    expect(rig.all('a').map(({ status, reason, attempts }) => [status, reason, attempts])).toEqual([
      ['failed', `${first} is on the do-not-call list`, 0],
      ['failed', 'no such number', 0],
      ['finished', null, 1],
    ]);
    expect(rig.campaigns.get('a')?.status).toBe('finished');
  });

  it("waits where the operator's limits are reached, without counting it as a call", async () => {
    rig.guard = () => {
      if (rig.placed.some(({ endMs }) => endMs > rig.nowMs)) {
        throw new ParleyError('LIMIT_CONCURRENT_CALLS', { limit: 1, retryAfterS: 1 });
      }
    };
    rig.runner.start(rig.campaign('a', numbers(4)));
    rig.runner.start(rig.campaign('b', numbers(4, '+1312555')));
    await rig.clock.advanceBy(3_600_000);
    expect(rig.placed).toHaveLength(8);
    expect(rig.placed.map(({ campaignId }) => campaignId).join('')).toMatch(/^(ab|ba){4}$/);
    expect([...rig.all('a'), ...rig.all('b')].every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it('postpones only whom the limits of a number hold up', async () => {
    const [first = ''] = numbers(1);
    rig.guard = ({ to }) => {
      if (to === first && rig.nowMs < START + 300_000) {
        throw new ParleyError('LIMIT_DESTINATION_PER_MINUTE', { limit: 1, retryAfterS: 60 });
      }
    };
    rig.runner.start(rig.campaign('a', numbers(3)));
    await rig.clock.advanceBy(60_000);
    expect(rig.placed.map(({ to }) => to)).toEqual(numbers(3).slice(1));
    await rig.clock.advanceBy(600_000);
    expect(rig.all('a').map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  });

  it('places no calls while the daemon is shutting down', async () => {
    rig.runner.start(rig.campaign('a', numbers(3)));
    await rig.clock.advanceBy(1500);
    rig.isOpen = false;
    await rig.clock.advanceBy(600_000);
    expect(rig.placed).toHaveLength(2);
  });

  it('does not call whom was deleted while the agent was being checked', async () => {
    rig.guard = () => void rig.records.remove(rig.all('a')[0]?.seq ?? 0);
    rig.runner.start(rig.campaign('a', numbers(1)));
    await rig.clock.advanceBy(1000);
    expect(rig.placed).toEqual([]);
    expect(rig.campaigns.get('a')?.status).toBe('finished');
  });

  it('counts a call that the shutdown has cut off as broken off', async () => {
    rig.outcome = () => ({ status: 'api-ended', afterMs: 1000 });
    rig.runner.start(rig.campaign('a', numbers(1)));
    await rig.clock.advanceBy(10);
    rig.runner.shut();
    await rig.clock.advanceBy(2000);
    rig.runner.close();
    expect(rig.all('a')[0]).toMatchObject({ status: 'started', attempts: 1, calling: false });
    expect(rig.all('a')[0]?.dueMs).toBe(rig.placed[0]!.endMs + 300_000);
  });
});

describe('a log that does not tell of an end', () => {
  it('is not waited for for ever', async () => {
    rig.isDeaf = true;
    rig.runner.start(rig.campaign('a', numbers(2)));
    await rig.clock.advanceBy(62_000);
    expect(rig.records.counts('a')).toMatchObject({ started: 2 });
    await rig.clock.advanceBy(60_000);
    expect(rig.records.counts('a')).toMatchObject({ finished: 2 });
    expect(rig.campaigns.get('a')?.status).toBe('finished');
  });
});

describe('after a crash', () => {
  it('settles what was under way, and calls nobody twice for the same reason', async () => {
    rig.runner.start(rig.campaign('a', numbers(30)));
    for (let round = 0; round < 12; round++) {
      await rig.clock.advanceBy(1700);
      rig.crash();
      await rig.runner.recover();
      rig.runner.resume();
    }
    await rig.clock.advanceBy(DAY_MS);
    expect(rig.faults).toEqual([]);
    expect(rig.campaigns.get('a')?.status).toBe('finished');
    for (const { phone, status, attempts } of rig.all('a')) {
      expect(rig.placed.filter(({ to }) => to === phone)).toHaveLength(attempts);
      expect(['finished', 'failed']).toContain(status);
      expect(attempts).toBeLessThanOrEqual(2); // one more after an error
    }
  });

  it('takes the end from the call log where there is one', async () => {
    rig.runner.start(rig.campaign('a', numbers(1)));
    await rig.clock.advanceBy(10);
    rig.isDeaf = true;
    const { sessionId } = rig.all('a')[0] as StoredRecord;
    await rig.clock.advanceBy(70_000);
    rig.crash();
    await rig.runner.recover();
    rig.runner.resume();
    expect(rig.all('a')[0]).toMatchObject({ status: 'finished', attempts: 1, sessionId });
  });
});

describe('a campaign of a thousand', () => {
  it('keeps every rule from the first call to the last', async () => {
    const random = new Random(7);
    const schedule = { concurrent: 8, perMinute: 20, hoursStart: '09:00', hoursEnd: '18:00' } as const;
    const big = new Rig({ ...schedule, days: ['mon', 'tue', 'wed', 'thu', 'fri'], retryVoicemailS: [7200] });
    try {
      const places = ['+1202555', '+1213555', '+1312555', '+4420794', '+4930231', '+6128555', '+8001234'];
      const phones = Array.from({ length: 1000 }, (_, index) => `${places[index % 7] ?? ''}${String(5000 + index)}`);
      big.outcome = (_request, attempt) => {
        const draw = random.next();
        if (draw < 0.2) return { status: 'busy', afterMs: 1000 };
        if (draw < 0.45) return { status: 'no-answer', afterMs: 45_000 };
        if (draw < 0.6) return { status: 'voicemail-hangup', afterMs: 20_000 };
        if (draw < 0.62) return { status: 'error', afterMs: 5000 };
        return { status: attempt % 2 === 0 ? 'agent-ended' : 'user-ended', afterMs: 10_000 + random.int(0, 120_000) };
      };
      big.runner.start(big.campaign('a', phones));
      await big.clock.advanceBy(21 * DAY_MS);
      expect(big.faults).toEqual([]);
      expect(big.campaigns.get('a')?.status).toBe('finished');
      check(big, { ...ALWAYS, ...schedule, days: ['mon', 'tue', 'wed', 'thu', 'fri'], retryVoicemailS: [7200] });
    } finally {
      await big.close();
    }
  }, 60_000);
});

/** Every rule, of every call. */
function check({ placed }: Rig, schedule: CampaignSchedule): void {
  const waits: Record<string, readonly number[]> = {
    busy: schedule.retryBusyS,
    'no-answer': schedule.retryNoAnswerS,
    'voicemail-hangup': schedule.retryVoicemailS,
    error: schedule.retryErrorS,
  };
  const byNumber = new Map<string, Placed[]>();
  for (const call of placed) byNumber.set(call.to, [...(byNumber.get(call.to) ?? []), call]);
  expect(byNumber.size).toBe(1000);
  for (const [index, call] of placed.entries()) {
    const before = placed[index - 1];
    if (before !== undefined) expect(call.atMs - before.atMs).toBeGreaterThanOrEqual(60_000 / schedule.perMinute);
    const running = placed.filter(({ atMs, endMs }) => atMs <= call.atMs && endMs > call.atMs);
    expect(running.length).toBeLessThanOrEqual(schedule.concurrent);
    const zones = zonesOfPlace(placeOfNumber(call.to));
    expect(isWithinHours(schedule, zones.length === 0 ? ['UTC'] : zones, call.atMs)).toBe(true);
  }
  for (const calls of byNumber.values()) {
    const used: Record<string, number> = {};
    for (const [index, { status, endMs }] of calls.entries()) {
      const nth = used[status] ?? 0;
      used[status] = nth + 1;
      const waitS = waits[status]?.[nth];
      const next = calls[index + 1];
      const isAgain = waitS !== undefined && index + 1 < schedule.maxAttempts;
      expect(next !== undefined).toBe(isAgain);
      if (next !== undefined) expect(next.atMs - endMs).toBeGreaterThanOrEqual((waitS ?? 0) * 1000);
    }
  }
}
