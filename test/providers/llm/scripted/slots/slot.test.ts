import { describe, expect, it } from 'vitest';
import type { SlotDefinition } from '../../../../../src/providers/llm/scripted/schema.js';
import { answerOf, isAcknowledgement, isRefusal } from '../../../../../src/base/spoken/answer.js';
import { spokenNumber, spokenOrdinal } from '../../../../../src/base/spoken-number.js';
import { numberAt, soundedNumber } from '../../../../../src/base/spoken/number.js';
import { Slot } from '../../../../../src/providers/llm/scripted/slots/slot.js';
import { utteranceWords } from '../../../../../src/base/spoken/words.js';

function read(definition: SlotDefinition, text: string): [unknown, string, boolean] | null {
  const match = new Slot('slot', definition).matchesAt(utteranceWords(text), 0, 20_778)[0];
  return match === undefined ? null : [match.value.value, match.value.spoken, match.value.allowed];
}

describe('slots', () => {
  it.each<[string, SlotDefinition, string, [unknown, string, boolean] | null]>([
    ['a number', { type: 'number' }, 'twenty one people', [21, 'twenty one', true]],
    ['digits as a number', { type: 'number' }, '4', [4, 'four', true]],
    ['a number beyond its limit', { type: 'number', max: 12 }, 'fifteen', [15, 'fifteen', false]],
    ['a number below its limit', { type: 'number', min: 1 }, 'zero', [0, 'zero', false]],
    ['a phrase for a number', { type: 'number', synonyms: { 'just me': 1 } }, 'just me', [1, 'one', true]],
    ['no number', { type: 'number' }, 'people', null],
    [
      'a time outside of opening times',
      { type: 'time', between: ['17:00', '22:00'] },
      '3 pm',
      ['15:00', 'three in the afternoon', false],
    ],
    ['a time within', { type: 'time', between: ['17:00', '22:00'] }, 'seven', ['19:00', "seven o'clock", true]],
    [
      'a closed day',
      { type: 'date', closed: ['monday'] },
      'monday',
      ['2026-11-23', 'Monday the twenty third of November', false],
    ],
    ['a day gone by', { type: 'date' }, '2020-01-01', ['2020-01-01', 'Wednesday the first of January', false]],
    ['a name', { type: 'name' }, 'anna maria miller please', ['Anna Maria Miller', 'Anna Maria Miller', true]],
    ['a name in its own spelling', { type: 'name' }, 'McDonald', ['McDonald', 'McDonald', true]],
    ['a name with an apostrophe', { type: 'name' }, "o'brien", ["O'Brien", "O'Brien", true]],
    ['a name with a hyphen', { type: 'name' }, 'Smith-Jones', ['Smith Jones', 'Smith Jones', true]],
    ['a spelled name', { type: 'name' }, 'm i l l e r', ['Miller', 'Miller', true]],
    ['no name', { type: 'name' }, 'tomorrow', null],
    [
      'a phone number',
      { type: 'digits' },
      'plus four nine, one five one, oh double two',
      ['+49151022', 'plus 4 9 1, 5 1 0, 2 2', true],
    ],
    ['a phone number in digits', { type: 'digits' }, '555-0123', ['5550123', '5 5 5, 0 1 2, 3', true]],
    ['digits in pairs', { type: 'digits' }, 'twenty three forty five', ['2345', '2 3 4, 5', true]],
    ['too few digits', { type: 'digits', minLength: 5 }, 'one two', ['12', '1 2', false]],
    ['yes', { type: 'yesno' }, 'yes of course', [true, 'yes', true]],
    ['no', { type: 'yesno' }, 'not really', [false, 'no', true]],
    ['one of a list', { type: 'enum', values: ['red', 'green'] }, 'green please', ['green', 'green', true]],
    [
      'another spelling',
      { type: 'enum', values: { large: ['big', 'extra large'] } },
      'extra large',
      ['large', 'large', true],
    ],
    ['something else', { type: 'enum', values: ['red'] }, 'blue', null],
    ['free text', { type: 'text' }, 'no Onions, please', ['no onions please', 'no onions please', true]],
  ])('%s', (_name, definition, text, expected) => {
    expect(read(definition, text)).toEqual(expected);
  });

  it('numbers are understood as they are spoken', () => {
    for (const value of [0, 7, 12, 20, 21, 99, 100, 105, 342, 1000, 1984, 12_345, 999_999]) {
      expect(numberAt(utteranceWords(spokenNumber(value)), 0)?.value).toBe(value);
    }
    expect(
      ['a couple of', 'a dozen', 'two dozen', 'a hundred'].map((text) => numberAt(utteranceWords(text), 0)?.value),
    ).toEqual([2, 12, 24, 100]);
    expect([1, 2, 3, 12, 20, 21, 30, 31].map(spokenOrdinal).join(' ')).toBe(
      'first second third twelfth twentieth twenty first thirtieth thirty first',
    );
  });

  it.each([
    ['yes', 'yes'],
    ['yeah sure', 'yes'],
    ['that is right', 'yes'],
    ["that's not right", 'no'],
    ['no', 'no'],
    ['no problem', 'yes'],
    ['mm-hm', 'yes'],
    ['the kitchen', null],
  ])('the answer in "%s"', (text, expected) => {
    expect(answerOf(utteranceWords(text))).toBe(expected);
  });

  it('tells refusals and acknowledgements from answers', () => {
    expect(
      ['no thank you', 'nothing', "i'd rather not", 'no that is all'].map((text) => isRefusal(utteranceWords(text))),
    ).toEqual([true, true, true, true]);
    expect(['no onions', 'yes', 'i need a chair'].map((text) => isRefusal(utteranceWords(text)))).toEqual([
      false,
      false,
      false,
    ]);
    expect(['mm-hm', 'okay', 'I see', 'uh huh'].map((text) => isAcknowledgement(utteranceWords(text)))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['okay four', '', 'yes'].map((text) => isAcknowledgement(utteranceWords(text)))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

it.each([
  ['for loaves', 'four'],
  ['to loaves please', 'two'],
  ['ate', 'eight'],
  ['for tomorrow', null],
  ['i want to order loaves', null],
  ['for to', 'two'],
])('"%s" after "How many loaves?" sounds like %s', (said, number) => {
  const found = soundedNumber(utteranceWords(said), new Set(['loaves']));
  expect(found === null ? null : found.words[found.start]?.text).toBe(number);
});
