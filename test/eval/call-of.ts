import type { EvalLine } from '../../src/eval/result.js';

/** A short call about a table. */
export const BOOKING: readonly EvalLine[] = [
  { type: 'agent', text: 'Good evening, The Crooked Fork.', startMs: 200, endMs: 2400, interrupted: false },
  {
    type: 'caller',
    text: 'A table for four on Saturday, please.',
    understood: 'a table for four on saturday please',
    startMs: 3100,
    endMs: 5200,
    cutOff: false,
    responseMs: 640,
  },
  {
    type: 'tool',
    name: 'book_table',
    arguments: '{"party_size":4,\n"day":"Saturday"}',
    ok: true,
    result: '{"reference":"K7"}',
    startMs: 5900,
    tookMs: 120,
    mocked: true,
    afterCall: false,
  },
  { type: 'agent', text: "It's booked — your reference is “K7”.", startMs: 6100, endMs: 9000, interrupted: true },
  { type: 'keys', by: 'caller', keys: '1#', startMs: 9300 },
  { type: 'transfer', target: 'reception', outcome: 'busy', startMs: 9900 },
  { type: 'end', status: 'user-hangup', by: 'caller', startMs: 12_000 },
];
