import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentFile, parseAgentFile } from '../../src/agent/agent-file.js';
import {
  describeAgent,
  toolNames,
  checkedCase,
  generateMessages,
  type GenerateOptions,
  type GeneratedSuite,
  generateSuite,
} from '../../src/eval/generate.js';
import { parseSuiteText } from '../../src/eval/suite/load-suite.js';
import { packageFile } from '../../src/package-files.js';
import { BAD_ANSWERS, calls, limited, MODEL, ModelServer } from './model-server.js';

const AGENT: AgentFile = parseAgentFile(
  JSON.parse(readFileSync(packageFile('examples/restaurant/agent.json'), 'utf8')) as unknown,
);

const BOOKS = {
  name: 'books a table',
  description: 'Finds an agent that leaves out a detail.',
  caller: {
    persona: {
      goal: 'I would like to book a table for four.',
      facts: { name: 'Ann Lee', party_size: 4, day: { value: 'Saturday', changes_to: 'Sunday' } },
      manner: ['changes_mind'],
    },
  },
  tools: { book_table: { result: { reference: 'K7' } } },
  expect: [
    { tool_called: { name: 'book_table', arguments: { party_size: 4 } } },
    { facts: ['name'] },
    { said: '/K ?7/' },
  ],
};
const KEYS = {
  name: 'presses keys',
  caller: { script: [{ press: '1' }] },
  expect: [{ tool_not_called: 'book_table' }],
};
const JUDGED = { ...KEYS, name: 'is polite', expect: [{ judge: { rubric: 'The agent is polite.' } }] };

let server: ModelServer;
beforeEach(async () => {
  server = new ModelServer();
  await server.open();
});
afterEach(() => server.close());

function generated(changes: Partial<GenerateOptions> = {}): Promise<GeneratedSuite> {
  const { signal } = new AbortController();
  return generateSuite({
    agent: AGENT,
    agentPath: '../agent.json',
    model: MODEL,
    models: server.models,
    signal,
    ...changes,
  });
}

const propose = (...cases: object[]) => calls('propose', { cases });

describe('a generated suite', () => {
  it('has the valid cases of the model, as a file that can be loaded', async () => {
    server.answers(propose(BOOKS, KEYS, JUDGED));
    const { suite, text, dropped } = await generated({ count: 3 });
    expect(dropped).toEqual([]);
    expect(suite).toEqual({
      name: 'The Crooked Fork',
      agent: '../agent.json',
      judge: { model: MODEL },
      defaults: { tools: { '*': { result: 'ok' } } },
      cases: [BOOKS, KEYS, JUDGED],
    });
    expect(parseSuiteText(text, 'suite.yaml')).toEqual(suite);
    expect(text).toMatch(
      /^# Proposed by judge-model \(prompt generate-1\).*\n# Read every case .*\nname: The Crooked Fork\n/,
    );
    expect(text.indexOf('cases:')).toBeGreaterThan(text.indexOf('defaults:'));
    expect(server.bodies).toMatchObject([{ temperature: 0.7, seed: 1, messages: generateMessages(AGENT, 3, []) }]);
  });

  it('names neither a judge nor an agent nor mocks where there are none', async () => {
    server.answers(propose({ ...KEYS, expect: [{ said: 'hello' }] }));
    const agent = { name: 'Plain', config: { prompt: 'Greet.' } };
    const { suite } = await generated({ agent, agentPath: null, count: 1 });
    expect(Object.keys(suite)).toEqual(['name', 'cases']);
  });

  it('leaves out what is not valid, names it, and asks for other cases', async () => {
    server.answers(
      propose(
        BOOKS,
        { ...BOOKS },
        { ...BOOKS, name: 'two', expect: [] },
        { ...BOOKS, name: 'three', colour: 'red' },
        { caller: BOOKS.caller, expect: BOOKS.expect },
      ),
      propose(KEYS, JUDGED),
    );
    const progress: number[] = [];
    const { suite, dropped } = await generated({ count: 2, onProgress: (share) => progress.push(share) });
    // No more than were wanted are read.
    expect(suite.cases.map(({ name }) => name)).toEqual(['books a table', 'presses keys']);
    expect(dropped).toEqual([{ name: 'books a table', reason: 'another case has its name' }]);
    expect(progress).toEqual([0.5, 1]);
    expect(server.bodies.map(({ seed }) => seed)).toEqual([1, 2]);
    expect(JSON.stringify(server.bodies[1])).toContain(
      'There are these cases already; propose others:\\n- books a table',
    );
  });

  it('is smaller than wanted where the model has no more', async () => {
    server.answers(propose(KEYS));
    const { suite, dropped } = await generated({ count: 8 });
    expect(suite.cases).toEqual([KEYS]);
    expect(dropped).toHaveLength(3);
    expect(server.bodies).toHaveLength(4);
  });

  it('is an error where no case is valid', async () => {
    server.answers(propose({ name: 'x' }));
    await expect(generated({ count: 1 })).rejects.toMatchObject({
      code: 'PROVIDER_FAILED',
      message: expect.stringContaining('it proposed no valid case, for example: cases') as string,
    });
  });

  it.each(BAD_ANSWERS)('is an error where the model gives %s', async (_name, answer, says) => {
    server.answers(answer);
    await expect(generated()).rejects.toThrow(says);
  });

  it('waits for a rate limit', async () => {
    server.answers(limited({ 'retry-after': '9' }), propose(KEYS));
    const done = generated({ count: 1 });
    await server.passAfter(1, 2, 9_000);
    expect((await done).suite.cases).toEqual([KEYS]);
  });
});

describe('a proposed case cannot be used', () => {
  const tools = toolNames(AGENT.config);
  it.each<[string, object, string]>([
    ['without a caller', { caller: undefined }, 'caller: Field required'],
    ['with an unknown member', { colour: 'red' }, 'colour: Unknown field'],
    ['with a broken expression', { expect: [{ said: '/(/' }] }, 'Not a regular expression'],
    ['with an expectation that does not exist', { expect: [{ shouts: 'hey' }] }, 'expect'],
    ['with a tool that the agent lacks', { expect: [{ tool_called: 'cancel' }] }, 'the agent has no tool "cancel"'],
    ['with tools that the agent lacks', { expect: [{ tools_called: ['book_table', 'pay'] }] }, 'no tool "pay"'],
    ['with a mock of a tool that the agent lacks', { tools: { lookup: { result: 1 } } }, 'no tool "lookup"'],
    ['with a fact that the persona lacks', { expect: [{ facts: ['name', 'email'] }] }, 'no fact "email"'],
    ['with a recording', { caller: { recording: 'a.wav' } }, 'it needs a file: a.wav'],
    ['with a sound', { caller: { script: [{ play: 'b.wav' }] }, expect: [{ said: 'a' }] }, 'it needs a file: b.wav'],
    ['with code', { expect: [{ check: './c.js' }] }, 'it needs a file: ./c.js'],
    ['with noise of a file', { line: { noise: { file: 'n.wav', snr_db: 9 } } }, 'it needs a file: n.wav'],
  ])('%s', (_name, changes, says) => {
    const made = JSON.parse(JSON.stringify({ ...BOOKS, ...changes })) as Record<string, unknown>;
    expect(() => checkedCase(made, { model: MODEL, tools, accepted: [] })).toThrow(says);
  });

  it('but mocks of all other tools are fine', () => {
    const made = { ...KEYS, tools: { '*': { error: 'down' } } };
    expect(checkedCase(made, { model: MODEL, tools, accepted: [] })).toEqual(made);
  });
});

describe('what the model reads of an agent', () => {
  it('is its prompt, first message, tools and what it may do', () => {
    const text = describeAgent(AGENT);
    expect(text).toContain('The agent: The Crooked Fork');
    expect(text).toContain(`Prompt:\n${AGENT.config.prompt?.slice(0, 60) ?? '-'}`);
    expect(text).toContain(`First message: ${AGENT.config.first_message ?? '-'}`);
    expect(text).toMatch(/- book_table: .*\n {2}- \w+ \(\w+, required\): /);
    expect(text).toContain('It cannot transfer calls.');
    expect(text).toContain('It can end the call.');
  });

  it('has functions of all kinds, transfers, and prompts that are cut', () => {
    const config = {
      prompt: 'x'.repeat(50_000),
      language: 'de' as const,
      service_functions: [
        { name: 'sign', description: 'Signs.', type: 'webhook' as const, data: { param: { name: 'form' } } },
      ],
      knowledge_base: { files: ['a'] },
      flow: { call_transfer: { phone: '+12025550100', phones: [{ phone: '+12025550101' }] } },
    };
    const text = describeAgent({ name: 'All', config });
    expect(text).toContain('Language: de');
    expect(text.length).toBeLessThan(41_000);
    expect(text).toContain('- sign: Signs.');
    expect(text).toContain('It can transfer calls to: +12025550100, +12025550101');
    expect(text).toContain('It has no first message.');
    expect(toolNames(config)).toEqual(new Set(['sign', 'search_knowledge']));
  });

  it('has the functions of apps, as the apps describe them', () => {
    const credentials = { api_key: 'cal_x', event_type_id: '1' };
    const config = { app_functions: [{ name: 'get_available_meeting_slots', credentials }] };
    expect(describeAgent({ name: 'Cal', config })).toMatch(/- get_available_meeting_slots: \w+/);
  });
});
