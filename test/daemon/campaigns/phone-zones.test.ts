import { describe, expect, it } from 'vitest';
import { placeOfNumber, zonesOfPlace } from '../../../src/daemon/campaigns/phone-zones.js';

const zonesOf = (number: string): readonly string[] => zonesOfPlace(placeOfNumber(number));

describe('time zones of numbers', () => {
  it.each([
    ['+12025550101', 'America/New_York'],
    ['+13125550101', 'America/Chicago'],
    ['+13035550101', 'America/Denver'],
    ['+14155550101', 'America/Los_Angeles'],
    ['+18085550101', 'Pacific/Honolulu'],
    ['+16025550101', 'America/Phoenix'],
    ['+14165550101', 'America/Toronto'],
    ['+442079460000', 'Europe/London'],
    ['+493023125000', 'Europe/Berlin'],
    ['+33199000000', 'Europe/Paris'],
    ['+61255501234', 'Australia/Sydney'],
    ['+74951234567', 'Europe/Moscow'],
  ])('%s is in %s', (number, zone) => {
    expect(zonesOf(number)).toEqual([zone]);
  });

  it('goes by the digits behind the area code where a zone ends within it', () => {
    expect(zonesOf('+12195550101')).toEqual(['America/New_York']);
    expect(zonesOf('+12192265555')).toEqual(['America/Chicago']);
  });

  it('gives every zone that a number may be in where it tells no more', () => {
    expect(zonesOf('+18005550100')).toEqual(
      expect.arrayContaining(['America/New_York', 'America/Los_Angeles', 'Pacific/Honolulu', 'America/Toronto']),
    );
  });

  it('gives none for numbers of no place', () => {
    expect(placeOfNumber('+80012345678')).toBe('');
    expect(zonesOf('+80012345678')).toEqual([]);
  });

  it('has one short word for all numbers that may be in the same zones', () => {
    const tollFree = placeOfNumber('+18005550100');
    expect(tollFree.length).toBeLessThan(12);
    expect(placeOfNumber('+18775550100')).toBe(tollFree);
  });

  it('has no zone that this runtime does not know', () => {
    const places = ['+1', '+7', '+61', '+55', '+52', '+62', '+86', '+351', '+34'];
    for (const zone of places.flatMap(zonesOfPlace)) {
      expect(() => new Intl.DateTimeFormat('en', { timeZone: zone })).not.toThrow();
    }
  });
});
