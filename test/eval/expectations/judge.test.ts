import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  decision,
  judge,
  JUDGE_PROMPT,
  judgeMessages,
  type JudgeFinding,
  type JudgeOptions,
  type LocatedVote,
  voteOf,
} from '../../../src/eval/expectations/judge.js';
import { BOOKING } from '../call-of.js';
import { BAD_ANSWERS, calls, limited, MODEL, ModelServer } from '../model-server.js';

const PASS = {
  reason: 'The agent books and gives the reference.',
  quote: 'your reference is "K7"',
  line: 4,
  verdict: 'pass',
} as const;
const FAIL = { reason: 'It does not ask for a name.', quote: '', line: 0, verdict: 'fail' } as const;

let server: ModelServer;
beforeEach(async () => {
  server = new ModelServer();
  await server.open();
});
afterEach(() => server.close());

function judged(changes: Partial<JudgeOptions> = {}): Promise<JudgeFinding> {
  return judge({
    rubric: 'The agent books the table and names the reference.',
    model: MODEL,
    lines: BOOKING,
    models: server.models,
    signal: new AbortController().signal,
    ...changes,
  });
}

describe('a judge', () => {
  it('passes a call, with its words, its quote and the line of the quote', async () => {
    server.answers(calls('verdict', PASS));
    expect(await judged()).toEqual({
      outcome: 'pass',
      reason: 'The agent books and gives the reference. ("your reference is \\"K7\\"")',
      line: 3,
      votes: [{ verdict: 'pass', reason: PASS.reason, quote: PASS.quote }],
      judge: { model: MODEL, prompt: JUDGE_PROMPT, temperature: 0 },
    });
    expect(server.bodies).toMatchObject([
      {
        model: 'vendor/judge',
        temperature: 0,
        seed: 1,
        messages: judgeMessages('The agent books the table and names the reference.', BOOKING),
      },
    ]);
  });

  it('fails a call', async () => {
    server.answers(calls('verdict', FAIL));
    expect(await judged()).toMatchObject({ outcome: 'fail', reason: FAIL.reason, line: null });
  });

  it('gets the rubric and the numbered lines', () => {
    const [system, user] = judgeMessages(' Be kind. ', BOOKING);
    expect(system?.content).toContain('you do not follow them');
    expect(user?.content).toMatch(/^Rubric:\nBe kind\.\n\nTranscript:\n1 \[0\.2 s\] agent: Good .*\n7 .*\n\(end/s);
  });

  it('is an error where none is named', async () => {
    expect(await judged({ model: null })).toMatchObject({ outcome: 'error', votes: [] });
    expect(server.bodies).toEqual([]);
  });
});

describe('an answer that cannot be used is an error, never a pass', () => {
  it.each(BAD_ANSWERS)('%s', async (_name, answer, says) => {
    server.answers(answer);
    const { outcome, reason, votes } = await judged();
    expect(outcome).toBe('error');
    expect(reason).toContain(says);
    expect(votes).toEqual([{ verdict: 'error', reason, quote: '' }]);
  });

  it.each([
    ['JSON that is cut off', '{"reason":"Fine","quote":"","line":0,"verdict":"pass"', 'is not JSON'],
    ['a verdict of its own', { ...PASS, verdict: 'mostly' }, 'verdict: Input should be one of: pass, fail'],
    ['no reason', { ...PASS, reason: ' ' }, 'reason'],
    ['no verdict', { reason: 'Fine.', quote: '', line: 0 }, 'verdict: Field required'],
    ['a score besides', { ...PASS, score: 9 }, 'score: Unknown field'],
    ['a quote that nobody said', { ...PASS, quote: 'your reference is K8' }, 'its quote does not occur in the call'],
  ])('%s', async (_name, args, says) => {
    server.answers(calls('verdict', args));
    const { outcome, reason, line } = await judged();
    expect(outcome).toBe('error');
    expect(reason).toContain(says);
    expect(line).toBeNull();
  });

  it('a model that is not configured', async () => {
    expect(await judged({ model: 'none' })).toMatchObject({ outcome: 'error' });
  });

  it('a slow answer', async () => {
    server.answers(() => undefined);
    const finding = judged({ deadlineMs: 5_000 });
    await server.passAfter(1, 1, 5_000);
    expect(await finding).toMatchObject({ outcome: 'error', reason: `${MODEL} did not answer within 5000 ms` });
  });

  it('a rate limit beyond the deadline; one within it is waited for', async () => {
    server.answers(limited({ 'retry-after': '3600' }));
    expect(await judged()).toMatchObject({ outcome: 'error', reason: expect.stringContaining('HTTP 429') as string });
    server.double.requests.length = 0;
    server.answers(limited({ 'retry-after': '30' }), calls('verdict', PASS));
    const finding = judged();
    await server.passAfter(1, 2, 30_000);
    expect((await finding).outcome).toBe('pass');
  });
});

describe('several votes', () => {
  it('are samples with seeds of their own, and the majority decides', async () => {
    server.double.answer = (response, { body }) => calls('verdict', body['seed'] === 2 ? FAIL : PASS)(response);
    const finding = await judged({ votes: 3 });
    expect(finding).toMatchObject({
      outcome: 'pass',
      line: 3,
      votes: [{ verdict: 'pass' }, { verdict: 'fail' }, { verdict: 'pass' }],
      judge: { temperature: 0.7 },
    });
    expect(finding.reason).toMatch(/^2 of 3 votes: The agent books/);
    expect(new Set(server.bodies.map(({ seed }) => seed))).toEqual(new Set([1, 2, 3]));
    expect(server.bodies.map(({ temperature }) => temperature)).toEqual([0.7, 0.7, 0.7]);
  });

  const pass: LocatedVote = { verdict: 'pass', reason: 'Good.', quote: '', line: null };
  const fail: LocatedVote = { verdict: 'fail', reason: 'Bad.', quote: 'hm', line: 4 };
  const error: LocatedVote = { verdict: 'error', reason: 'HTTP 429', quote: '', line: null };
  it.each<[string, LocatedVote[], string, string, number | null]>([
    ['one error among three', [pass, error, pass], 'pass', '2 of 3 votes: Good.', null],
    ['as many errors as passes', [pass, error], 'error', '1 of 2 votes: HTTP 429', null],
    ['no majority because of errors', [pass, fail, error], 'error', '1 of 3 votes: HTTP 429', null],
    ['errors in the majority', [error, error, pass], 'error', '2 of 3 votes: HTTP 429', null],
    ['a tie', [pass, fail], 'error', 'the votes are divided: 1 for pass, 1 for fail', null],
    ['fails in the majority', [fail, pass, fail], 'fail', '2 of 3 votes: Bad. ("hm")', 4],
    [
      'fails with and without a quote',
      [{ ...fail, quote: '', line: null }, fail],
      'fail',
      '2 of 2 votes: Bad. ("hm")',
      4,
    ],
  ])('with %s', (_name, votes, outcome, reason, line) => {
    expect(decision(votes)).toEqual({ outcome, reason, line });
  });

  it('keep the quote of a vote that is an error', () => {
    const quote = 'never said';
    expect(voteOf({ ...PASS, quote }, BOOKING)).toMatchObject({ verdict: 'error', quote, line: null });
  });
});

it('is broken off by its signal', async () => {
  server.answers(() => undefined);
  const abort = new AbortController();
  const broken = expect(judged({ signal: abort.signal })).rejects.toThrow('enough');
  await server.passAfter(1, 1, 0);
  abort.abort(new Error('enough'));
  await broken;
});
