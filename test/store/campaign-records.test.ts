import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CampaignRecordStore } from '../../src/store/campaign-records.js';
import { CampaignStore } from '../../src/store/campaigns.js';
import { openDatabase } from '../../src/store/database.js';

let folder: string;
let database: Database.Database;
let campaigns: CampaignStore;
let records: CampaignRecordStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-records-'));
  database = openDatabase(folder);
  campaigns = new CampaignStore(database);
  records = new CampaignRecordStore(database);
  for (const id of ['a', 'b']) {
    campaigns.add({
      id,
      name: id,
      status: 'idle',
      caller: null,
      includeMetadataInPrompt: false,
      overrides: {},
      reason: null,
      lastCallMs: null,
      createdAt: 0,
    });
  }
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const phones = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `+1202555${String(1000 + index)}`);
const add = (campaignId: string, numbers: readonly string[], place = 'UTC'): boolean[] =>
  records.add(
    campaignId,
    numbers.map((phone, dueMs) => ({ phone, metadata: {}, place, dueMs })),
  );
const NOTHING = { not_started: 0, started: 0, finished: 0, failed: 0, rejected: 0 };

describe('records of campaigns', () => {
  it('are counted by status, whatever happens to them', () => {
    add('a', phones(6));
    add('b', phones(1));
    expect(add('a', phones(7)).filter(Boolean)).toHaveLength(1);
    records.reject('a', [{ phone: 'nobody', metadata: {}, reason: 'no number' }]);
    for (const seq of [1, 2, 3]) expect(records.begin(seq, `s${String(seq)}`, 5)).toBe(true);
    expect(records.begin(1, 'again', 5)).toBe(false);
    records.end(1, 's1', { status: 'finished', dueMs: null, retried: {}, reason: null });
    records.end(2, 's2', { status: 'started', dueMs: 99, retried: { busy: 1 }, reason: 'busy' });
    records.refuse(4, 'do not call');
    expect(records.remove(5)).toBe(true);
    expect(records.remove(3)).toBe(false);
    const left = { not_started: 2, started: 2, finished: 1, failed: 1, rejected: 1 };
    expect(records.counts('a')).toEqual(left);
    expect(records.counts('b')).toEqual({ ...NOTHING, not_started: 1 });
    expect(campaigns.get('a')?.lastCallMs).toBe(5);
    records.refusePlace('a', 'UTC', 'never');
    expect(records.counts('a')).toEqual({ ...left, not_started: 0, started: 1, failed: 4 });
  });

  it('go with their campaign, bit by bit or at once', () => {
    add('a', phones(5));
    records.reject('a', [{ phone: 'nobody', metadata: {}, reason: 'no number' }]);
    let steps = 0;
    while (records.removeSome('a', 2)) steps++;
    expect(steps).toBe(3);
    expect(records.counts('a')).toEqual(NOTHING);
    add('a', phones(5));
    campaigns.remove('a');
    expect(database.prepare('SELECT COUNT(*) AS n FROM campaign_records').get()).toEqual({ n: 0 });
    expect(database.prepare('SELECT SUM(count) AS n FROM campaign_counts').get()).toEqual({ n: null });
  });

  it('end once: what comes of a call that is not the latest changes nothing', () => {
    add('a', phones(1));
    records.begin(1, 'first', 0);
    const end = { status: 'finished', dueMs: null, retried: {}, reason: null } as const;
    expect(records.end(1, 'other', end)).toBe(false);
    expect(records.end(1, 'first', end)).toBe(true);
    expect(records.end(1, 'first', { ...end, status: 'failed' })).toBe(false);
    expect(records.bySeq(1)).toMatchObject({ status: 'finished', attempts: 1, calling: false });
  });

  it('are found by place, those without one too, the first that is due first', () => {
    add('a', phones(3), 'Europe/Berlin');
    add('a', ['+80012345678'], '');
    add('b', phones(1), 'Asia/Tokyo');
    expect(records.places('a')).toEqual(['', 'Europe/Berlin']);
    expect(records.first('a', 'Europe/Berlin')).toMatchObject({ seq: 1, dueMs: 0 });
    records.postpone(1, 50);
    expect(records.first('a', 'Europe/Berlin')).toMatchObject({ seq: 2 });
    expect(records.first('a', 'Asia/Tokyo')).toBeNull();
  });

  it('are erased by number in all campaigns, but where it is being called', () => {
    const [first = '', second = ''] = phones(2);
    add('a', [first, second]);
    add('b', [first]);
    records.reject('b', [{ phone: '+1 (202) 555-1000', metadata: {}, reason: 'twice' }]);
    records.begin(3, 'call', 0);
    expect(records.erase(first)).toBe(2);
    expect(records.get('a', first)).toBeNull();
    expect(records.get('b', first)).toMatchObject({ calling: true });
    expect(records.counts('b')).toMatchObject({ rejected: 0 });
  });

  it('forget the oldest refusals where there are ten thousand', () => {
    const refusals = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ phone: String(index), metadata: {}, reason: 'no number' }));
    records.reject('a', refusals(9_999));
    records.reject('a', refusals(3));
    expect(records.counts('a')).toMatchObject({ rejected: 10_000 });
    expect(records.rejections({ campaignId: 'a', after: 0, limit: 1 })).toMatchObject([{ phone: '2' }]);
  });
});
