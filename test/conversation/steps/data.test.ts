import { describe, expect, it } from 'vitest';
import type { FlowData } from '../../../src/agent/flow/steps.js';
import { parseIsoDate } from '../../../src/base/spoken/date.js';
import { cardToken, checkData } from '../../../src/conversation/steps/data.js';

/** A Saturday. */
const TODAY = parseIsoDate('2026-11-28');

function read(type: FlowData['type'], text: unknown, more: Partial<FlowData> = {}): unknown {
  const checked = checkData({ name: 'value', type, ...more }, text, TODAY);
  return checked.ok ? checked.value : checked.reason;
}

describe('a value', () => {
  it.each<[FlowData['type'], unknown, unknown]>([
    ['name', ' Anna  Miller ', 'Anna Miller'],
    ['name', '12', 'That is not a name.'],
    ['number', 'four', 4],
    ['number', '2.5', 2.5],
    ['number', 'many', 'That is not a number.'],
    ['date', 'next friday', '2026-12-04'],
    ['date', '2026-02-30', 'That is not a date.'],
    ['date', 'the third of May nineteen eighty', '1980-05-03'],
    ['date', 'May third 2031', '2031-05-03'],
    ['time', 'half past seven in the evening', '19:30'],
    ['time', '07:05', '07:05'],
    ['email', 'Anna.Smith@Example.com', 'anna.smith@example.com'],
    ['email', 'it is anna dot smith at example dot com', 'anna.smith@example.com'],
    ['email', 'a n n a underscore m at mail dot example dot org', 'anna_m@mail.example.org'],
    ['email', 'anna at', 'That is not a valid e-mail address.'],
    ['phone', '+49 (30) 123-4567', '+49301234567'],
    ['phone', 'five five five oh one two three', '5550123'],
    ['phone', '12', 'That is not a valid phone number.'],
    ['card', cardToken('4242424242424242'), '[card number ending in 4242]'],
    ['card', '4242424242424242', 'That is not a valid card number.'],
    ['yes_no', 'yes please', true],
    ['yes_no', false, false],
    ['yes_no', 'perhaps', 'That is neither yes nor no.'],
    ['text', '', 'That is empty.'],
    ['text', { a: 1 }, 'That is no value.'],
  ])('of the type %s, %j, is %j', (type, text, expected) => {
    expect(read(type, text)).toBe(expected);
  });

  it('has to fit the limits of what is asked for', () => {
    expect(read('number', '9', { max: 8 })).toBe('That is too high: it can be at most 8.');
    expect(read('number', '1', { min: 2 })).toBe('That is too low: it has to be at least 2.');
    expect(read('date', '2026-11-27', { period: 'future' })).toBe('That day is in the past.');
    expect(read('date', 'tomorrow', { period: 'past' })).toBe('That day has not come yet.');
    expect(read('date', 'the third of December', { period: 'past' })).toBe('2025-12-03');
    expect(read('phone', '030 1234567', { calling_code: '+49' })).toBe('+49301234567');
    const choices = [{ value: 'red' }, { value: 'blue', phrases: ['the sky'] }];
    expect(read('choice', 'like the sky please', { choices })).toBe('blue');
    expect(read('choice', 'green', { choices })).toBe('It has to be one of these: red, blue.');
  });

  it('is read back the way it is checked', () => {
    const spoken = (type: FlowData['type'], text: string): string => {
      const checked = checkData({ name: 'value', type }, text, TODAY);
      return checked.ok ? checked.spoken : checked.reason;
    };
    expect(spoken('email', 'an-1@x.de')).toBe('a, n, dash, 1, at, x, dot de');
    expect(spoken('phone', '+4930123')).toBe('plus 4 9 3, 0 1 2, 3');
    expect(spoken('date', '2026-12-04')).toBe('Friday the fourth of December');
    expect(spoken('date', '1980-05-03')).toBe('Saturday the third of May 1980');
    expect(spoken('card', cardToken('4242424242424242'))).toBe('4 2 4 2');
  });
});
