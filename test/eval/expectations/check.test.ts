import { describe, expect, it } from 'vitest';
import { checkExpectation, type CheckedCall } from '../../../src/eval/expectations/check.js';
import type { EvalLine } from '../../../src/eval/result.js';
import type { Expectation } from '../../../src/eval/suite/expectation-schema.js';
import type { SessionReport } from '../../../src/session/record/session-report.js';

const LINES: readonly EvalLine[] = [
  { type: 'agent', text: 'Good evening. How can I help you?', startMs: 0, endMs: 2000, interrupted: false },
  {
    type: 'caller',
    text: 'A table for four.',
    understood: 'a table for for',
    startMs: 2700,
    endMs: 4000,
    cutOff: true,
    responseMs: 400,
  },
  {
    type: 'tool',
    name: 'book',
    arguments: '{"party":4,"name":"Ann"}',
    ok: true,
    result: '{}',
    startMs: 4100,
    tookMs: 100,
    mocked: true,
    afterCall: false,
  },
  {
    type: 'tool',
    name: 'pay',
    arguments: 'broken',
    ok: false,
    result: 'no',
    startMs: 4300,
    tookMs: 100,
    mocked: true,
    afterCall: false,
  },
  { type: 'agent', text: 'Done, the reference is R7.', startMs: 4400, endMs: 6000, interrupted: false },
  {
    type: 'caller',
    text: 'Thanks.',
    understood: 'thanks',
    startMs: 6700,
    endMs: 7000,
    cutOff: false,
    responseMs: 900,
  },
  { type: 'keys', by: 'agent', keys: '1w2', startMs: 7100 },
  { type: 'transfer', target: '+1', outcome: 'busy', startMs: 7200 },
  { type: 'end', status: 'agent-ended', by: 'agent', startMs: 9000 },
];

const REPORT = {
  status: 'agent-ended',
  faults: { 'stt.fallback': 2 },
  transfers: [{ target: '+2', ok: true }],
  messages: [{ role: 'user', content: 'a table for for' }],
} as unknown as SessionReport;

const CALL: CheckedCall = {
  lines: LINES,
  report: REPORT,
  metrics: {
    durationMs: 9000,
    callerTurns: 2,
    talkRatio: 0.6,
    responseMs: [400, 900],
    cutOffs: 1,
    longestSilenceMs: 2500,
    promptTokens: 0,
    completionTokens: 0,
    costUsd: null,
    persona: null,
    judges: null,
  },
  facts: { party: 'four', name: 'Bob' },
  language: 'en-US',
};

const never = (): Promise<never> => Promise.reject(new Error('asked'));
const check = (expectation: Expectation) =>
  checkExpectation(expectation, 0, CALL, { judge: never, saidLike: never, check: never });

describe('expectations', () => {
  it.each<Expectation>([
    { tool_called: 'book' },
    { tool_called: { name: 'book', arguments: { party: 4 }, times: 1, ok: true } },
    { tool_called: { name: 'pay', ok: false } },
    { tool_not_called: 'cancel' },
    { tool_not_called: { name: 'book', arguments: { party: 5 } } },
    { tools_called: ['book', 'pay'] },
    { said: 'reference is R7' },
    { said: '/help you\\? done/i' },
    { not_said: 'technical problem' },
    { understood: 'table for' },
    { facts: ['party'] },
    { facts: { name: 'Ann' } },
    { ends: { status: ['agent-ended', 'user-ended'], by: 'agent', within_s: 10 } },
    { transferred: '+2' },
    { pressed: '12' },
    { turns: { min: 2, max: 2 } },
    { talk_ratio: { max: 0.6 } },
    { response_time: { p50_ms: 400, p95_ms: 900, max_ms: 900 } },
    { cut_offs: { max: 1 } },
    { dead_air: { max_ms: 2500 } },
    { faults: { max: 2 } },
    { language: 'en' },
  ])('holds: %j', async (expectation) => {
    expect(await check(expectation)).toMatchObject({ outcome: 'pass', reason: '' });
  });

  it.each<[Expectation, string, number | null]>([
    [{ tool_called: 'cancel' }, 'cancel is never called; called: book, pay', null],
    [{ tool_called: { name: 'book', arguments: { party: 5 } } }, 'book is called, but party is 4, not 5', 2],
    [{ tool_called: { name: 'book', times: 2 } }, 'book is called 1 times, not 2', null],
    [{ tool_called: { name: 'pay', ok: true } }, 'pay is called, but it fails: no', 3],
    [{ tool_not_called: 'book' }, 'book({"party":4,"name":"Ann"}) is called', 2],
    [{ tools_called: ['book'] }, 'called: book, pay', null],
    [{ said: 'goodbye' }, 'the agent never says "goodbye"', null],
    [{ not_said: 'R7' }, 'the agent says "R7"', 4],
    [
      { understood: 'table for four' },
      'the agent never understands "table for four"; it understands "a table for for" there',
      1,
    ],
    [{ facts: ['name'] }, 'name is "Ann", not "Bob"', null],
    [{ facts: { phone: '1' } }, 'phone is not established, not "1"', null],
    [{ ends: { by: 'caller' } }, 'the call is ended by the agent', 8],
    [{ ends: { status: 'timeout' } }, 'the call ends as agent-ended', 8],
    [{ ends: { within_s: 5 } }, 'the call lasts 9.0 s', 8],
    [{ transferred: false }, 'the call is transferred to +2', 7],
    [{ transferred: '+3' }, 'the call is transferred to +2', 7],
    [{ pressed: '3' }, 'the agent presses 1w2', null],
    [{ turns: { max: 1 } }, 'turns of the caller: 2, at most 1 is allowed', null],
    [{ talk_ratio: { min: 0.7 } }, 'talk ratio: 0.60, at least 0.7 is needed', null],
    [{ response_time: { max_ms: 800 } }, 'response time, longest: 900 ms, at most 800 ms is allowed', 5],
    [{ cut_offs: { max: 0 } }, 'the agent speaks into 1 turns, at most 0 is allowed', 1],
    [{ faults: { max: 0 } }, '2 faults: stt.fallback', null],
    [{ language: 'fr' }, 'the agent speaks en-US at the end', null],
  ])('fails: %j', async (expectation, reason, line) => {
    expect(await check(expectation)).toMatchObject({ outcome: 'fail', reason, line });
  });

  it('does not decide about facts that the persona does not have', async () => {
    expect(await check({ facts: ['age'] })).toMatchObject({ outcome: 'error', reason: 'the persona has no fact age' });
  });
});
