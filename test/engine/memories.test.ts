import { afterEach, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { resolveAgent } from '../../src/agent/resolve.js';
import { Engine } from '../../src/engine/engine.js';
import { recallMemories } from '../../src/engine/prepare-agent.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import { InProcessMemories, type Memory, type MemoryStore } from '../../src/session/after-call/memory.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const engines: Engine[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

function engineWith(options: EngineOptions = {}): Engine {
  const engine = new Engine({ clock: new VirtualClock(), ...options });
  engines.push(engine);
  return engine;
}

const AGENT: AgentConfig = { first_message: 'Hello.', prompt: 'Be kind.', memory: { user_identifier_key: 'user_id' } };

/** One session; the system prompt that its model saw. */
async function converse(
  engine: Engine,
  { agentId = 'seller', ...request }: Partial<Omit<SessionRequest, 'agentId'>> & { agentId?: string | null },
  words = 'my name is Ann Miller',
): Promise<{ prompt: string; report: SessionReport }> {
  const clock = engine.clock as VirtualClock;
  const line = new MemoryTransport();
  let prompt = '';
  const llm = functionLlm(({ messages, requiredTool }) => {
    if (requiredTool === 'remember')
      return { calls: [{ name: 'remember', arguments: `{"summary": "Said: ${words}."}` }] };
    prompt = messages[0]?.content ?? '';
    return 'Very well.';
  });
  const session = await engine.createSession({
    agent: AGENT,
    ...(agentId !== null && { agentId }),
    transport: line,
    startUnixMs: Date.UTC(2026, 10, 21, 12),
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm,
    ...request,
  });
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  await clock.advanceBy(2000);
  session.sendText(words);
  await clock.advanceBy(5000);
  line.hangUp();
  await clock.runUntil(() => report !== undefined, 600_000);
  if (report === undefined) throw new Error('the session did not end');
  return { prompt, report };
}

it('what one session with a user established is known in the next one, to that agent and of that user', async () => {
  const engine = engineWith();
  const metadata = { user_id: 'u7' };
  expect((await converse(engine, { metadata })).prompt).not.toContain('earlier conversations');
  const second = await converse(engine, { metadata }, 'I moved to Ghent');
  expect(second.prompt).toMatch(
    /^Be kind\.\n\nNotes of your earlier conversations.*\n- .*: Said: my name is Ann Miller\.\n\nIt is now/,
  );
  const third = await converse(engine, { metadata });
  expect(third.prompt.indexOf('Ghent')).toBeLessThan(third.prompt.indexOf('Ann Miller'));
  expect((await converse(engine, { metadata: { user_id: 'u8' } })).prompt).not.toContain('Ghent');
  expect((await converse(engine, { metadata, agentId: 'another' })).prompt).not.toContain('Ghent');
});

it('two agents without an id share nothing of a user whom both name alike', async () => {
  const memories = new InProcessMemories();
  const engine = engineWith({ memories });
  const temporary = { agentId: null, metadata: { user_id: 'u7' } };
  const first = await converse(engine, temporary);
  expect(first.report.faults).toHaveProperty('memory.failed');
  const second = await converse(engine, { ...temporary, agent: { ...AGENT, prompt: 'Be brief.' } });
  expect(second.prompt).not.toContain('Ann Miller');
  expect(await memories.recall('', 'u7', 10)).toEqual([]);
  expect((await converse(engine, { metadata: { user_id: 'u7' } })).prompt).not.toContain('Ann Miller');
});

it('a phone number may be what identifies the user, and metadata cannot stand in for it', async () => {
  const engine = engineWith();
  const agent = { ...AGENT, memory: { user_identifier_key: 'FromPhone' } };
  const phones = { from: '+12025550123', to: '+12025550199' };
  await converse(engine, { agent, phones });
  const forged = { metadata: { FromPhone: '+12025550123' }, phones: { ...phones, from: '+12025550124' } };
  expect((await converse(engine, { agent, ...forged })).prompt).not.toContain('Ann Miller');
  expect((await converse(engine, { agent, phones })).prompt).toContain('Ann Miller');
});

it.each<[string, AgentConfig, Record<string, unknown>]>([
  ['where the key is empty', { ...AGENT, memory: { user_identifier_key: '' } }, { user_id: 'u7' }],
  ['where the session does not name its user', AGENT, {}],
  ['where the name is empty', AGENT, { user_id: ' ' }],
  ['where nothing may be kept', { ...AGENT, privacy_settings: { opt_out_data_collection: true } }, { user_id: 'u7' }],
])('nothing is remembered %s', (_name, config, metadata) => {
  expect(resolveAgent(config, { metadata }).memoryUser).toBeNull();
  expect(resolveAgent(AGENT, { metadata: { user_id: 7 } }).memoryUser).toBe('7');
});

it('a store that fails or hangs holds nothing up', async () => {
  const broken: MemoryStore = {
    recall: () => Promise.reject(new Error('the disk is gone')),
    keep: () => new Promise(() => undefined),
  };
  const engine = engineWith({ memories: broken });
  const { report, prompt } = await converse(engine, { metadata: { user_id: 'u7' } });
  expect(prompt).toContain('Be kind.');
  expect(report).toMatchObject({ status: 'user-ended', faults: { 'memory.failed': 2 } });
  const faults: string[] = [];
  const hanging: MemoryStore = { ...broken, recall: () => new Promise(() => undefined) };
  const agent = resolveAgent(AGENT, { metadata: { user_id: 'u7' } });
  const clock = new RealClock();
  const startMs = clock.nowMs();
  const found = await recallMemories({ memories: hanging, networkClock: clock }, agent, {
    id: 's',
    agentId: 'a',
    onFault: (_name, reason) => faults.push(reason),
  });
  expect(found.agent).toEqual(agent);
  expect(faults).toEqual(['it took longer than 300 ms']);
  expect(clock.nowMs() - startMs).toBeGreaterThan(250);
});

it('no more is passed on than a model can well read', async () => {
  const store = new InProcessMemories();
  for (let number = 0; number < 20; number++) {
    const memory: Memory = {
      agentId: 'a',
      user: 'u7',
      sessionId: `s${String(number)}`,
      text: 'x'.repeat(900),
      unixMs: number,
    };
    await store.keep(memory);
  }
  const agent = resolveAgent(AGENT, { metadata: { user_id: 'u7' } });
  const services = { memories: store, networkClock: new RealClock() };
  const options = { id: 's', agentId: 'a', onFault: () => undefined };
  const { prompt } = (await recallMemories(services, agent, options)).agent;
  expect(prompt.match(/^- /gm)).toHaveLength(4);
});
