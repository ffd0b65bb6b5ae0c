import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import type { AgentFunction } from '../../src/agent/function.js';
import { GuardedClient } from '../../src/net/guarded-client.js';
import { AgentToolbox, type AgentToolboxOptions } from '../../src/tools/toolbox.js';
import type { ToolContext } from '../../src/tools/tool.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

let server: LocalServer;
let client: GuardedClient;
let bodies: string[];
beforeEach(async () => {
  bodies = [];
  server = await httpServer((request, response, body) => {
    bodies.push(`${String(request.url)} ${body}`);
    response.end(`did ${String(request.url)}`);
  });
  client = new GuardedClient({ clock: new RealClock(), allowUrls: [server.origin] });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const CONTEXT: ToolContext = { sessionId: 's-1', metadata: {}, signal: new AbortController().signal };

function toolbox(functions: Partial<AgentFunction>[], more: Partial<AgentToolboxOptions> = {}): AgentToolbox {
  const whole = functions.map((fn) => ({
    name: 'a',
    description: 'Does.',
    webhook: `${server.origin}/${fn.name ?? 'a'}`,
    ...fn,
  }));
  return new AgentToolbox(whole, { client, clock: new RealClock(), ...more });
}

describe('AgentToolbox', () => {
  it('offers the functions and runs the one that is called', async () => {
    const box = toolbox([{ name: 'one' }, { name: 'two' }]);
    expect(box.specs.map(({ name }) => name)).toEqual(['one', 'two']);
    const results = await Promise.all(
      ['two', 'one'].map((name) => box.run({ id: name, name, arguments: '{}' }, CONTEXT)),
    );
    expect(results.map(({ content }) => content)).toEqual(['did /two', 'did /one']);
  });

  it('tells the model when there is no such function', async () => {
    const call = { id: 'c', name: '__proto__', arguments: '' };
    expect(await toolbox([{ name: 'one' }]).run(call, CONTEXT)).toEqual({
      ok: false,
      content: 'There is no function "__proto__". There are: one.',
    });
    expect((await toolbox([]).run(call, CONTEXT)).content).toContain('There are: none.');
  });

  it('says how the agent speaks around each', () => {
    const box = toolbox(
      [
        { name: 'one', messages: ['Hold on, {Name}.', ' '], response_mode: 'flexible', execute_after_message: true },
        { name: 'two' },
      ],
      { variables: new Map([['Name', 'Ann']]) },
    );
    expect(Object.fromEntries(box.speech)).toEqual({
      one: { messages: ['Hold on, Ann.'], responseMode: 'flexible', executeAfterMessage: true },
      two: { messages: [], responseMode: 'strict', executeAfterMessage: false },
    });
  });

  it('tells the model what to say itself where the messages are flexible', () => {
    const messages = ['Hold on.', 'One moment.'];
    const box = toolbox([
      { name: 'one', messages, response_mode: 'flexible' },
      { name: 'two', messages },
      { name: 'three', response_mode: 'flexible' },
    ]);
    const [one, two, three] = box.specs.map(({ description }) => description);
    expect(one).toMatch(/^Does\. Before you call it, .* own, in the language .* "Hold on\." or "One moment\."\.$/);
    expect([two, three]).toEqual(['Does.', 'Does.']);
  });

  it('has tools of other kinds beside the functions, and knows how long any may take', async () => {
    const spec = { name: 'other', description: 'Other.', parameters: {} };
    const tools = [{ spec, maxMs: 7000, run: () => Promise.resolve({ ok: true, content: 'did it' }) }];
    const box = toolbox([{ name: 'one' }], { tools });
    expect(box.specs.map(({ name }) => name)).toEqual(['one', 'other']);
    expect((await box.run({ id: 'c', name: 'other', arguments: '' }, CONTEXT)).content).toBe('did it');
    expect([box.longestMs, toolbox([{ timeout: 90 }]).longestMs, toolbox([]).longestMs]).toEqual([7000, 90_000, 0]);
    expect(() => toolbox([{ name: 'other' }], { tools })).toThrow(/two tools are called other/);
  });

  it.each([
    [[{ name: 'a' }, { name: 'a' }], 'two tools are called a'],
    [[{ name: 'a' }, { name: 'a', run_after_call: true }], 'two tools are called a'],
    [[{ name: 'end_call' }], 'two tools are called end_call'],
    [[{ name: 'a b' }], 'the tool name "a b" should be'],
    [[{ name: '' }], 'the tool name "" should be'],
  ])('refuses %j', (functions, message) => {
    expect(() => toolbox(functions, { reservedNames: ['end_call'] })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) as string }) as Error,
    );
  });
});

describe('AgentToolbox.runAfterCall', () => {
  const params = [
    { name: 'score', required: true, type: 'integer' },
    { name: 'note', type: 'string' },
  ];

  it('neither offers nor runs during the call what is for afterwards', async () => {
    const box = toolbox([{ name: 'one' }, { name: 'later', run_after_call: true }]);
    expect(box.specs.map(({ name }) => name)).toEqual(['one']);
    expect(box.afterCallSpecs.map(({ name }) => name)).toEqual(['later']);
    expect((await box.run({ id: 'c', name: 'later', arguments: '' }, CONTEXT)).ok).toBe(false);
    expect(bodies).toEqual([]);
  });

  it('runs each once, with what is known', async () => {
    const box = toolbox([
      { name: 'rate', run_after_call: true, params },
      { name: 'log', run_after_call: true, params: null },
      { name: 'during' },
    ]);
    const known = (spec: { name: string }): string =>
      spec.name === 'rate' ? '{"score":"high","note":"ok","x":1}' : '';
    expect(await box.runAfterCall(known, CONTEXT)).toEqual([
      {
        name: 'rate',
        arguments: { note: 'ok' },
        result: { ok: true, content: 'did /rate' },
        tookMs: expect.any(Number) as number,
      },
      { name: 'log', arguments: {}, result: { ok: true, content: 'did /log' }, tookMs: expect.any(Number) as number },
    ]);
    expect(bodies.sort()).toEqual(['/log {"session_id":"s-1"}', '/rate {"note":"ok","session_id":"s-1"}']);
    expect(await box.runAfterCall(known, CONTEXT)).toEqual([]);
    expect(bodies).toHaveLength(2);
  });

  it('runs the others when one fails or nothing could be found out', async () => {
    const box = toolbox([
      { name: 'bad', run_after_call: true, webhook: 'http://127.0.0.1:1/' },
      { name: 'good', run_after_call: true },
    ]);
    const known = (spec: { name: string }): string => {
      if (spec.name === 'good') throw new Error('the model is down');
      return '{}';
    };
    expect((await box.runAfterCall(known, CONTEXT)).map(({ result }) => result.ok)).toEqual([false, true]);
  });

  it("rejects with the signal's reason", async () => {
    const box = toolbox([{ name: 'later', run_after_call: true }]);
    const reason = new Error('shutting down');
    await expect(box.runAfterCall(() => '', { ...CONTEXT, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
