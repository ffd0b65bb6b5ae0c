import { describe, expect, it } from 'vitest';
import { clockText, parseClock, spokenTime, timeAt } from '../../../src/base/spoken/time.js';
import { utteranceWords } from '../../../src/base/spoken/words.js';

const EVENING: [number, number] = [17 * 60, 22 * 60];

function read(text: string, between?: [number, number]): string | null {
  const words = utteranceWords(text);
  const found = timeAt(words, 0, between);
  return found === null
    ? null
    : `${clockText(found.minutes)}${found.clear ? '' : '?'} ${String(words.length - found.end)}`;
}

describe('times of day', () => {
  it.each([
    ['half past seven', '19:30 0'],
    ['half seven', '19:30 0'],
    ['quarter to eight', '19:45 0'],
    ['a quarter past six', '18:15 0'],
    ['ten past nine', '21:10 0'],
    ['twenty five minutes to eight', '19:35 0'],
    ['seven thirty', '19:30 0'],
    ['seven thirty p m', '19:30 0'],
    ['7:30', '19:30 0'],
    ['7.30pm', '19:30 0'],
    ['19:30', '19:30 0'],
    ['1930', '19:30? 0'],
    ['nineteen thirty', '19:30 0'],
    ['seven', '19:00? 0'],
    ["seven o'clock", '19:00 0'],
    ['seven oh five', '19:05 0'],
    ['8 p.m.', '20:00 0'],
    ['seven in the evening', '19:00 0'],
    ['ten at night', '22:00 0'],
    ['nine in the morning', '09:00 0'],
    ['11 am', '11:00 0'],
    ['noon', '12:00 0'],
    ['midnight', '00:00 0'],
    ['twelve thirty', '12:30 0'],
    ['12 am', '00:00 0'],
    ['eight people', '20:00? 1'],
  ])('%s', (text, expected) => {
    expect(read(text, EVENING)).toBe(expected);
  });

  it.each([
    ['three', '15:00? 0'],
    ['nine', '09:00? 0'],
    ['twelve', '12:00? 0'],
  ])('without opening times: %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each(['', 'half', 'quarter', 'twenty five hundred', 'people', '25:00', '7:75', 'pm'])('no time: "%s"', (text) => {
    const found = read(text);
    expect(found === null || found.includes('?')).toBe(true);
  });

  it.each([
    [19 * 60 + 30, 'seven thirty', 'seven thirty in the evening'],
    [20 * 60, "eight o'clock", 'eight in the evening'],
    [9 * 60 + 5, 'nine oh five', 'nine oh five in the morning'],
    [15 * 60, "three o'clock", 'three in the afternoon'],
    [12 * 60, 'noon', 'noon'],
    [0, 'midnight', 'midnight'],
  ])('%i minutes in words', (minutes, plain, full) => {
    expect(spokenTime(minutes, false)).toBe(plain);
    expect(spokenTime(minutes, true)).toBe(full);
  });

  it('every minute that is spoken is understood again', () => {
    for (let minutes = 0; minutes < 24 * 60; minutes++) {
      expect(read(spokenTime(minutes, true))?.split(' ')[0]?.replace('?', '')).toBe(clockText(minutes));
    }
  });

  it('reads clocks of scripts', () => {
    expect([
      parseClock('17:00'),
      parseClock('7:05'),
      parseClock('24:00'),
      parseClock('7'),
      parseClock('25:00'),
    ]).toEqual([1020, 425, 1440, null, null]);
  });
});
