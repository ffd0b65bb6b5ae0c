import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CampaignCallStore, type RecordClaim } from '../../src/store/campaign-calls.js';
import { CampaignRecordStore } from '../../src/store/campaign-records.js';
import { CampaignStore } from '../../src/store/campaigns.js';
import { sql, type Statement } from '../../src/store/sql/statement.js';
import { backends, type TestDatabase } from './support/backends.js';
import { newCampaign, newNumbers } from './support/campaigns.js';

describe.each(backends)('the calls of campaigns in a database of $name', ({ name, open }) => {
  /** SQLite has one node. */
  const withNodes = it.skipIf(name === 'SQLite');
  let nowMs: number;
  let opened: TestDatabase;
  let campaigns: CampaignStore;
  let records: CampaignRecordStore;
  let one: CampaignCallStore;
  let two: CampaignCallStore;

  beforeAll(async () => {
    opened = await open(() => nowMs);
  });
  afterAll(() => opened.remove());

  beforeEach(async () => {
    nowMs = 1_000_000;
    const { database } = opened;
    await database.run(sql`DELETE FROM campaigns`);
    campaigns = new CampaignStore(database);
    records = new CampaignRecordStore(database);
    one = new CampaignCallStore(database, { id: 'one' });
    two = new CampaignCallStore(database, { id: 'two' });
    await campaigns.add(newCampaign('a'));
  });

  const add = async (campaignId: string, numbers: readonly string[], place = 'UTC', dueMs = 0): Promise<void> => {
    const added = numbers.map((phone, index) => ({ phone, metadata: {}, place, dueMs: dueMs + index }));
    await records.add(campaignId, added, 'upload');
    await records.endUpload('upload');
  };

  /** The next record of a campaign for a node; null = another one has been faster. */
  const claim = (calls: CampaignCallStore, campaignId = 'a', place = 'UTC'): Promise<RecordClaim | null> =>
    calls.decide(function* () {
      const nowUs = yield* calls.nowUs();
      const running = (yield* calls.running(nowUs)).find(({ campaign }) => campaign.id === campaignId);
      return running === undefined ? null : yield* calls.claim(running, place, nowUs);
    });
  const claimed = async (calls: CampaignCallStore): Promise<RecordClaim> => {
    const found = await claim(calls);
    if (found === null) throw new Error('nobody to call');
    return found;
  };
  const begin = (calls: CampaignCallStore, { record }: RecordClaim, sessionId: string, concurrent = 10) =>
    calls.decide(function* () {
      yield* calls.ofRecord(record.seq);
      return yield* calls.begin(record, { sessionId, nowMs, concurrent });
    });
  const waiting = async (campaignId = 'a') =>
    (
      await one.decide(function* () {
        return yield* one.waiting(campaignId, yield* one.nowUs());
      })
    ).map(({ place, first }) => [place, first?.dueMs ?? null]);

  it('wait by place, those without one too, the first that is due first', async () => {
    expect(await waiting()).toEqual([]);
    await campaigns.add(newCampaign('b'));
    await add('a', newNumbers(3), 'Europe/Berlin', 40);
    await add('a', ['+80012345678'], '', 7);
    await add('a', ['+390612345678'], 'Europe/Rome', 9);
    await add('b', newNumbers(1), 'Asia/Tokyo');
    expect(await waiting()).toEqual([
      ['', 7],
      ['Europe/Berlin', 40],
      ['Europe/Rome', 9],
    ]);
    await one.decide(() => one.refusePlace('a', 'Europe/Berlin', 'never'));
    expect(await waiting()).toEqual([
      ['', 7],
      ['Europe/Rome', 9],
    ]);
  });

  withNodes('are found by an index, however many there are', async () => {
    const { database } = opened;
    await add('a', newNumbers(4_000));
    await database.run(sql`ANALYZE campaign_records`);
    for (const reading of [one.waiting('a', 0), one.running(0)]) {
      const { text, values } = reading.next().value as Statement;
      const plan = await database.all<Record<string, string>>({ text: `EXPLAIN ${text}`, values });
      expect(JSON.stringify(plan)).not.toContain('Seq Scan on campaign_records');
    }
  });

  withNodes('are claimed one by one: no node gets the record of another one', async () => {
    await add('a', newNumbers(2));
    const [first, second] = [await claimed(one), await claimed(two)];
    expect([first.record.phone, second.record.phone]).toEqual(newNumbers(2));
    expect(await claim(one)).toBeNull();
    expect(await waiting()).toEqual([['UTC', null]]);
    expect(await begin(two, first, 's')).toBe(false);
    expect(await begin(one, first, 's')).toBe(true);
    expect(await begin(one, first, 's')).toBe(false);
    expect(await records.bySeq(first.record.seq)).toMatchObject({
      status: 'started',
      attempts: 1,
      calling: true,
      sessionId: 's',
      dueMs: null,
    });
  });

  it('are not due before their time', async () => {
    await add('a', newNumbers(1), 'UTC', nowMs + 1);
    expect(await claim(one)).toBeNull();
    nowMs += 1;
    expect(await claim(one)).not.toBeNull();
  });

  withNodes('go to another node when the claim has ended', async () => {
    await add('a', newNumbers(1));
    const lost = await claimed(one);
    nowMs += 29_000;
    expect(await claim(two)).toBeNull();
    nowMs += 2_000;
    const { record } = await claimed(two);
    expect(record.seq).toBe(lost.record.seq);
    // What the first one makes of it changes nothing any more.
    await one.refuse(lost, 'too late');
    expect(await begin(one, lost, 'late')).toBe(false);
    expect(await records.bySeq(record.seq)).toMatchObject({ status: 'not_started', reason: null });
  });

  it('are given back: now, later, or not to be called at all', async () => {
    await add('a', newNumbers(3));
    const first = await claimed(one);
    await one.release(first);
    expect((await claimed(one)).record).toEqual(first.record);
    await one.postpone(first, 5_000);
    await one.refuse(await claimed(one), 'do not call');
    expect(await waiting()).toEqual([['UTC', 2]]);
    const page = await records.page({ campaignId: 'a', after: 0, limit: 9 });
    expect(page.map(({ status, dueMs, reason }) => [status, dueMs, reason])).toEqual([
      ['not_started', nowMs + 5_000, null],
      ['failed', null, 'do not call'],
      ['not_started', 2, null],
    ]);
  });

  withNodes('leave the pace of the campaign alone where a record is given back', async () => {
    await add('a', newNumbers(1));
    const state = () =>
      one.decide(function* () {
        return yield* one.running(yield* one.nowUs());
      });
    const given = await claimed(one);
    expect(await state()).toMatchObject([{ claims: 1, claimedUs: nowMs * 1000, claimsEndUs: (nowMs + 30_000) * 1000 }]);
    await one.release(given);
    expect(await state()).toMatchObject([{ claims: 0, claimedUs: null, claimsEndUs: null, calls: 0 }]);
    await begin(one, await claimed(one), 's');
    expect(await state()).toMatchObject([{ claims: 0, calls: 1, campaign: { lastCallMs: nowMs } }]);
  });

  withNodes('keep to the lines of the campaign, and begin only while it runs', async () => {
    await add('a', newNumbers(3));
    const [first, second] = [await claimed(one), await claimed(two)];
    expect(await begin(one, first, 's1', 1)).toBe(true);
    expect(await begin(two, second, 's2', 1)).toBe(false);
    await campaigns.change('a', { status: 'paused' });
    expect(await claim(one)).toBeNull();
    expect(await one.decide(() => one.ofRecord(second.record.seq))).toMatchObject({
      place: 'UTC',
      campaign: { status: 'paused' },
    });
  });

  withNodes('of a dead node are known, and what it has claimed is free', async () => {
    await add('a', newNumbers(3));
    await begin(one, await claimed(one), 's1');
    await begin(two, await claimed(two), 's2');
    await claimed(two);
    expect((await one.calling('two')).map(({ sessionId }) => sessionId)).toEqual(['s2']);
    expect(await one.calling(null)).toHaveLength(2);
    await one.releaseAll('one');
    expect(await waiting()).toEqual([['UTC', null]]);
    await one.releaseAll('two');
    expect(await waiting()).toEqual([['UTC', 2]]);
  });

  it('are called in turn by the campaigns', async () => {
    await campaigns.add(newCampaign('b', { createdAt: 1 }));
    await campaigns.add(newCampaign('c', { createdAt: 2, status: 'paused' }));
    await campaigns.add(newCampaign('d', { createdAt: 3, lastCallMs: 5 }));
    await add('a', newNumbers(1));
    const order = async () =>
      (
        await one.decide(function* () {
          return yield* one.running(yield* one.nowUs());
        })
      ).map(({ campaign }) => campaign.id);
    expect(await order()).toEqual(['a', 'b', 'd']);
    await begin(one, await claimed(one), 's');
    expect(await order()).toEqual(['b', 'd', 'a']);
  });

  withNodes('are never claimed twice, however many nodes race for them', async () => {
    const numbers = newNumbers(40);
    await add('a', numbers);
    const nodes = Array.from(
      { length: 6 },
      (_, index) => new CampaignCallStore(opened.database, { id: String(index) }),
    );
    const found: string[] = [];
    const work = async (calls: CampaignCallStore): Promise<void> => {
      for (let tries = 0; found.length < numbers.length && tries < 500; tries++) {
        const mine = await claim(calls);
        if (mine === null) continue;
        if (await begin(calls, mine, mine.record.phone, 100)) found.push(mine.record.phone);
      }
    };
    await Promise.all(nodes.map(work));
    expect(found.toSorted()).toEqual(numbers);
    expect(await one.callsOf('a')).toBe(40);
  });

  withNodes('are not begun after a pause that is stored', async () => {
    await add('a', newNumbers(30));
    let hasPaused = false;
    let late = 0;
    const work = async (calls: CampaignCallStore): Promise<void> => {
      for (let round = 0; round < 10; round++) {
        const mine = await claim(calls);
        if (mine === null) continue;
        const isLate = hasPaused;
        const begun = await calls.decide(function* () {
          const of = yield* calls.ofRecord(mine.record.seq);
          if (of?.campaign.status !== 'started') return false;
          return yield* calls.begin(mine.record, { sessionId: mine.record.phone, nowMs, concurrent: 100 });
        });
        if (begun && isLate) late++;
      }
    };
    const stop = async (): Promise<void> => {
      await claim(two);
      await campaigns.change('a', { status: 'paused' });
      hasPaused = true;
    };
    await Promise.all([work(one), work(two), stop()]);
    expect(late).toBe(0);
  });
});
