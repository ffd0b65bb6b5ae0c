import { afterEach, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import type { LlmProvider } from '../../src/providers/llm/llm.js';
import { scriptedProvider, parseScript } from '../../src/providers/llm/scripted/index.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { KnowledgeBase } from '../../src/store/knowledge.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import type { Knowledge } from '../../src/tools/knowledge/knowledge.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((it) => it.close()));
});

async function base(): Promise<KnowledgeBase> {
  const knowledge = new KnowledgeBase();
  open.push(knowledge);
  const source = new TextEncoder().encode('# Warranty\nThe blue kettle has a warranty of three years.');
  await knowledge.add({ id: 'kettle', name: 'kettle.md', source });
  await knowledge.add({ id: 'tea', name: 'tea.txt', source: new TextEncoder().encode('Tea has no warranty.') });
  return knowledge;
}

const AGENT: AgentConfig = {
  first_message: 'Hello.',
  knowledge_base: { files: ['kettle'], messages: ['Let me look, {Name}.'] },
};

/** Searches for what the user said, and tells what came of it. */
const searching = (reported: string[]): LlmProvider =>
  functionLlm(({ messages, tools }) => {
    const last = messages.at(-1);
    if (last?.role === 'user') {
      const query = JSON.stringify({ query: last.content });
      const [tool] = tools;
      return tool === undefined ? 'I have no documents.' : { calls: [{ name: tool.name, arguments: query }] };
    }
    reported.push(last?.content ?? '');
    return 'That is what I found.';
  });

/** A session in which the user asks one thing. */
async function converse(
  options: EngineOptions,
  request: Partial<SessionRequest> & { llm: LlmProvider },
  question = 'how long is the warranty of my kettle',
): Promise<SessionReport> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock, ...options });
  open.push(engine);
  const line = new MemoryTransport();
  const session = await engine.createSession({
    agent: AGENT,
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    metadata: { Name: 'Ann' },
    ...request,
  });
  const report = session.run();
  await clock.advanceBy(2000);
  session.sendText(question);
  await clock.advanceBy(10_000);
  line.hangUp();
  return report;
}

const said = ({ messages }: SessionReport): string =>
  messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : [])).join(' ');

it("an agent's files are searched by its model, while it says so", async () => {
  const reported: string[] = [];
  const report = await converse({ knowledge: await base() }, { llm: searching(reported) });
  expect(JSON.parse(reported[0] ?? '')).toEqual({
    best: 'The blue kettle has a warranty of three years.',
    passages: [{ source: 'kettle.md, Warranty', text: 'The blue kettle has a warranty of three years.' }],
  });
  expect(said(report)).toContain('Let me look, Ann. That is what I found.');
  expect(report.functionCalls).toMatchObject([{ name: 'search_knowledge', ok: true }]);
});

it('an agent may be given files beside its configuration', async () => {
  const knowledge = await base();
  await knowledge.setAgentFiles('seller', ['tea']);
  const reported: string[] = [];
  const agent = { first_message: 'Hello.' };
  await converse({ knowledge }, { llm: searching(reported), agent, agentId: 'seller' });
  await converse({ knowledge }, { llm: searching(reported), agent, agentId: 'another' });
  expect(reported).toHaveLength(1);
  expect(reported[0]).toContain('tea.txt');
});

it('the scripted model searches by a rule', async () => {
  const script = parseScript({
    slots: { question: { type: 'text' } },
    rules: [
      {
        when: '{question}',
        call: {
          tool: 'search_knowledge',
          arguments: { query: '{question}' },
          ok: { say: '[{result.best}]' },
          failed: { say: 'I do not know that.' },
        },
      },
    ],
  });
  const knowledge = await base();
  const agent = { ...AGENT, llm: { model: 'scripted' } };
  const llm = scriptedProvider(script);
  expect(said(await converse({ knowledge }, { llm, agent }))).toContain(
    'The blue kettle has a warranty of three years.',
  );
  expect(said(await converse({ knowledge }, { llm, agent }, 'do you sell bicycles'))).toContain('I do not know that.');
});

it('an agent with a file that is not there is refused by its name', async () => {
  const agent = { knowledge_base: { files: ['kettle', 'gone'] } };
  for (const options of [{ knowledge: await base() }, {}]) {
    const engine = new Engine(options);
    open.push(engine);
    await expect(engine.checkAgent({ agent })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('knowledge file') as string,
    });
  }
});

it('a search that fails is reported to the model', async () => {
  const failing: Knowledge = {
    known: async (ids) => [...ids],
    filesOf: async () => [],
    search: () => Promise.reject(new Error('the disk is gone')),
  };
  const reported: string[] = [];
  const report = await converse({ knowledge: failing }, { llm: searching(reported) });
  expect(reported[0]).toContain('could not be searched: the disk is gone');
  expect(report.status).toBe('user-ended');
});

it('a call goes on with the files of its configuration if the list of files fails', async () => {
  const found = [{ fileId: 'kettle', name: 'kettle.md', text: 'Three years.', page: null, headings: [] }];
  const broken: Knowledge = {
    known: () => Promise.reject(new Error('the disk is gone')),
    filesOf: () => new Promise(() => undefined),
    search: async ({ fileIds }) => (fileIds.includes('kettle') ? (found as never) : []),
  };
  const reported: string[] = [];
  const report = await converse({ knowledge: broken }, { llm: searching(reported), agentId: 'seller' });
  expect(reported[0]).toContain('Three years.');
  expect(report.faults).toMatchObject({ 'knowledge.failed': 1 });
  expect(report.faultReasons).toMatchObject({ 'knowledge.failed': 'the disk is gone' });
});
