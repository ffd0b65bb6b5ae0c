import { WEEKDAYS } from '../../../src/base/local-time.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CampaignSchedule, DEFAULT_CAMPAIGN_SCHEDULE } from '../../../src/settings/campaign-schedule.js';
import { isWithinHours } from '../../../src/daemon/campaigns/calling-hours.js';
import { type CampaignTurn, type CampaignUse, mayCall, turnOf } from '../../../src/daemon/campaigns/scheduler.js';
import type { WaitingPlace } from '../../../src/store/campaign-calls.js';

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

interface Waiting {
  seq: number;
  place: string;
  dueMs: number;
}

/** A campaign in memory. */
class Campaign {
  readonly use: CampaignUse;
  waiting: Waiting[] = [];
  /** Records that some node has claimed. */
  readonly claimed = new Set<number>();
  #seq = 0;

  constructor(schedule: Partial<CampaignSchedule> = {}) {
    this.use = {
      schedule: { ...ALWAYS, ...schedule },
      lastCallMs: null,
      calls: 0,
      claims: 0,
      claimedUs: null,
      claimsEndUs: null,
      uploadsEndUs: null,
    };
  }

  add(place: string, dueMs: number): this {
    this.waiting.push({ seq: ++this.#seq, place, dueMs });
    return this;
  }

  turn(nowMs: number, blockedMs = 0): CampaignTurn {
    return turnOf(this.use, this.#places(), { nowMs, blockedMs });
  }

  /** The first record of a place gets a call. */
  begin(place: string, nowMs: number): Waiting {
    const seq = this.#places().find((waiting) => waiting.place === place)?.first?.seq;
    const record = this.waiting.find((waiting) => waiting.seq === seq);
    if (record === undefined) throw new Error('nobody waits there');
    this.waiting = this.waiting.filter((waiting) => waiting !== record);
    this.use.calls++;
    this.use.lastCallMs = nowMs;
    return record;
  }

  #places(): WaitingPlace[] {
    const places = [...new Set(this.waiting.map(({ place }) => place))].toSorted();
    return places.map((place) => {
      const [first = null] = this.waiting
        .filter((waiting) => waiting.place === place && !this.claimed.has(waiting.seq))
        .toSorted((a, b) => a.dueMs - b.dueMs || a.seq - b.seq);
      return { place, first };
    });
  }
}

describe('what a campaign may do', () => {
  it('calls in the order of being due, one after the other at the pace', () => {
    const campaign = new Campaign().add('UTC', NOON - 1).add('Asia/Tokyo', NOON - 2);
    expect(campaign.turn(NOON)).toEqual({ type: 'call', place: 'Asia/Tokyo' });
    campaign.begin('Asia/Tokyo', NOON);
    expect(campaign.turn(NOON)).toEqual({ type: 'wait', untilMs: NOON + 1000, why: 'pace' });
    expect(campaign.turn(NOON + 1000)).toEqual({ type: 'call', place: 'UTC' });
  });

  it('waits for a call to end when all lines of the campaign are taken', () => {
    const campaign = new Campaign({ concurrent: 1 }).add('UTC', NOON).add('UTC', NOON);
    campaign.begin('UTC', NOON);
    expect(campaign.turn(NOON + 60_000)).toEqual({ type: 'wait', untilMs: null, why: 'concurrent' });
    campaign.use.calls = 0;
    expect(campaign.turn(NOON + 60_000)).toMatchObject({ type: 'call' });
  });

  it('counts what other nodes are about to call', () => {
    const campaign = new Campaign({ concurrent: 1 }).add('UTC', NOON).add('UTC', NOON);
    campaign.claimed.add(1);
    const claimed = { claims: 1, claimedUs: NOON * 1000, claimsEndUs: (NOON + 30_000) * 1000 };
    Object.assign(campaign.use, claimed);
    expect(campaign.turn(NOON + 5)).toEqual({ type: 'wait', untilMs: NOON + 30_000, why: 'concurrent' });
    campaign.use.schedule.concurrent = 2;
    expect(campaign.turn(NOON + 5)).toEqual({ type: 'wait', untilMs: NOON + 1000, why: 'pace' });
    campaign.claimed.add(2);
    expect(campaign.turn(NOON + 1000)).toMatchObject({ type: 'wait', untilMs: NOON + 30_000 });
  });

  it('goes on at its pace after a restart', () => {
    const campaign = new Campaign({ perMinute: 1 }).add('UTC', NOON);
    campaign.use.lastCallMs = NOON - 20_000;
    expect(campaign.turn(NOON)).toMatchObject({ type: 'wait', untilMs: NOON + 40_000 });
  });

  it('is not held up by a clock that was set back', () => {
    const campaign = new Campaign().add('UTC', NOON);
    campaign.use.lastCallMs = NOON + 86_400_000;
    expect(campaign.turn(NOON)).toMatchObject({ type: 'call' });
  });

  it('says why it waits', () => {
    const campaign = new Campaign({ hoursStart: '09:00', hoursEnd: '20:00', concurrent: 1 });
    campaign.add('America/Los_Angeles', NOON - 10);
    expect(campaign.turn(NOON)).toMatchObject({ why: 'hours' });
    campaign.add('UTC', NOON + 5_000);
    expect(campaign.turn(NOON)).toMatchObject({ why: 'due' });
    expect(campaign.turn(NOON + 5_000)).toEqual({ type: 'call', place: 'UTC' });
    expect(campaign.turn(NOON + 5_000, NOON + 8_000)).toMatchObject({ why: 'blocked', untilMs: NOON + 8_000 });
    campaign.use.lastCallMs = NOON + 5_000;
    expect(campaign.turn(NOON + 5_500)).toMatchObject({ why: 'pace' });
    campaign.use.calls = 1;
    expect(campaign.turn(NOON + 9_500)).toMatchObject({ why: 'concurrent' });
  });

  it('calls those whose day has begun, and wakes for the others', () => {
    const campaign = new Campaign({ hoursStart: '09:00', hoursEnd: '20:00' }).add('America/Los_Angeles', NOON - 10);
    expect(campaign.turn(NOON)).toMatchObject({ type: 'wait', untilMs: Date.parse('2026-11-20T17:00:00Z') });
    campaign.add('Europe/Berlin', NOON - 5);
    expect(campaign.turn(NOON)).toEqual({ type: 'call', place: 'Europe/Berlin' });
  });

  it('goes by the schedule where the number tells of no place', () => {
    const campaign = new Campaign({ hoursStart: '09:00', hoursEnd: '20:00', timezone: 'Asia/Tokyo' }).add('', NOON);
    expect(campaign.turn(NOON)).toMatchObject({ type: 'wait', untilMs: Date.parse('2026-11-21T00:00:00Z') });
  });

  it('refuses those for whom there are no calling hours at all', () => {
    const campaign = new Campaign({ hoursStart: '09:00', hoursEnd: '10:00' }).add('+1', NOON);
    expect(campaign.turn(NOON)).toMatchObject({ type: 'refuse', place: '+1' });
  });

  it('has finished when nobody waits, no call is under way and no upload either', () => {
    const campaign = new Campaign();
    campaign.use.calls = 1;
    expect(campaign.turn(NOON)).toEqual({ type: 'wait', untilMs: null, why: null });
    Object.assign(campaign.use, { calls: 0, uploadsEndUs: (NOON + 60_000) * 1000 });
    expect(campaign.turn(NOON)).toEqual({ type: 'wait', untilMs: NOON + 60_000, why: null });
    campaign.use.uploadsEndUs = null;
    expect(campaign.turn(NOON)).toEqual({ type: 'finish' });
  });

  it('keeps pace, lines and hours whatever happens, and leaves nobody out', () => {
    const place = fc.constantFrom('', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Pacific/Auckland');
    const scenario = fc.record({
      concurrent: fc.integer({ min: 1, max: 4 }),
      perMinute: fc.constantFrom(0.5, 6, 60, 600),
      hoursStart: fc.constantFrom('00:00', '09:00', '12:30'),
      hoursEnd: fc.constantFrom('13:00', '20:00', '24:00'),
      days: fc.subarray([...WEEKDAYS], { minLength: 2 }),
      records: fc.array(fc.record({ place, inMs: fc.integer({ min: 0, max: 7_200_000 }) }), { maxLength: 20 }),
      lengths: fc.array(fc.integer({ min: 100, max: 600_000 }), { minLength: 1, maxLength: 10 }),
    });
    fc.assert(
      fc.property(scenario, ({ records, lengths, ...limits }) => {
        const campaign = new Campaign(limits);
        const { use } = campaign;
        for (const record of records) campaign.add(record.place, NOON + record.inMs);
        let ends: number[] = [];
        let nowMs = NOON;
        let calls = 0;
        for (let step = 0; ; step++) {
          expect(step).toBeLessThan(3000);
          const turn = campaign.turn(nowMs);
          if (turn.type === 'finish') break;
          if (turn.type === 'call') {
            // The transaction that places the call says the same.
            expect(mayCall(use.schedule, use.lastCallMs, turn.place, nowMs)).toBe(true);
            expect(nowMs - (use.lastCallMs ?? -Infinity)).toBeGreaterThanOrEqual(60_000 / limits.perMinute);
            expect(use.calls).toBeLessThan(limits.concurrent);
            const record = campaign.begin(turn.place, nowMs);
            expect(record.dueMs).toBeLessThanOrEqual(nowMs);
            expect(isWithinHours(use.schedule, [record.place === '' ? 'UTC' : record.place], nowMs)).toBe(true);
            ends.push(nowMs + (lengths[calls++ % lengths.length] as number));
          } else if (turn.type === 'wait') {
            const untilMs = Math.min(turn.untilMs ?? Infinity, ...ends);
            expect(untilMs).toBeGreaterThan(nowMs);
            expect(untilMs).toBeLessThan(Infinity);
            nowMs = untilMs;
            use.calls -= ends.filter((endMs) => endMs <= nowMs).length;
            ends = ends.filter((endMs) => endMs > nowMs);
          }
        }
        expect(calls).toBe(records.length);
      }),
      { numRuns: 150 },
    );
  });
});
