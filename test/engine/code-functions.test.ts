import { afterEach, describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { ChatPiece } from '../../src/engine/chat.js';
import { Engine } from '../../src/engine/engine.js';
import type { AgentRequest, EngineOptions } from '../../src/engine/options.js';
import type { LlmRequest } from '../../src/providers/llm/llm.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import type { SessionEvent } from '../../src/session/session-options.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { type Answer, functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { runTool } from '../../src/testing/doubles/run-tool.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { packageFile } from '../../src/package-files.js';
import { type DefinedTool, defineTool, type FunctionContext } from '../../src/tools/define-tool.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const engines: Engine[] = [];
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));

interface Conversation {
  report: SessionReport;
  events: SessionEvent[];
  /** The agent's words. */
  said: string;
  asked: LlmRequest[];
}

/** A conversation in virtual time: the user types each text at its time. */
async function converse(
  request: Partial<AgentRequest>,
  answer: (request: LlmRequest) => Answer,
  {
    typed = { 2000: 'go' },
    lastsMs = 12_000,
    engine: options = {},
  }: {
    typed?: Readonly<Record<number, string>>;
    lastsMs?: number;
    engine?: EngineOptions;
  } = {},
): Promise<Conversation> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock, ...options });
  engines.push(engine);
  const line = new MemoryTransport();
  const events: SessionEvent[] = [];
  const asked: LlmRequest[] = [];
  const session = await engine.createSession({
    agent: { first_message: 'Hello.' },
    id: 's-1',
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm: functionLlm((wanted) => {
      asked.push(wanted);
      return answer(wanted);
    }),
    observe: (event) => events.push(event),
    ...request,
  });
  const running = session.run();
  for (const [atMs, text] of Object.entries(typed)) {
    await clock.advanceTo(Number(atMs));
    session.sendText(text);
  }
  await clock.advanceTo(lastsMs);
  line.hangUp();
  let report: SessionReport | undefined;
  void running.then((done) => (report = done));
  await clock.runUntil(() => report !== undefined);
  const done = report as unknown as SessionReport;
  const said = done.messages
    .flatMap(({ role, content }) => (role === 'assistant' && content !== '' ? [content] : []))
    .join(' ');
  return { report: done, events, said, asked };
}

/** A model that calls `name` once and says the result. */
function callsOnce(name: string, args: string): (request: LlmRequest) => Answer {
  return ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool') return `It says ${last.content}`;
    return last?.content === 'go' ? { calls: [{ name, arguments: args }] } : 'Well.';
  };
}

const lookUp = (execute: (args: { order: string; count: number }, context: FunctionContext) => unknown): DefinedTool =>
  defineTool({
    name: 'look_up',
    description: 'Looks an order up for {Name}.',
    parameters: z.object({ order: z.string().describe('Its number'), count: z.number().int().default(1) }),
    execute,
  });

describe('a function in code', () => {
  it('gets typed arguments, and its result goes to the model', async () => {
    const seen: unknown[] = [];
    const tool = defineTool({
      name: 'look_up',
      description: 'Looks an order up for {Name}.',
      parameters: z.object({ order: z.string().transform((text) => text.toUpperCase()), count: z.number().default(1) }),
      execute: (args, { signal, session, ...context }) => {
        expectTypeOf(args).toEqualTypeOf<{ order: string; count: number }>();
        seen.push(args, context, session?.say !== undefined, signal.aborted);
        return { state: 'sent' };
      },
    });
    const { report, asked, said } = await converse(
      { tools: [tool], metadata: { Name: 'Ann' }, agentId: 'shop' },
      callsOnce('look_up', '{"order":"a1","count":null}'),
    );
    expect(seen).toMatchObject([
      { order: 'A1', count: 1 },
      {
        sessionId: 's-1',
        agentId: 'shop',
        callId: 'call-1',
        metadata: { Name: 'Ann' },
        variables: { Name: 'Ann' },
        history: [{ content: 'Hello.' }, { role: 'user', content: 'go' }, { role: 'assistant' }, { role: 'tool' }],
      },
      true,
      false,
    ]);
    expect(asked[0]?.tools.find(({ name }) => name === 'look_up')).toEqual({
      name: 'look_up',
      description: 'Looks an order up for Ann.',
      parameters: {
        type: 'object',
        properties: { order: { type: 'string' }, count: { default: 1, type: 'number' } },
        required: ['order'],
      },
    });
    expect(said).toContain('It says {"state":"sent"}');
    expect(report.functionCalls).toMatchObject([
      { name: 'look_up', arguments: '{"order":"a1","count":null}', ok: true, result: '{"state":"sent"}' },
    ]);
    expect(report.faults).toEqual({});
  });

  it('tells the model what is wrong with the arguments: the JSON Schema, then the schema of the library', async () => {
    const parameters = z.object({
      code: z
        .string()
        .max(3)
        .refine((code) => code !== 'bad', 'Code is spoilt'),
    });
    const tool = defineTool({ name: 'check', description: '', parameters, execute: ({ code }) => code });
    const codes = ['long one', 'bad', 'ok'];
    const { report } = await converse({ tools: [tool] }, ({ messages }) => {
      if (messages.at(-1)?.role === 'assistant') return 'Well.';
      const code = codes.shift();
      return code === undefined ? 'Done.' : { calls: [{ name: 'check', arguments: JSON.stringify({ code }) }] };
    });
    expect(report.functionCalls.map(({ result }) => result)).toEqual([
      'code should have at most 3 characters. Correct that and call check again.',
      'code: Code is spoilt. Correct that and call check again.',
      'ok',
    ]);
  });

  it('that throws is told to the model in a sentence, and is a fault with its stack', async () => {
    const { report, said, events } = await converse(
      {
        tools: [
          lookUp(() => {
            throw new TypeError('no such order');
          }),
        ],
      },
      callsOnce('look_up', '{"order":"1"}'),
    );
    expect(said).toContain('It says look_up failed: no such order.');
    expect(report.faults).toEqual({ 'tool.failed': 1 });
    expect(report.faultReasons).toEqual({ 'tool.failed': 'look_up failed: no such order.' });
    expect(report.faultCauses?.['tool.failed']).toMatch(/^TypeError: no such order\n\s+at .*code-functions\.test/);
    expect(events).toContainEqual(expect.objectContaining({ type: 'fault', name: 'tool.failed' }));
  });

  it('has a deadline, at which its signal is aborted', async () => {
    let reason: unknown;
    const { report } = await converse(
      {
        tools: [
          defineTool({
            name: 'slow',
            description: '',
            timeoutMs: 3000,
            execute: async (_, { wait, signal }) => {
              signal.addEventListener('abort', () => void (reason = signal.reason));
              await wait(60_000);
            },
          }),
        ],
      },
      callsOnce('slow', ''),
    );
    expect(report.functionCalls).toMatchObject([
      { ok: false, result: 'slow failed: it took longer than 3 s.', tookMs: 3000 },
    ]);
    expect(String(reason)).toContain('3 s');
  });

  it('reports progress that the agent says while it works, and waits in the time of the session', async () => {
    const { said, events, report } = await converse(
      {
        tools: [
          defineTool({
            name: 'search',
            description: '',
            execute: async function* (_, { wait, progress }) {
              yield 'I am looking.';
              await wait(2500);
              progress('I found two.');
              await wait(2000);
              return 'two';
            },
          }),
          defineTool({ name: 'quiet', description: '', quiet: true, execute: (_, { progress }) => progress('psst') }),
        ],
      },
      ({ messages }) => {
        const last = messages.at(-1);
        if (last?.content === 'go')
          return {
            calls: [
              { name: 'search', arguments: '' },
              { name: 'quiet', arguments: '' },
            ],
          };
        return last?.role === 'tool' ? 'There you are.' : 'Well.';
      },
    );
    expect(said).toMatch(/I am looking\. I found two\. There you are\./);
    const progress = events.flatMap((event) => (event.type === 'toolProgress' ? [event.text] : []));
    expect(progress.toSorted()).toEqual(['I am looking.', 'I found two.', 'psst']);
    expect(report.functionCalls).toMatchObject([
      { name: 'quiet', result: 'Done. It gave nothing back.' },
      { name: 'search', result: 'two', tookMs: 4500 },
    ]);
  });

  it('speaks around itself as a webhook does', async () => {
    const tool = defineTool({
      name: 'look',
      description: '',
      messages: ['One moment, {Name}.'],
      executeAfterMessage: true,
      execute: () => 'found',
    });
    const { events, said } = await converse({ tools: [tool], metadata: { Name: 'Ann' } }, callsOnce('look', ''));
    expect(said).toContain('One moment, Ann.');
    const order = events.flatMap(({ type }) => (type === 'toolStarted' || type === 'answered' ? [type] : []));
    expect(order.slice(0, 2)).toEqual(['answered', 'toolStarted']);
  });

  it('moves the session', async () => {
    const tool = defineTool({
      name: 'goodbye',
      description: '',
      execute: (_, { session }) => {
        session?.say('So long.');
        session?.finish();
        return 'hung up';
      },
    });
    const { report, said } = await converse({ tools: [tool] }, ({ messages }) =>
      messages.at(-1)?.content === 'go' ? { calls: [{ name: 'goodbye', arguments: '' }] } : 'Bye.',
    );
    expect(report.status).toBe('agent-ended');
    expect(said).toContain('So long.');
  });

  it('in the background lets the conversation go on, and is announced when done', async () => {
    const tool = defineTool({
      name: 'order',
      description: '',
      background: true,
      execute: async function* (_, { wait }) {
        await wait(6000);
        yield 'The oven is on.';
        await wait(2000);
        return 'Ready at noon.';
      },
    });
    const { report, said, asked } = await converse(
      { tools: [tool] },
      ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === 'tool') return 'I have begun.';
        if (last?.role === 'system') return `News: ${last.content.replace(/^.*: /, '')}`;
        return last?.content === 'go' ? { calls: [{ name: 'order', arguments: '' }] } : 'We open at ten.';
      },
      { typed: { 2000: 'go', 5000: 'When do you open?' }, lastsMs: 15_000 },
    );
    expect(said).toBe('Hello. I have begun. We open at ten. The oven is on. News: Ready at noon.');
    const outcome = asked.at(-1)?.messages.at(-1);
    expect(outcome).toEqual({
      role: 'system',
      content: 'The function order, which ran in the background, has finished with this result: Ready at noon.',
    });
    expect(report.functionCalls).toMatchObject([{ name: 'order', ok: true, result: 'Ready at noon.', tookMs: 8000 }]);
    expect(report.messages.some(({ role }) => role === 'system')).toBe(false);
  });

  it('in the background is told of when it fails, and is stopped by the end of the call', async () => {
    const aborted: boolean[] = [];
    const tool = (name: string, ms: number): DefinedTool =>
      defineTool({
        name,
        description: '',
        background: true,
        execute: async (_, { wait, signal }) => {
          await wait(ms).finally(() => aborted.push(signal.aborted));
          throw new Error('the oven is cold');
        },
      });
    const { report, asked } = await converse({ tools: [tool('bake', 1000), tool('cool', 60_000)] }, ({ messages }) =>
      messages.at(-1)?.content === 'go'
        ? {
            calls: [
              { name: 'bake', arguments: '' },
              { name: 'cool', arguments: '' },
            ],
          }
        : 'Well.',
    );
    expect(asked.at(-1)?.messages.at(-1)?.content).toBe(
      'The function bake, which ran in the background, has failed: bake failed: the oven is cold.',
    );
    expect(aborted).toEqual([false, true]);
    expect(report.functionCalls).toMatchObject([
      { name: 'bake', ok: false },
      { name: 'cool', ok: false, result: 'The call was over before there was an answer.' },
    ]);
    expect(report.faultCauses?.['tool.failed']).toContain('the oven is cold');
  });

  it('runs once after the call, with what is known, and without a session', async () => {
    const ran: unknown[] = [];
    const tool = defineTool({
      name: 'note',
      description: '',
      parameters: z.object({ mood: z.enum(['good', 'bad']) }),
      runAfterCall: true,
      execute: (args, { session, callId, history }) => {
        ran.push(args, session, callId, history.at(-1)?.content);
        throw new Error('disk full');
      },
    });
    const { report, asked } = await converse({ tools: [tool] }, ({ requiredTool }) =>
      requiredTool === 'note' ? { calls: [{ name: 'note', arguments: '{"mood":"good"}' }] } : 'Well.',
    );
    expect(asked[0]?.tools.map(({ name }) => name)).not.toContain('note');
    expect(ran).toEqual([{ mood: 'good' }, null, null, 'Well.']);
    expect(report.functionCalls).toMatchObject([{ name: 'note', ok: false, runAfterCall: true }]);
    expect(report.faults).toEqual({ 'afterCall.failed': 1 });
    expect(report.faultCauses?.['afterCall.failed']).toContain('disk full');
  });
});

describe('the functions of the docs', () => {
  it('look up orders, and bake while the conversation goes on', async () => {
    // The example imports the package as it is built.
    const { bake, lookUpOrder } = (await import(packageFile('examples/library/functions.ts').href)) as {
      bake: DefinedTool;
      lookUpOrder: DefinedTool;
    };
    const orders = callsOnce('look_up_order', '{"number":"A1"}');
    const looked = await converse({ tools: [lookUpOrder] }, orders);
    expect(looked.said).toContain('It says {"state":"baking","minutes":12}');
    const baked = await converse({ tools: [bake] }, callsOnce('bake', '{"cake":"cheesecake"}'), { lastsMs: 16_000 });
    expect(baked.said).toContain('The cheesecake is in the oven.');
    expect(baked.report.functionCalls).toMatchObject([{ result: '{"cake":"cheesecake","slices":8}', tookMs: 8000 }]);
  });
});

describe('functions in a chat', () => {
  async function chat(tools: readonly DefinedTool[], answer: (request: LlmRequest) => Answer): Promise<ChatPiece[]> {
    const engine = new Engine({ clock: new VirtualClock() });
    engines.push(engine);
    const { signal } = new AbortController();
    const pieces: ChatPiece[] = [];
    const messages = [{ role: 'user', content: 'go' }] as const;
    let isOver = false;
    const done = (async () => {
      for await (const piece of engine.chat({ agent: {}, tools, llm: functionLlm(answer), messages, signal })) {
        pieces.push(piece);
      }
    })().finally(() => (isOver = true));
    await (engine.clock as VirtualClock).runUntil(() => isOver);
    await done;
    return pieces;
  }

  it('answer with progress in the text, and wait for the background', async () => {
    const tool = defineTool({
      name: 'order',
      description: '',
      background: true,
      execute: async function* (_, { wait, session, history }) {
        yield `Looking for ${history[0]?.content ?? ''}.`;
        await wait(30_000);
        return { session, ready: true };
      },
    });
    const pieces = await chat([tool], callsOnce('order', ''));
    const text = pieces.flatMap((piece) => (piece.type === 'text' ? [piece.text] : [])).join('');
    expect(text).toBe('Looking for go. It says {"session":null,"ready":true}');
    expect(pieces.filter(({ type }) => type === 'toolProgress')).toHaveLength(1);
  });
});

describe('functions of plug-ins', () => {
  const plugin = {
    name: 'shop',
    functions: [
      defineTool({ name: 'price', description: 'Says a price.', execute: () => 'two euros' }),
      defineTool({ name: 'stock', description: 'Says the stock.', execute: () => 'seven' }),
    ],
  };

  it('are those that the agent names', async () => {
    const { asked, said } = await converse({ extensions: { functions: ['price'] } }, callsOnce('price', ''), {
      engine: { plugins: [plugin] },
    });
    expect(asked[0]?.tools.map(({ name }) => name)).toEqual(['price']);
    expect(said).toContain('two euros');
  });

  it('that do not exist are refused with the list of known ones', async () => {
    const engine = new Engine({ plugins: [plugin] });
    engines.push(engine);
    const { faults } = await engine.reviewAgent({
      agent: {},
      script: { rules: [] },
      extensions: { functions: ['prise'] },
    });
    expect(faults.map(({ message }) => message).join()).toContain('there is no function "prise". Known: price, stock');
    expect(faults[0]?.details).toBeDefined();
    const none = new Engine();
    engines.push(none);
    await expect(none.checkAgent({ agent: {}, extensions: { functions: ['x'] } })).rejects.toThrow('--plugin FILE');
  });

  it('share no name with another tool', async () => {
    const engine = new Engine({ plugins: [plugin] });
    engines.push(engine);
    const agent = { tools: [{ name: 'price', description: '' }] };
    await expect(engine.checkAgent({ agent, extensions: { functions: ['price'] } })).rejects.toThrow(
      'two tools are called price',
    );
  });
});

describe('defineTool', () => {
  const execute = (): void => undefined;

  it.each([
    [{ name: 'a b', description: '', execute }, 'name should be 1 to 64 letters'],
    [{ name: 'a', execute }, 'a: description should be a text'],
    [{ name: 'a', description: '' }, 'a: execute should be a function'],
    [{ name: 'a', description: '', execute, timeout: 1 }, 'a: there is no member "timeout"; it has name,'],
    [{ name: 'a', description: '', execute, timeoutMs: 0 }, 'a: timeoutMs should be a number of milliseconds'],
    [{ name: 'a', description: '', execute, parameters: z.string() }, 'a: parameters should describe an object'],
    [
      { name: 'a', description: '', execute, parameters: { type: 'objekt' } },
      'a: parameters: type: it should be one of',
    ],
    [
      { name: 'a', description: '', execute, parameters: z.object({ at: z.date() }) },
      'a: parameters cannot be told to a model',
    ],
    [{ name: 'a', description: '', execute, background: true, runAfterCall: true }, 'exclude each other'],
    [{ name: 'a', description: '', execute, responseMode: 'loud' }, 'responseMode should be strict or flexible'],
  ])('refuses %j', (definition, reason) => {
    expect(() => defineTool(definition as never)).toThrow(reason);
  });

  it('takes any schema with Standard JSON Schema', async () => {
    const parameters = {
      '~standard': {
        version: 1 as const,
        vendor: 'own',
        validate: (value: unknown) => ({ value: { doubled: (value as { n: number }).n * 2 } }),
        jsonSchema: { input: () => ({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }) },
      },
    };
    const tool = defineTool({ name: 'double', description: '', parameters, execute: ({ doubled }) => doubled });
    const { said } = await converse({ tools: [tool] }, callsOnce('double', '{"n":4}'));
    expect(said).toContain('It says 8');
  });
});

describe('a unit test of a function in code', () => {
  const order = defineTool({
    name: 'order',
    description: 'Orders bread.',
    parameters: z.object({ count: z.int().max(50) }),
    async *execute({ count }, { metadata, wait }) {
      if (count === 13) throw new TypeError('bad luck');
      yield 'One moment.';
      await wait(1);
      return { count, customer: metadata['Customer'] };
    },
  });

  it('runs it with checked arguments and a context', async () => {
    expectTypeOf<Parameters<typeof order.execute>[0]>().toEqualTypeOf<{ count: number }>();
    expect(await runTool(order, { count: 4 }, { metadata: { Customer: 'Ada' } })).toEqual({
      ok: true,
      content: '{"count":4,"customer":"Ada"}',
      progress: ['One moment.'],
    });
    expect(await runTool(order, { count: 51 })).toMatchObject({ ok: false, fault: 'tool.arguments', progress: [] });
    const failed = await runTool(order, { count: 13 });
    expect(failed).toMatchObject({ ok: false, content: 'order failed: bad luck.' });
    expect(failed.cause).toMatch(/^TypeError: bad luck/);
  });
});
