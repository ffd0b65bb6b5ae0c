import { describe, expect, it } from 'vitest';
import { caseFromCall } from '../../src/eval/from-call.js';
import { parseSuite } from '../../src/eval/suite/load-suite.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import type { LogEntry } from '../../src/session/record/event-log.js';

const ITEM = {
  session_id: '1234567890',
  ts: 1_780_000_000,
  call_status: 'user-ended',
  metadata: { plan: 'gold' },
  voip: { from: '+1', to: '+2', direction: 'outbound', transfer: { to: '+3', ok: true } },
  chat: JSON.stringify([
    { role: 'assistant', content: 'Hello' },
    { role: 'user', content: 'a table for four' },
    { role: 'user', content: 'thanks' },
  ]),
  function_calls: [
    { name: 'book', params: { party: 4, wishes: ['x'] }, result: '{"reference":"R1"}', run_after_call: false },
    { name: 'check', params: {}, result: 'full', run_after_call: false },
    { name: 'check', params: {}, result: 'free', run_after_call: false },
  ],
} as unknown as CallHistoryItem;

const at = (t: number, event: unknown): LogEntry => ({ t, kind: 'event', event, position: {} }) as unknown as LogEntry;
const said = (t: number, turn: number, text: string): LogEntry =>
  ({ t, kind: 'effect', effect: { type: 'user.said', turn, text } }) as unknown as LogEntry;

const LOG: readonly LogEntry[] = [
  at(1000, { type: 'speech.started', startMs: 900 }),
  at(2000, { type: 'speech.stopped', endMs: 1950 }),
  said(2200, 1, 'a table'),
  at(2300, { type: 'speech.started', startMs: 2250 }),
  at(3000, { type: 'speech.stopped', endMs: 2950 }),
  said(3200, 1, 'a table for four'),
  at(5000, { type: 'digits', digits: '1' }),
  at(5100, { type: 'digits', digits: '2' }),
  said(5200, 2, '[pressed 12]'),
  at(7000, { type: 'text', text: 'thanks' }),
  said(7000, 3, 'thanks'),
];

describe('a case made from a call', () => {
  it('has the turns, the mocks and what happened', () => {
    const made = caseFromCall(ITEM);
    expect(made).toMatchObject({
      direction: 'outbound',
      start: '2026-05-28T20:26:40.000Z',
      metadata: { plan: 'gold' },
      phones: { from: '+1', to: '+2' },
      caller: { script: [{ say: 'a table for four' }, { say: 'thanks' }, { listen: true }, { hang_up: true }] },
      tools: { book: { result: { reference: 'R1' } }, check: { sequence: [{ result: 'full' }, { result: 'free' }] } },
      expect: [
        { tool_called: { name: 'book', arguments: { party: 4 } } },
        { tool_called: 'check' },
        { tool_called: 'check' },
        { transferred: '+3' },
        { ends: { status: 'user-ended' } },
      ],
    });
    expect(parseSuite({ name: 'x', cases: [made] }).cases).toHaveLength(1);
  });

  it('knows keys and continued turns of the event log', () => {
    expect(caseFromCall(ITEM, LOG).caller).toEqual({
      script: [{ say: 'a table for four' }, { press: '12' }, { say: 'thanks' }, { listen: true }, { hang_up: true }],
    });
  });

  it('plays the recorded turns; typed ones stay text', () => {
    const cut: unknown[] = [];
    const made = caseFromCall(ITEM, LOG, (speech, index) => {
      cut.push(speech);
      return `turn-${String(index)}.wav`;
    });
    expect(cut).toEqual([{ startMs: 900, endMs: 2950, text: 'a table for four' }]);
    expect(made.caller).toMatchObject({
      script: [{ play: 'turn-0.wav', text: 'a table for four' }, { press: '12' }, { say: 'thanks' }, {}, {}],
    });
  });

  it('of a caller who said nothing listens and hangs up', () => {
    expect(caseFromCall({ ...ITEM, chat: '[]', call_status: 'agent-ended' }).caller).toEqual({
      script: [{ listen: true }, { hang_up: true }],
    });
  });
});
