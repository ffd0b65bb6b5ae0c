import { describe, expect, it } from 'vitest';
import { utcOf, wallTime } from '../../../src/tools/apps/cal-com.js';

describe('the time on the wall', () => {
  it.each([
    ['2026-11-23T09:30', 'Europe/Berlin', '2026-11-23T08:30:00Z'],
    ['2026-07-01 09:30:15', 'America/New_York', '2026-07-01T13:30:15Z'],
    ['2026-01-01T00:00', 'Pacific/Kiritimati', '2025-12-31T10:00:00Z'],
    ['2026-11-23T09:30Z', 'Europe/Berlin', '2026-11-23T09:30:00Z'],
    ['2026-11-23T09:30:00+05:30', 'Europe/Berlin', '2026-11-23T04:00:00Z'],
    // Skipped by the clocks, and shown twice.
    ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00Z'],
    ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00Z'],
  ])('%s in %s is %s', (wall, timezone, utc) => {
    expect(utcOf(wall, timezone)).toBe(utc);
  });

  it.each(['tomorrow', '2026-02-30T10:00', '2026-01-01T24:30', '2026-13-01T10:00'])('is not %s', (wall) => {
    expect(utcOf(wall, 'UTC')).toBeNull();
  });

  it('is given for an instant', () => {
    expect(wallTime('2026-11-23T09:00:00.000+02:00', 'Asia/Kolkata')).toBe('2026-11-23T12:30');
    expect(wallTime('soon', 'UTC')).toBeNull();
  });
});
