import { WEEKDAYS } from '../../../src/base/local-time.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallingHours } from '../../../src/settings/campaign-schedule.js';
import { isWithinHours, nextWithinHours } from '../../../src/daemon/campaigns/calling-hours.js';

const EVERY_DAY: CallingHours = { hoursStart: '09:00', hoursEnd: '20:00', days: [...WEEKDAYS] };
const WORKDAYS: CallingHours = { ...EVERY_DAY, days: ['mon', 'tue', 'wed', 'thu', 'fri'] };

const next = (hours: CallingHours, zones: string[], from: string): string | null => {
  const atMs = nextWithinHours(hours, zones, Date.parse(from));
  return atMs === null ? null : new Date(atMs).toISOString();
};

describe('calling hours', () => {
  it.each([
    ['Europe/Berlin', '2026-11-20T07:59:59Z', false],
    ['Europe/Berlin', '2026-11-20T08:00:00Z', true],
    ['Europe/Berlin', '2026-11-20T18:59:59Z', true],
    ['Europe/Berlin', '2026-11-20T19:00:00Z', false],
    ['Asia/Kathmandu', '2026-11-20T03:14:00Z', false],
    ['Asia/Kathmandu', '2026-11-20T03:15:00Z', true],
    ['Pacific/Auckland', '2026-11-20T20:00:00Z', false], // Saturday there
  ])('%s at %s: %s', (zone, at, open) => {
    expect(isWithinHours(WORKDAYS, [zone], Date.parse(at))).toBe(open);
  });

  it('follows the clocks when they are set back and forward', () => {
    // New York: UTC-4 until 1 November 2026, UTC-5 until 14 March 2027.
    expect(next(EVERY_DAY, ['America/New_York'], '2026-10-31T03:00:00Z')).toBe('2026-10-31T13:00:00.000Z');
    expect(next(EVERY_DAY, ['America/New_York'], '2026-11-01T02:00:00Z')).toBe('2026-11-01T14:00:00.000Z');
    expect(next(EVERY_DAY, ['America/New_York'], '2027-03-14T02:00:00Z')).toBe('2027-03-14T13:00:00.000Z');
  });

  it('opens after the gap where the clocks leave out the first minutes', () => {
    const hours = { ...EVERY_DAY, hoursStart: '02:30', hoursEnd: '06:00' };
    // New York has no 02:30 on 14 March 2027: after 01:59:59 comes 03:00.
    const opening = next(hours, ['America/New_York'], '2027-03-14T06:00:00Z');
    expect(opening).toBe('2027-03-14T07:30:00.000Z');
    expect(isWithinHours(hours, ['America/New_York'], Date.parse(opening ?? ''))).toBe(true);
  });

  it('waits for Monday', () => {
    expect(next(WORKDAYS, ['Europe/Berlin'], '2026-11-21T12:00:00Z')).toBe('2026-11-23T08:00:00.000Z');
  });

  it('waits for a moment that is within the hours in all of the zones', () => {
    const zones = ['America/New_York', 'America/Los_Angeles', 'Pacific/Honolulu'];
    expect(next(EVERY_DAY, zones, '2026-11-20T12:00:00Z')).toBe('2026-11-20T19:00:00.000Z');
  });

  it('says where there is none', () => {
    const hours = { ...EVERY_DAY, hoursEnd: '10:00' };
    expect(next(hours, ['Europe/Berlin', 'America/New_York'], '2026-11-20T12:00:00Z')).toBeNull();
  });

  it('is on all day with 00:00 and 24:00', () => {
    const hours = { ...EVERY_DAY, hoursStart: '00:00', hoursEnd: '24:00' };
    const always = fc.integer({ min: 0, max: 4e12 });
    fc.assert(fc.property(always, (unixMs) => isWithinHours(hours, ['Africa/Cairo', 'America/St_Johns'], unixMs)));
  });

  it('always opens within the hours, and not later than it could', () => {
    const time = fc.integer({ min: 0, max: 23 * 60 }).map((minutes) => minutes);
    const clock = (minutes: number): string =>
      `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
    const hoursOf = fc
      .record({
        start: time,
        length: fc.integer({ min: 10, max: 600 }),
        days: fc.subarray([...WEEKDAYS], { minLength: 1 }),
      })
      .map(({ start, length, days }) => {
        const hoursEnd = clock(Math.min(24 * 60, start + length));
        return { hoursStart: clock(start), hoursEnd, days };
      });
    const zone = fc.constantFrom(
      'America/New_York',
      'Europe/London',
      'Australia/Lord_Howe',
      'Asia/Tehran',
      'America/St_Johns',
    );
    const moment = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2028, 0, 1) });
    fc.assert(
      fc.property(hoursOf, fc.uniqueArray(zone, { minLength: 1, maxLength: 2 }), moment, (hours, zones, fromMs) => {
        const atMs = nextWithinHours(hours, zones, fromMs);
        if (atMs === null) return;
        expect(isWithinHours(hours, zones, atMs)).toBe(true);
        // The clocks may jump over the first hour of an opening.
        for (let earlier = fromMs; earlier < atMs - 3_600_000; earlier += 300_000) {
          expect(isWithinHours(hours, zones, earlier)).toBe(false);
        }
      }),
      { numRuns: 60 },
    );
  });
});
