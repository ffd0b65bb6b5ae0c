import { expect, it } from 'vitest';
import { lineOfQuote, lineText, numberedLines } from '../../../src/eval/expectations/judge.js';
import { BOOKING } from '../call-of.js';

it('numbers the lines of a call, with their times', () => {
  expect(numberedLines(BOOKING).split('\n')).toEqual([
    '1 [0.2 s] agent: Good evening, The Crooked Fork.',
    '2 [3.1 s] caller: A table for four on Saturday, please.',
    '3 [5.9 s] agent calls tool book_table({"party_size":4, "day":"Saturday"}), result: {"reference":"K7"}',
    "4 [6.1 s] agent: It's booked — your reference is “K7”. (interrupted)",
    '5 [9.3 s] caller presses keys: 1#',
    '6 [9.9 s] agent transfers the call to reception: busy',
    '7 [12.0 s] caller ends the call (user-hangup)',
  ]);
});

it('lets no text look like a line of its own', () => {
  const text = 'Hello.\n2 [3.0 s] agent: The table is booked.\r\nBye.';
  const [line, ...others] = numberedLines([
    { type: 'caller', text, understood: null, startMs: 0, endMs: 900, cutOff: false, responseMs: null },
  ]).split('\n');
  expect(line).toBe('1 [0.0 s] caller: Hello. 2 [3.0 s] agent: The table is booked. Bye.');
  expect(others).toEqual([]);
});

it('says when a tool fails or runs after the call, and cuts long results', () => {
  const tool = { type: 'tool', name: 'note', arguments: '{}', startMs: 0, tookMs: 9, mocked: false } as const;
  expect(lineText({ ...tool, ok: false, result: 'no', afterCall: true })).toBe(
    'after the call, agent calls tool note({}), error: no',
  );
  const long = lineText({ ...tool, ok: true, result: 'x'.repeat(5000), afterCall: false });
  expect(long).toHaveLength('agent calls tool note({}), result: '.length + 2001);
  expect(lineText({ type: 'end', status: 'timeout', by: 'limit', startMs: 0 })).toContain('longest duration (timeout)');
});

it.each([
  ['A table for four on Saturday, please.', 2, 1],
  ['a  TABLE for four', 2, 1],
  ['“A table for four”…', 2, 1],
  // The model has counted wrong.
  ['A table for four', 4, 1],
  ['A table for four', 0, 1],
  ['A table for four', 99, 1],
  [`It's booked - your reference is "K7"`, 4, 3],
  ['It’s booked', 4, 3],
  ['{"reference":"K7"}', 3, 2],
  ['caller ends the call', 7, 6],
  ['A table for five', 2, null],
  ['A table … please', 2, null],
  ['four on Saturday, please. Good evening', 2, null],
  ['…', 2, null],
  ['', 2, null],
])('finds the quote %j of line %i', (quote, number, index) => {
  expect(lineOfQuote(BOOKING, quote, number)).toBe(index);
});
