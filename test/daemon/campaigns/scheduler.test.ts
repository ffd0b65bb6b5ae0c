import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CampaignSchedule, DEFAULT_CAMPAIGN_SCHEDULE, WEEKDAYS } from '../../../src/settings/campaign-schedule.js';
import { Scheduler, type WaitingRecord, type WaitingRecords } from '../../../src/daemon/campaigns/scheduler.js';
import { isWithinHours } from '../../../src/daemon/campaigns/calling-hours.js';

const ALWAYS: CampaignSchedule = {
  ...DEFAULT_CAMPAIGN_SCHEDULE,
  timezone: 'UTC',
  concurrent: 2,
  perMinute: 60,
  hoursStart: '00:00',
  hoursEnd: '24:00',
  days: [...WEEKDAYS],
};
const NOON = Date.parse('2026-11-20T12:00:00Z');

/** Records in memory. */
class Waiting implements WaitingRecords {
  readonly #records = new Map<string, WaitingRecord[]>();
  #seq = 0;

  add(campaignId: string, place: string, dueMs: number): void {
    const all = this.#records.get(campaignId) ?? [];
    this.#records.set(campaignId, [...all, { seq: ++this.#seq, dueMs, place }]);
  }

  take(campaignId: string, { seq }: WaitingRecord): void {
    this.#records.set(
      campaignId,
      this.of(campaignId).filter((record) => record.seq !== seq),
    );
  }

  of(campaignId: string): readonly WaitingRecord[] {
    return this.#records.get(campaignId) ?? [];
  }

  places(campaignId: string): readonly string[] {
    return [...new Set(this.of(campaignId).map(({ place }) => place))];
  }

  first(campaignId: string, place: string): WaitingRecord | null {
    const inOrder = this.of(campaignId)
      .filter((record) => record.place === place)
      .toSorted((a, b) => a.dueMs - b.dueMs || a.seq - b.seq);
    return inOrder[0] ?? null;
  }
}

function open(campaigns: Record<string, Partial<CampaignSchedule>>): { waiting: Waiting; scheduler: Scheduler } {
  const waiting = new Waiting();
  const scheduler = new Scheduler(waiting);
  for (const [id, schedule] of Object.entries(campaigns)) scheduler.start(id, { ...ALWAYS, ...schedule }, null);
  return { waiting, scheduler };
}

describe('whom campaigns call next', () => {
  it('calls in the order of being due, one after the other at the pace', () => {
    const { waiting, scheduler } = open({ a: {} });
    waiting.add('a', 'UTC', NOON - 1);
    waiting.add('a', 'UTC', NOON - 2);
    expect(scheduler.next(NOON)).toMatchObject({ type: 'call', campaignId: 'a', record: { seq: 2 } });
    waiting.take('a', { seq: 2, dueMs: 0, place: '' });
    scheduler.began('a', NOON);
    expect(scheduler.next(NOON)).toEqual({ type: 'wait', untilMs: NOON + 1000 });
    expect(scheduler.next(NOON + 1000)).toMatchObject({ type: 'call', record: { seq: 1 } });
  });

  it('waits for a call to end when all lines of the campaign are taken', () => {
    const { waiting, scheduler } = open({ a: { concurrent: 1 } });
    waiting.add('a', 'UTC', NOON);
    scheduler.began('a', NOON);
    expect(scheduler.next(NOON + 60_000)).toEqual({ type: 'wait', untilMs: null });
    scheduler.ended('a');
    expect(scheduler.next(NOON + 60_000)).toMatchObject({ type: 'call' });
  });

  it('goes on at its pace after a restart', () => {
    const { waiting, scheduler } = open({});
    scheduler.start('a', { ...ALWAYS, perMinute: 1 }, NOON - 20_000);
    waiting.add('a', 'UTC', NOON);
    expect(scheduler.next(NOON)).toEqual({ type: 'wait', untilMs: NOON + 40_000 });
  });

  it('is not held up by a clock that was set back', () => {
    const { waiting, scheduler } = open({});
    scheduler.start('a', ALWAYS, NOON + 86_400_000);
    waiting.add('a', 'UTC', NOON);
    expect(scheduler.next(NOON)).toEqual({ type: 'wait', untilMs: NOON + 1000 });
  });

  it('says why it waits', () => {
    const { waiting, scheduler } = open({ a: { hoursStart: '09:00', hoursEnd: '20:00', concurrent: 1 } });
    const why = (nowMs: number): string | null => {
      scheduler.next(nowMs);
      return scheduler.whyLater('a');
    };
    waiting.add('a', 'America/Los_Angeles', NOON - 10);
    expect(why(NOON)).toBe('outside the calling hours');
    waiting.add('a', 'UTC', NOON + 5_000);
    expect(why(NOON)).toBe('no call is due before');
    expect(why(NOON + 5_000)).toBeNull();
    scheduler.block(NOON + 8_000);
    expect(why(NOON + 5_000)).toMatch(/the operator's settings/);
    scheduler.block(0);
    scheduler.began('a', NOON + 5_000);
    expect(why(NOON + 5_000)).toMatch(/at once/);
    scheduler.ended('a');
    expect(why(NOON + 5_500)).toBe('the pace of the campaign');
    expect(why(NOON + 6_000)).toBeNull();
  });

  it('calls those whose day has begun, and wakes for the others', () => {
    const { waiting, scheduler } = open({ a: { hoursStart: '09:00', hoursEnd: '20:00' } });
    waiting.add('a', 'America/Los_Angeles', NOON - 10);
    expect(scheduler.next(NOON)).toEqual({ type: 'wait', untilMs: Date.parse('2026-11-20T17:00:00Z') });
    expect(scheduler.nextCallMs('a')).toBe(Date.parse('2026-11-20T17:00:00Z'));
    waiting.add('a', 'Europe/Berlin', NOON - 5);
    expect(scheduler.next(NOON)).toMatchObject({ type: 'call', record: { place: 'Europe/Berlin' } });
  });

  it('goes by the schedule where the number tells of no place', () => {
    const hours = { hoursStart: '09:00', hoursEnd: '20:00', timezone: 'Asia/Tokyo' };
    const { waiting, scheduler } = open({ a: hours });
    waiting.add('a', '', NOON);
    expect(scheduler.next(NOON)).toEqual({ type: 'wait', untilMs: Date.parse('2026-11-21T00:00:00Z') });
  });

  it('refuses those for whom there are no calling hours at all', () => {
    const { waiting, scheduler } = open({ a: { hoursStart: '09:00', hoursEnd: '10:00' } });
    waiting.add('a', '+1', NOON);
    expect(scheduler.next(NOON)).toMatchObject({ type: 'refuse', campaignId: 'a', place: '+1' });
  });

  it('has finished when nobody waits and no call is under way', () => {
    const { scheduler } = open({ a: {} });
    scheduler.began('a', NOON);
    expect(scheduler.next(NOON)).toEqual({ type: 'wait', untilMs: null });
    scheduler.ended('a');
    expect(scheduler.next(NOON)).toEqual({ type: 'finish', campaignId: 'a' });
  });

  it('calls for nobody while it is blocked, then for the campaigns in turn', () => {
    const { waiting, scheduler } = open({ a: { concurrent: 100 }, b: { concurrent: 100 } });
    for (let count = 0; count < 5; count++) for (const id of ['a', 'b']) waiting.add(id, 'UTC', NOON);
    scheduler.block(NOON + 5000);
    expect(scheduler.next(NOON)).toEqual({ type: 'wait', untilMs: NOON + 5000 });
    const turns: string[] = [];
    for (let atMs = NOON + 5000; turns.length < 6; atMs += 2000) {
      for (let found = scheduler.next(atMs); found.type === 'call'; found = scheduler.next(atMs)) {
        turns.push(found.campaignId);
        waiting.take(found.campaignId, found.record);
        scheduler.began(found.campaignId, atMs);
      }
    }
    expect(turns.slice(0, 6).toSorted()).toEqual(['a', 'a', 'a', 'b', 'b', 'b']);
    expect(turns[0]).not.toBe(turns[1]);
  });

  it('keeps pace, lines and hours whatever happens, and leaves nobody out', () => {
    const place = fc.constantFrom('', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Pacific/Auckland');
    const campaign = fc.record({
      concurrent: fc.integer({ min: 1, max: 4 }),
      perMinute: fc.constantFrom(0.5, 6, 60, 600),
      hoursStart: fc.constantFrom('00:00', '09:00', '12:30'),
      hoursEnd: fc.constantFrom('13:00', '20:00', '24:00'),
      days: fc.subarray([...WEEKDAYS], { minLength: 2 }),
      records: fc.array(fc.record({ place, inMs: fc.integer({ min: 0, max: 7_200_000 }) }), { maxLength: 12 }),
    });
    const scenario = fc.record({
      campaigns: fc.array(campaign, { minLength: 1, maxLength: 4 }),
      lengths: fc.array(fc.integer({ min: 100, max: 600_000 }), { minLength: 1, maxLength: 10 }),
      pauses: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(scenario, ({ campaigns, lengths, pauses }) => {
        const waiting = new Waiting();
        const scheduler = new Scheduler(waiting);
        const schedules = campaigns.map(({ records: _none, ...rest }): CampaignSchedule => ({ ...ALWAYS, ...rest }));
        for (const [index, { records }] of campaigns.entries()) {
          for (const record of records) waiting.add(String(index), record.place, NOON + record.inMs);
          scheduler.start(String(index), schedules[index] as CampaignSchedule, null);
        }
        const ends: { campaignId: string; atMs: number }[] = [];
        const last = new Map<string, number>();
        const finished = new Set<string>();
        let nowMs = NOON;
        let calls = 0;
        for (let step = 0; finished.size < campaigns.length; step++) {
          expect(step).toBeLessThan(3000);
          if (pauses.includes(step)) {
            scheduler.stop('0');
            expect(JSON.stringify(scheduler.next(nowMs))).not.toContain('"campaignId":"0"');
            scheduler.start('0', schedules[0] as CampaignSchedule, last.get('0') ?? null);
          }
          const found = scheduler.next(nowMs);
          if (found.type === 'finish') {
            expect(waiting.of(found.campaignId)).toEqual([]);
            finished.add(found.campaignId);
            scheduler.stop(found.campaignId);
          } else if (found.type === 'call') {
            const { campaignId, record } = found;
            const schedule = schedules[Number(campaignId)] as CampaignSchedule;
            expect(record.dueMs).toBeLessThanOrEqual(nowMs);
            expect(isWithinHours(schedule, [record.place === '' ? 'UTC' : record.place], nowMs)).toBe(true);
            expect(scheduler.calls(campaignId)).toBeLessThan(schedule.concurrent);
            expect(nowMs - (last.get(campaignId) ?? -Infinity)).toBeGreaterThanOrEqual(60_000 / schedule.perMinute);
            waiting.take(campaignId, record);
            scheduler.began(campaignId, nowMs);
            last.set(campaignId, nowMs);
            ends.push({ campaignId, atMs: nowMs + (lengths[calls++ % lengths.length] as number) });
          } else if (found.type === 'wait') {
            const nextEnd = Math.min(...ends.map(({ atMs }) => atMs));
            const untilMs = Math.min(found.untilMs ?? Infinity, nextEnd);
            expect(untilMs).toBeGreaterThan(nowMs);
            expect(untilMs).toBeLessThan(Infinity);
            nowMs = untilMs;
            for (const { campaignId } of ends.filter(({ atMs }) => atMs <= nowMs)) scheduler.ended(campaignId);
            ends.splice(0, ends.length, ...ends.filter(({ atMs }) => atMs > nowMs));
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});
