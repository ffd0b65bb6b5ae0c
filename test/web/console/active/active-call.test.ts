import { describe, expect, it } from 'vitest';
import type { CallActivity, RunningCall, WarningKind } from '../../../../src/daemon/live/running-call.js';
import { WARNINGS } from '../../../../src/daemon/live/running-call.js';
import {
  callerWords,
  countWords,
  isShown,
  orderOf,
  stateWords,
  WARNING_KINDS,
} from '../../../../src/web/console/active/active-call.js';

function call(id: string, ts: number, kinds: WarningKind[] = [], live: Partial<CallActivity> = {}): RunningCall {
  const warnings = kinds.map((kind) => ({ kind, since: ts, detail: null }));
  return {
    session_id: id,
    call_status: 'in-progress',
    channel: 'phone',
    direction: 'inbound',
    agent_id: 'baker',
    from: '+12025550101',
    to: '+12025550100',
    ts,
    live: { state: 'listening', tool: null, user_muted: false, agent_muted: false, warnings, ...live },
  } as RunningCall;
}

describe('the list of running calls', () => {
  const calls = [
    call('calm', 1),
    call('slow', 2, ['slow']),
    call('asks', 4, ['asks_for_human']),
    call('asks and shouts', 5, ['asks_for_human', 'shouting']),
    call('old and calm', 0),
  ];

  it('has those first that need somebody: by their worst warning, then by how many, then by age', () => {
    const order = ['asks and shouts', 'asks', 'slow', 'old and calm', 'calm'];
    expect(orderOf(calls, [], false)).toEqual(order);
    expect(orderOf(calls, ['calm', 'slow'], false)).toEqual(order);
  });

  it('stays as it is while somebody points at it: what is new comes last', () => {
    const before = ['calm', 'gone', 'slow', 'old and calm'];
    expect(orderOf(calls, before, true)).toEqual(['calm', 'slow', 'old and calm', 'asks and shouts', 'asks']);
  });

  it('knows every warning, in the order of the daemon', () => {
    expect(WARNING_KINDS).toEqual(WARNINGS);
  });

  it('is filtered by agent, state and warning', () => {
    const shown = (filters: Partial<Parameters<typeof isShown>[1]>): string[] =>
      calls
        .filter((each) => isShown(each, { agent: '', state: '', warning: '', ...filters }))
        .map(({ session_id: id }) => id);
    expect(shown({})).toHaveLength(5);
    expect(shown({ warning: 'any' })).toEqual(['slow', 'asks', 'asks and shouts']);
    expect(shown({ warning: 'shouting' })).toEqual(['asks and shouts']);
    expect(shown({ agent: 'butcher' })).toEqual([]);
    expect(shown({ state: 'held' })).toEqual([]);
    expect(shown({ agent: 'baker', state: 'listening', warning: 'slow' })).toEqual(['slow']);
  });

  it('counts', () => {
    expect(countWords(calls, 5)).toBe('5 calls · 3 with warnings');
    expect(countWords(calls, 2)).toBe('5 calls · 2 shown · 3 with warnings');
    expect(countWords([call('a', 1)], 1)).toBe('1 call');
    expect(countWords([], 0)).toBe('0 calls');
  });
});

describe('a running call in words', () => {
  it.each([
    [{}, 'listening'],
    [{ state: 'tool', tool: 'book_table' }, 'runs book_table'],
    [{ state: 'user_speaking', agent_muted: true }, 'caller speaks, agent muted'],
    [{ state: 'held', user_muted: true }, 'on hold, caller muted'],
    [
      { state: 'taken_over', participants: [{ id: 'p', name: 'Ada', mode: 'take_over', held: false }] },
      'taken over by Ada',
    ],
  ] as [Partial<CallActivity>, string][])('%j is %s', (live, words) => {
    expect(stateWords(call('a', 1, [], live))).toBe(words);
  });

  it('tells how far it is before it is answered, and where nothing is known', () => {
    const ringing = call('a', 1, [], { state: 'ringing' });
    expect(stateWords({ ...ringing, call_status: 'queued' })).toBe('queued');
    expect(stateWords({ ...ringing, live: null })).toBe('its node does not answer');
  });

  it('names the other party', () => {
    const of = (changes: Partial<RunningCall>): string => callerWords({ ...call('a', 1), ...changes });
    expect(of({})).toBe('+12025550101');
    expect(of({ direction: 'outbound' })).toBe('+12025550100');
    expect([of({ from: null }), of({ from: null, channel: 'webrtc' }), of({ from: null, channel: 'chat' })]).toEqual([
      'unknown number',
      'browser',
      'chat',
    ]);
  });
});
