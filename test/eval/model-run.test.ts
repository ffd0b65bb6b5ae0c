import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAgentFile } from '../../src/agent/agent-file.js';
import type { CaseRun } from '../../src/eval/result.js';
import { runSuite } from '../../src/eval/run-suite.js';
import { parseSuite } from '../../src/eval/suite/load-suite.js';
import { packageFile } from '../../src/package-files.js';
import { type Answer, OpenAiDouble, sendError } from '../providers/llm/openai-double.js';
import { EmbeddingsDouble } from './embeddings-double.js';
import { evalPrices } from '../../src/daemon/call-log/eval-prices.js';
import { calls, USED } from './model-server.js';

const AGENT = parseAgentFile(
  JSON.parse(readFileSync(packageFile('examples/restaurant/agent.json'), 'utf8')) as unknown,
);
const PERSONA = { goal: 'Book a table for four on Saturday at seven.', facts: { name: 'Ann Lee' }, model: 'player' };

const PRICES = evalPrices(
  { unit: 'USD', llm: { player: { prompt: 1, completion: 2 }, judge: { prompt: 10, completion: 20 } } },
  () => 1,
);

let models: OpenAiDouble;
let embeddings: EmbeddingsDouble;
let baseUrl: string;
let embeddingUrl: string;
beforeEach(async () => {
  models = new OpenAiDouble();
  embeddings = new EmbeddingsDouble((text) => [/book/i.test(text) ? 1 : 0, /fork/i.test(text) ? 1 : 0.1]);
  baseUrl = await models.listen();
  embeddingUrl = await embeddings.open();
});
afterEach(async () => {
  await models.close();
  await embeddings.close();
});

const say = (text: string) => calls('act', { moves: [{ action: 'say', text }] });
const leave = calls('act', {
  moves: [{ action: 'say', text: 'Goodbye.' }, { action: 'wait', seconds: 3 }, { action: 'hang_up' }],
});

/** Answers the agent's last line, as a model would. */
const player: Answer = (response, { body }) => {
  const [, user] = body['messages'] as { content: string }[];
  const lines = (user?.content ?? '').split('\n').filter((line) => line.startsWith('agent: '));
  const last = lines.at(-1) ?? '';
  const reply: (readonly [RegExp, string])[] = [
    [/how many|party/i, 'Four people.'],
    [/name/i, 'Ann Lee.'],
    [/what time/i, 'At seven in the evening.'],
    [/what day|which day|when/i, 'On Saturday.'],
    [/correct|right\?|shall i/i, "Yes, that's right."],
  ];
  const answer = reply.find(([asked]) => asked.test(last))?.[1];
  if (lines.length <= 1) say('I would like to book a table.')(response);
  else if (answer === undefined) leave(response);
  else say(answer)(response);
};

/** Quotes the agent's last line. */
const judging: Answer = (response, { body }) => {
  const [, user] = body['messages'] as { content: string }[];
  const line = (user?.content ?? '').split('\n').findLast((one) => / agent: /.test(one)) ?? '';
  const quote = line.replace(/^.*? agent: /, '').replace(' (interrupted)', '');
  calls('verdict', { reason: 'It is polite.', quote, line: Number.parseInt(line, 10), verdict: 'pass' })(response);
};

const byTool: Answer = (response, request) =>
  JSON.stringify(request.body).includes('"name":"verdict"') ? judging(response, request) : player(response, request);

async function run(...expectations: object[]): Promise<CaseRun> {
  const suite = parseSuite({
    name: 'models',
    judge: { model: 'judge' },
    cases: [
      { name: 'a', caller: { persona: PERSONA }, tools: { '*': { result: { ok: true } } }, expect: expectations },
    ],
  });
  const result = await runSuite({
    suite,
    folder: '.',
    agent: { ...AGENT, agentId: null },
    modes: ['text'],
    engine: { models: { player: { baseUrl }, judge: { baseUrl } } },
    embedding: { baseUrl: embeddingUrl, apiKey: 'key', model: 'small' },
    prices: PRICES,
    startUnixMs: 0,
    signal: new AbortController().signal,
  });
  return result.cases[0]?.runs[0] as CaseRun;
}

describe('a call with a persona, a judge and embeddings of models', () => {
  it('is held in virtual time, judged and passed', async () => {
    models.answer = byTool;
    const held = await run(
      { tool_called: { name: 'book_table', arguments: { name: 'Ann Lee' } } },
      { judge: { rubric: 'The agent is polite.' } },
      { said_like: { text: 'You have booked.' } },
    );
    expect(held.error).toBeNull();
    expect(held.expectations.map(({ kind, outcome, reason }) => [kind, outcome, reason])).toEqual([
      ['tool_called', 'pass', ''],
      ['judge', 'pass', expect.stringContaining('It is polite. ("') as string],
      ['said_like', 'pass', expect.stringContaining('similarity') as string],
    ]);
    const [, judged] = held.expectations;
    expect(judged?.judge).toEqual({ model: 'judge', prompt: 'judge-1', temperature: 0 });
    expect(judged?.votes).toHaveLength(1);
    expect(held.lines[judged?.line ?? -1]?.type).toBe('agent');
    expect(held.playedBy).toEqual({ model: 'player', prompt: 'persona-1', temperature: 0.7 });
    expect(held.passed).toBe(true);
    const asked = models.requests.length - 1;
    const { promptTokens, completionTokens } = USED;
    const { metrics } = held;
    expect(metrics.judges).toEqual({ ...USED, costUsd: (promptTokens * 10 + completionTokens * 20) / 1e6 });
    expect(metrics.persona).toEqual({
      promptTokens: asked * promptTokens,
      completionTokens: asked * completionTokens,
      costUsd: expect.closeTo((asked * (promptTokens + completionTokens * 2)) / 1e6, 9) as number,
    });
    // The agent follows a script.
    expect(metrics).toMatchObject({ promptTokens: 0, completionTokens: 0, costUsd: 0 });
  });

  it('does not pass where the judge refuses', async () => {
    models.answer = (response, request) =>
      JSON.stringify(request.body).includes('"name":"verdict"')
        ? sendError(response, 400, 'Invalid prompt: flagged')
        : player(response, request);
    const held = await run({ judge: { rubric: 'The agent is polite.' } });
    expect(held).toMatchObject({ passed: false, error: null, expectations: [{ outcome: 'error' }] });
    expect(held.expectations[0]?.reason).toContain('flagged');
  });

  it('does not pass where the persona cannot be played', async () => {
    models.answer = (response) => {
      response.setHeader('retry-after', '3600');
      sendError(response, 429, 'Rate limit reached');
    };
    const held = await run({ not_said: 'never' });
    expect(held.passed).toBe(false);
    expect(held.error).toContain('the persona cannot be played: openai failed: HTTP 429: Rate limit reached');
  });
});
