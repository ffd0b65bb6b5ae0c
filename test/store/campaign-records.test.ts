import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CampaignCallStore } from '../../src/store/campaign-calls.js';
import { CampaignRecordStore } from '../../src/store/campaign-records.js';
import { CampaignStore } from '../../src/store/campaigns.js';
import { sql } from '../../src/store/sql/statement.js';
import { backends, type TestDatabase } from './support/backends.js';
import { newCampaign, newNumbers } from './support/campaigns.js';

const NOTHING = { not_started: 0, started: 0, finished: 0, failed: 0, rejected: 0 };

describe.each(backends)('with a database of $name', ({ open }) => {
  let nowMs: number;
  let opened: TestDatabase;
  let campaigns: CampaignStore;
  let records: CampaignRecordStore;
  let calls: CampaignCallStore;

  beforeAll(async () => {
    opened = await open(() => nowMs);
  });
  afterAll(() => opened.remove());

  beforeEach(async () => {
    nowMs = 1_000_000;
    await opened.database.run(sql`DELETE FROM campaigns`);
    campaigns = new CampaignStore(opened.database);
    records = new CampaignRecordStore(opened.database);
    calls = new CampaignCallStore(opened.database, { id: 'here' });
    for (const id of ['a', 'b']) await campaigns.add(newCampaign(id));
  });

  const add = async (campaignId: string, numbers: readonly string[], place = 'UTC'): Promise<boolean[] | null> => {
    const added = await records.add(
      campaignId,
      numbers.map((phone, dueMs) => ({ phone, metadata: {}, place, dueMs })),
      'upload',
    );
    await records.endUpload('upload');
    return added;
  };

  /** The next record of a place gets a call. Returns its `seq`. */
  const begin = async (campaignId: string, sessionId: string, place = 'UTC'): Promise<number> =>
    calls.decide(function* () {
      const nowUs = yield* calls.nowUs();
      const running = (yield* calls.running(nowUs)).find(({ campaign }) => campaign.id === campaignId);
      const claim = running === undefined ? null : yield* calls.claim(running, place, nowUs);
      if (claim === null) throw new Error('nobody to call');
      const { record } = claim;
      if (!(yield* calls.begin(record, { sessionId, nowMs: 5, concurrent: 100 }))) throw new Error('not begun');
      return record.seq;
    });

  const end = (seq: number, sessionId: string, dueMs: number | null = null): Promise<boolean> =>
    calls.decide(() =>
      calls.end(seq, sessionId, {
        status: dueMs === null ? 'finished' : 'started',
        dueMs,
        retried: {},
        reason: null,
      }),
    );

  describe('campaigns', () => {
    it('are listed in their order, and changed where their status allows it', async () => {
      await campaigns.add(newCampaign('c', { createdAt: -1 }));
      expect((await campaigns.list()).map(({ id }) => id)).toEqual(['c', 'a', 'b']);
      const overrides = { perMinute: 3 };
      expect(await campaigns.change('a', { overrides, includeMetadataInPrompt: true, reason: 'x' })).toEqual({
        ...newCampaign('a'),
        overrides,
        includeMetadataInPrompt: true,
        reason: 'x',
      });
      expect(await campaigns.change('a', { status: 'paused' }, ['idle'])).toBeNull();
      expect(await campaigns.change('a', { status: 'paused', reason: null }, ['started'])).toMatchObject({
        status: 'paused',
        reason: null,
      });
      expect(await campaigns.change('a', {})).toMatchObject({ status: 'paused', overrides });
      expect(await campaigns.change('nobody', { name: 'x' })).toBeNull();
    });

    it('are finished when nobody waits, is being called or is being uploaded', async () => {
      await add('a', newNumbers(1));
      expect(await campaigns.finish('a', 'started')).toBe(false);
      const seq = await begin('a', 's');
      expect(await campaigns.finish('a', 'started')).toBe(false);
      expect(await campaigns.retire('a')).toBe(false);
      await end(seq, 's');
      expect(await records.beginUpload('u', 'a')).toBe(true);
      expect(await campaigns.finish('a', 'started')).toBe(false);
      await records.endUpload('u');
      expect(await campaigns.finish('a', 'paused')).toBe(false);
      expect(await campaigns.finish('a', 'started')).toBe(true);
      expect(await records.beginUpload('u', 'a')).toBe(false);
      expect(await add('a', newNumbers(2))).toBeNull();
      expect(await campaigns.change('a', { name: 'x' })).toBeNull();
    });

    it('do not wait for ever for an upload whose node has died', async () => {
      await records.beginUpload('u', 'a');
      nowMs += 59_000;
      await records.add('a', [], 'u');
      nowMs += 59_000;
      expect(await campaigns.finish('a', 'started')).toBe(false);
      nowMs += 2_000;
      expect(await campaigns.finish('a', 'started')).toBe(true);
    });

    it('are not removed while they run', async () => {
      expect(await campaigns.retire('a')).toBe(false);
      await campaigns.change('a', { status: 'paused' });
      expect(await campaigns.retire('a')).toBe(true);
      expect(await campaigns.get('a')).toMatchObject({ status: 'finished' });
    });
  });

  describe('records of campaigns', () => {
    it('are counted by status, whatever happens to them', async () => {
      await add('a', newNumbers(6));
      await add('b', newNumbers(1));
      expect((await add('a', newNumbers(7)))?.filter(Boolean)).toHaveLength(1);
      await records.reject('a', [{ phone: 'nobody', metadata: {}, reason: 'no number' }]);
      const seqs: number[] = [];
      for (const session of ['s1', 's2', 's3']) seqs.push(await begin('a', session));
      const [first = 0, second = 0, third = 0] = seqs;
      await end(first, 's1');
      await end(second, 's2', 99);
      const [, , , fourth, fifth] = await records.page({ campaignId: 'a', after: 0, limit: 9 });
      expect(await records.remove(fifth?.seq ?? 0)).toBe(true);
      expect(await records.remove(third)).toBe(false);
      expect(fourth).toMatchObject({ status: 'not_started', attempts: 0, dueMs: 3 });
      const left = { not_started: 3, started: 2, finished: 1, failed: 0, rejected: 1 };
      expect(await records.counts('a')).toEqual(left);
      expect(await records.counts('b')).toEqual({ ...NOTHING, not_started: 1 });
      expect(await campaigns.get('a')).toMatchObject({ lastCallMs: 5 });
      await calls.decide(() => calls.refusePlace('a', 'UTC', 'never'));
      expect(await records.counts('a')).toEqual({ ...left, not_started: 0, started: 1, failed: 4 });
    });

    it('keep the first of those with the same number', async () => {
      const [one = '', two = ''] = newNumbers(2);
      expect(await add('a', [one, two, one, one, two])).toEqual([true, true, false, false, false]);
      const many = newNumbers(257, '+1303555');
      expect(await add('a', [...many, one])).toEqual([...many.map(() => true), false]);
      const page = await records.page({ campaignId: 'a', after: 0, limit: 1000 });
      expect(page.map(({ phone }) => phone)).toEqual([one, two, ...many]);
    });

    it('are listed page by page, also by status', async () => {
      await add('a', newNumbers(5));
      await begin('a', 's');
      const page = await records.page({ campaignId: 'a', after: 0, limit: 2 });
      const rest = await records.page({ campaignId: 'a', after: page.at(-1)?.seq ?? 0, limit: 9 });
      expect([...page, ...rest].map(({ phone }) => phone)).toEqual(newNumbers(5));
      const waiting = await records.page({ campaignId: 'a', after: 0, limit: 9 }, 'not_started');
      expect(waiting.map(({ phone }) => phone)).toEqual(newNumbers(5).slice(1));
    });

    it('go with their campaign, bit by bit or at once', async () => {
      await add('a', newNumbers(5));
      await records.reject('a', [{ phone: 'nobody', metadata: {}, reason: 'no number' }]);
      let steps = 0;
      while (await records.removeSome('a', 2)) steps++;
      expect(steps).toBe(3);
      expect(await records.counts('a')).toEqual(NOTHING);
      await add('a', newNumbers(5));
      await campaigns.remove('a');
      expect(await opened.database.all(sql`SELECT 1 FROM campaign_records`)).toEqual([]);
      expect(await opened.database.all(sql`SELECT 1 FROM campaign_counts`)).toEqual([]);
    });

    it('end once: what comes of a call that is not the latest changes nothing', async () => {
      await add('a', newNumbers(1));
      const seq = await begin('a', 'first');
      expect(await calls.callsOf('a')).toBe(1);
      expect(await end(seq, 'other')).toBe(false);
      expect(await calls.decide(() => calls.inProgress('a', 'other'))).toBeNull();
      expect(await calls.decide(() => calls.inProgress('a', 'first'))).toMatchObject({ seq, calling: true });
      expect(await end(seq, 'first')).toBe(true);
      expect(await end(seq, 'first', 99)).toBe(false);
      expect(await records.bySeq(seq)).toMatchObject({ status: 'finished', attempts: 1, calling: false });
      expect(await calls.callsOf('a')).toBe(0);
    });

    it('are erased by number in all campaigns, but where it is being called', async () => {
      const [first = '', second = ''] = newNumbers(2);
      await add('a', [first, second]);
      await add('b', [first]);
      await records.reject('b', [{ phone: '+1 (202) 555-1000', metadata: {}, reason: 'twice' }]);
      await begin('b', 'call');
      expect(await records.erase(first)).toBe(2);
      expect(await records.get('a', first)).toBeNull();
      expect(await records.get('b', first)).toMatchObject({ calling: true });
      expect(await records.counts('b')).toMatchObject({ rejected: 0 });
    });

    it('forget the oldest refusals where there are ten thousand', async () => {
      const refusals = (count: number) =>
        Array.from({ length: count }, (_, index) => ({
          phone: String(index),
          metadata: { index },
          reason: 'no number',
        }));
      await records.reject('a', refusals(9_999));
      await records.reject('a', refusals(3));
      expect(await records.counts('a')).toMatchObject({ rejected: 10_000 });
      expect(await records.rejections({ campaignId: 'a', after: 0, limit: 1 })).toMatchObject([
        { phone: '2', metadata: { index: 2 }, reason: 'no number' },
      ]);
    });
  });
});
