import { describe, expect, it } from 'vitest';
import { dateAt, isoDate, parseIsoDate, spokenDate } from '../../../src/base/spoken/date.js';
import { utteranceWords } from '../../../src/base/spoken/words.js';

/** Saturday. */
const TODAY = parseIsoDate('2026-11-21');

function read(text: string, today = TODAY): string | null {
  const found = dateAt(utteranceWords(text), 0, today);
  if (found === null) return null;
  return found.day === null ? 'words' : `${isoDate(found.day)}${found.clear ? '' : '?'}`;
}

describe('days', () => {
  it.each([
    ['today', '2026-11-21'],
    ['tonight', '2026-11-21'],
    ['this evening', '2026-11-21'],
    ['tomorrow', '2026-11-22'],
    ['tomorrow evening', '2026-11-22'],
    ['the day after tomorrow', '2026-11-23'],
    ['in three days', '2026-11-24'],
    ['in a week', '2026-11-28'],
    ['in a couple of weeks', '2026-12-05'],
    ['sunday', '2026-11-22'],
    ['friday', '2026-11-27'],
    ['saturday', '2026-11-28'],
    ['this saturday', '2026-11-21'],
    ['next friday', '2026-11-27'],
    ['next saturday', '2026-11-28'],
    ['next sunday', '2026-11-29'],
    ['friday next week', '2026-11-27'],
    ['friday the fourth of december', '2026-12-04'],
    ['monday the thirtieth', '2026-11-30'],
    ['the third of may', '2027-05-03'],
    ['third of may', '2027-05-03'],
    ['may the third', '2027-05-03'],
    ['may 3rd', '2027-05-03'],
    ['3 december', '2026-12-03'],
    ['december twenty first', '2026-12-21'],
    ['the twenty first of november', '2026-11-21'],
    ['the twentieth of november', '2027-11-20'],
    ['the third', '2026-12-03?'],
    ['the thirty first', '2026-12-31?'],
    ['christmas eve', '2026-12-24'],
    ["new year's eve", '2026-12-31'],
    ["new year's day", '2027-01-01'],
    ["valentine's day", '2027-02-14'],
    ['the twenty ninth of february', '2028-02-29'],
    ['2026-12-24', '2026-12-24'],
  ])('%s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it('next friday, said on a Monday, is that of next week', () => {
    const monday = parseIsoDate('2026-11-23');
    expect(read('next friday', monday)).toBe('2026-12-04');
    expect(read('friday', monday)).toBe('2026-11-27');
  });

  it('leaves days in words where today is not known', () => {
    expect(read('tomorrow', null)).toBe('words');
    expect(read('next friday', null)).toBe('words');
    expect(read('2026-12-24', null)).toBe('2026-12-24');
  });

  it.each([
    '',
    'the',
    'third',
    'may i',
    'sundays',
    'in four people',
    'the thirty second of may',
    '31 april',
    '2026-02-30',
    'next',
  ])('no day: "%s"', (text) => {
    expect(read(text) ?? 'none').toMatch(/^none$|^2027-05-30$|\?$/);
  });

  it('says days so that they are understood again', () => {
    for (let day = TODAY as number; day < (TODAY as number) + 365; day++) {
      expect(read(spokenDate(day, TODAY))).toBe(isoDate(day));
    }
  });
});
