import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseAgentFile } from '../../src/agent/agent-file.js';
import type { CaseRun } from '../../src/eval/result.js';
import { runSuite } from '../../src/eval/run-suite.js';
import { loadSuite } from '../../src/eval/suite/load-suite.js';
import { packageFile } from '../../src/package-files.js';
import { readJsonFile } from '../../src/schema/json-file.js';
import { type Answer, finishChunk, OpenAiDouble, stream, textChunk } from '../providers/llm/openai-double.js';
import { calls } from './model-server.js';
import { mutate, MUTATIONS } from './mutations.js';

const CASE = 'books nothing before the guest has agreed';
const BOOKING = { party: 4, date: '2026-06-16', time: '19:30', name: 'Miller' };

/**
 * A double of a language model, and no language model: all that it follows of the prompt is whether it has to read
 * everything back before it books.
 */
const frontDesk: Answer = (response, { body }) => {
  const messages = body['messages'] as { role: string; content?: string | null }[];
  const says = (text: string): void => stream(response, [textChunk(text), finishChunk('stop')]);
  const by = (role: string): string =>
    messages
      .filter((one) => one.role === role)
      .map(({ content }) => content ?? '')
      .join('\n');
  const readsBack = /read everything back before you book/i.test(by('system'));
  if (messages.at(-1)?.role === 'tool') says('Done. The reference is R101.');
  else if (!/table for four/i.test(by('user'))) says('What can I do for you?');
  else if (readsBack && !/is that right/i.test(by('assistant'))) {
    says('A table for four, tomorrow, at seven thirty, under the name Miller. Is that right?');
  } else calls('book_table', BOOKING)(response);
};

let double: OpenAiDouble;
let baseUrl: string;
beforeEach(async () => {
  double = new OpenAiDouble();
  double.answer = frontDesk;
  baseUrl = await double.listen();
});
afterEach(() => double.close());

/** The restaurant without its script, with its prompt as it is or with the mistake. */
async function held(isWrong: boolean): Promise<CaseRun | undefined> {
  const pathOf = (name: string): string => fileURLToPath(packageFile(`examples/restaurant/${name}`));
  const file = await readJsonFile(pathOf('agent.json'));
  const mutation = MUTATIONS.find(({ mistake }) => mistake.includes('its prompt'));
  if (isWrong && mutation !== undefined) mutate(file, mutation);
  const { config } = parseAgentFile(file);
  const { cases } = await runSuite({
    ...(await loadSuite(pathOf('suite.yaml'))),
    agent: { name: 'front desk', config: { ...config, llm: { model: 'front-desk' } }, agentId: null },
    modes: ['text'],
    only: [CASE],
    engine: { models: { 'front-desk': { baseUrl } } },
    startUnixMs: 0,
    signal: AbortSignal.timeout(50_000),
  });
  return cases[0]?.runs[0];
}

it('a model that follows its prompt passes, and fails without the sentence about reading back', async () => {
  expect(await held(false)).toMatchObject({ error: null, passed: true });
  expect(double.requests.length).toBeGreaterThan(0);

  const wrong = await held(true);
  expect(wrong).toMatchObject({ error: null, passed: false });
  const failed = wrong?.expectations.filter(({ outcome }) => outcome === 'fail').map(({ kind }) => kind);
  expect(failed).toContain('tool_not_called');
  expect(failed).toContain('said');
});
