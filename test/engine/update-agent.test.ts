import { afterAll, expect, it } from 'vitest';
import { defineTool, Engine, MemoryTransport, type SessionReport, VirtualClock } from '../../src/index.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import type { LlmRequest } from '../../src/providers/llm/llm.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';

const engine = new Engine({ clock: new VirtualClock() });
afterAll(() => engine.close());

const AGENT: AgentConfig = {
  prompt: 'You are Ann and speak with {Name}.',
  first_message: 'Hello, this is Ann.',
  llm: { model: 'scripted' },
  privacy_settings: { opt_out_data_collection: false, do_not_call_detection: true },
};

it('changes prompt, variables, tools in code and of the agent, model and voice; refuses what the agent cannot be', async () => {
  const requests: LlmRequest[] = [];
  const session = await engine.createSession({
    agent: AGENT,
    metadata: { Name: 'Ada' },
    transport: new MemoryTransport({ sampleRateHz: 16_000 }),
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm: functionLlm((request) => {
      requests.push(request);
      return 'Fine.';
    }),
    tools: [defineTool({ name: 'first', description: 'One.', execute: () => 'x' })],
  });
  const clock = engine.clock as VirtualClock;
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  const next = async (): Promise<LlmRequest> => {
    const count = requests.length;
    session.sendText('How are you?');
    await clock.runUntil(() => requests.length > count, 600_000);
    const request = requests.at(-1);
    if (request === undefined) throw new Error('the model was not asked');
    return request;
  };
  /** What comes of it, while virtual time goes on. */
  const done = async (work: Promise<unknown>): Promise<unknown> => {
    let result: unknown = null;
    const note = (outcome: unknown): void => void (result = outcome ?? 'done');
    void work.then(note, note);
    await clock.runUntil(() => result !== null, 600_000);
    return result;
  };
  const named = ({ tools }: LlmRequest): string[] => tools.map(({ name }) => name);
  const before = await next();
  expect(before.messages[0]?.content).toContain('You are Ann and speak with Ada.');
  expect(named(before)).toContain('first');
  const wrong = await done(session.updateAgent({ prompt: 5 as never }));
  expect(wrong).toMatchObject({ code: 'CONFIG_INVALID', issues: [{ loc: ['prompt'] }] });
  const tools = [
    defineTool({ name: 'second', description: 'Two.', execute: () => 'y' }),
    { name: 'third', description: 'Three.', method: 'GET', webhook: 'https://example.com/third' } as const,
  ];
  const changes = { prompt: 'You are Bob and speak with {Name}.', metadata: { Name: 'Eve' }, tools };
  const llm = { model: 'scripted', temperature: 1 };
  expect(await done(session.updateAgent({ ...changes, llm, voice: { voice_id: 'slt' } }))).toBe('done');
  const after = await next();
  expect(after.messages[0]?.content).toContain('You are Bob and speak with Eve.');
  expect(named(after)).toEqual(expect.arrayContaining(['second', 'third']));
  expect(named(after)).not.toContain('first');
  expect(after.temperature).toBe(1);
  // Later changes build upon it.
  expect(await done(session.updateAgent({ metadata: { Name: 'Joe' } }))).toBe('done');
  expect((await next()).messages[0]?.content).toContain('You are Bob and speak with Joe.');
  void session.close();
  await clock.runUntil(() => report !== undefined, 600_000);
  expect(report?.faults).toEqual({});
});
