import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import type { ChatMessage } from '../../src/agent/chat.js';
import type { ChatPiece } from '../../src/engine/chat.js';
import { Engine } from '../../src/engine/engine.js';
import type { ChatRequest, EngineOptions } from '../../src/engine/options.js';
import type { LlmProvider, LlmRequest } from '../../src/providers/llm/llm.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import { InProcessMemories, RecentSessions } from '../../src/session/after-call/memory.js';
import { type Answer, functionLlm } from '../../src/testing/doubles/function-llm.js';
import { httpServer, type LocalServer } from '../net/local-server.js';
import { CustomLlmServer } from '../vendors/custom-llm.js';

const SECRET = `whsec_${Buffer.from('a key of twenty-four byte').toString('base64')}`;
const BREAD: ChatMessage = { role: 'user', content: 'Have you bread?' };

let server: LocalServer;
let engines: Engine[];
let seen: { path: string; query: URLSearchParams; headers: Record<string, string>; body: string }[];
let asked: LlmRequest[];
let kept: CallHistoryItem[];
beforeEach(async () => {
  [engines, seen, asked, kept] = [[], [], [], []];
  server = await httpServer((request, response, body) => {
    const url = new URL(request.url ?? '', server.origin);
    seen.push({
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers as Record<string, string>,
      body,
    });
    if (url.pathname === '/brief') response.end('{"metadata":{"Name":"Ann"},"extra_prompt":"Ann likes rye."}');
    else if (url.pathname !== '/never') response.end(`{"from":"${url.pathname}"}`);
  });
});
afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await server.close();
});

function engineOf(options: EngineOptions = {}): Engine {
  const history = {
    keep: async (item: CallHistoryItem) => {
      kept.push(item);
      return { ...item, ts: 7 };
    },
  };
  const engine = new Engine({
    allowUrls: [server.origin],
    webhookSecret: SECRET,
    history,
    ...options,
  });
  engines.push(engine);
  return engine;
}

const quick = (answer: (request: LlmRequest) => Answer): LlmProvider => functionLlm(answer, { firstMs: 0, pieceMs: 0 });

/** A model that answers so, one answer a request; requests are noted. */
function model(...answers: Answer[]): LlmProvider {
  return quick((request) => {
    asked.push(request);
    return answers[Math.min(asked.length, answers.length) - 1] as Answer;
  });
}

interface Chatted {
  pieces: ChatPiece[];
  text: string;
  texts: string[];
  added: readonly ChatMessage[];
}

async function chat(
  agent: AgentConfig,
  request: Partial<ChatRequest> = {},
  engine: Engine = engineOf(),
): Promise<Chatted> {
  const { signal } = new AbortController();
  const pieces: ChatPiece[] = [];
  for await (const piece of engine.chat({ agent, messages: [BREAD], signal, ...request })) pieces.push(piece);
  const texts = pieces.flatMap((piece) => (piece.type === 'text' ? [piece.text] : []));
  const done = pieces.at(-1);
  return { pieces, texts, text: texts.join(''), added: done?.type === 'done' ? done.added : [] };
}

const calling = (...names: string[]): Answer => ({ calls: names.map((name) => ({ name, arguments: '{}' })) });
const fn = (name: string, more: object = {}) => ({
  name,
  description: 'x',
  webhook: `${server.origin}/${name}`,
  ...more,
});

describe('an answer in writing', () => {
  it('is the deltas of the model, for the prompt as a conversation in writing has it', async () => {
    const { texts, added, pieces } = await chat(
      { prompt: 'You sell {Kind} bread.', timezone: 'Asia/Tokyo', language: 'de' },
      { llm: model('Yes, we have.'), metadata: { Kind: 'rye' }, includeMetadataInPrompt: true },
    );
    expect(texts).toEqual(['Yes, ', 'we ', 'have.']);
    expect(added).toEqual([{ role: 'assistant', content: 'Yes, we have.' }]);
    expect(pieces[0]).toMatchObject({ type: 'begun', model: 'scripted' });
    const [system, user] = asked[0]?.messages ?? [];
    expect(user).toEqual(BREAD);
    expect(system?.content).toMatch(
      /^You sell rye bread\.\n\nIt is now .* \(Asia\/Tokyo\)\.\n\nWhat is known .*"rye"/s,
    );
    expect(system?.content).toContain('in writing');
    expect(system?.content).toContain('The conversation is in German');
    expect(system?.content).not.toContain('spoken');
  });

  it('needs neither ears nor a voice', async () => {
    const agent: AgentConfig = {
      language: 'fo',
      voice: { provider: 'elevenlabs', voice_id: 'x' },
      speech_to_text: { provider: 'deepgram' },
    };
    expect((await chat(agent, { llm: model('Hey.') })).text).toBe('Hey.');
  });

  it('keeps to the limits of the history', async () => {
    const messages: ChatMessage[] = [1, 2, 3, 4, 5].map((count) => ({ role: 'user', content: String(count) }));
    const agent = { llm: { model: 'scripted', history_settings: { history_message_limit: 2 } } };
    await chat(agent, { llm: model('Well.'), messages });
    expect(asked[0]?.messages.slice(1).map(({ content }) => content)).toEqual(['4', '5']);
  });

  it('offers nothing that needs a call', async () => {
    await chat(
      {
        flow: {
          agent_terminate_call: { enabled: true },
          call_transfer: { phone: '+12025550100' },
          dtmf_dial: { enabled: true },
        },
        switch_language: { languages: ['de'] },
        privacy_settings: { opt_out_data_collection: false, do_not_call_detection: true },
        tools: [fn('book'), fn('later', { run_after_call: true })],
      },
      { llm: model('Well.') },
    );
    expect(asked[0]?.tools.map(({ name }) => name)).toEqual(['book']);
  });
});

describe('the opening', () => {
  it('is the first message, and asks no model', async () => {
    const { text, added } = await chat(
      { first_message: 'Hello {Name}!' },
      { messages: [], metadata: { Name: 'Bo' }, llm: model('No.') },
    );
    expect(text).toBe('Hello Bo!');
    expect(added).toEqual([{ role: 'assistant', content: 'Hello Bo!' }]);
    expect(asked).toEqual([]);
  });

  it("is the model's where there is none", async () => {
    expect((await chat({}, { messages: [], llm: model('Good morning.') })).text).toBe('Good morning.');
  });

  it('is left to the user where they begin', async () => {
    const agent = { first_message: 'Hello!', flow: { user_start_first: true } };
    const { text, pieces } = await chat(agent, { messages: [], llm: model('No.') });
    expect(text).toBe('');
    expect(pieces.map(({ type }) => type)).toEqual(['begun', 'done']);
  });
});

describe('tools', () => {
  it('run side by side, announced by their phrases, and the model hears of their results', async () => {
    const agent: AgentConfig = {
      tools: [fn('book', { messages: ['I am booking.'] }), fn('price', { messages: ['Let me see.'] })],
    };
    const { texts, added, pieces } = await chat(agent, {
      llm: model(
        {
          text: 'Sure.',
          calls: [
            { name: 'book', arguments: '{}' },
            { name: 'price', arguments: '{}' },
          ],
        },
        'Done.',
      ),
    });
    expect(texts).toEqual(['Sure.', ' I am booking.', ' Let me see.', ' Done.']);
    expect(pieces.map(({ type }) => type).join(' ')).toBe('begun text text text tools tool tool text done');
    expect(added.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'assistant: Sure. I am booking. Let me see.',
      'tool: {"from":"/book"}',
      'tool: {"from":"/price"}',
      'assistant: Done.',
    ]);
    expect(asked[1]?.messages.slice(2)).toEqual(added.slice(0, 3));
    expect(seen.map(({ path }) => path).sort()).toEqual(['/book', '/price']);
  });

  it('are announced in their own words by a model that is to phrase it', async () => {
    const agent: AgentConfig = { tools: [fn('book', { messages: ['Booking.'], response_mode: 'flexible' })] };
    const own = model({ text: 'I will.', calls: [{ name: 'book', arguments: '{}' }] }, 'Done.');
    expect((await chat(agent, { llm: own })).text).toBe('I will. Done.');
    asked = [];
    expect((await chat(agent, { llm: model(calling('book'), 'Done.') })).text).toBe('Booking. Done.');
  });

  it('end after six rounds', async () => {
    const engine = engineOf();
    const work = chat({ tools: [fn('book')] }, { llm: model(calling('book')) }, engine);
    await expect(work).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
    expect(asked).toHaveLength(6);
    expect(seen).toHaveLength(5);
  });

  it('that hang are given up, and the model gets the reason', async () => {
    const agent = { tools: [fn('never', { timeout: 1 })] };
    const { added } = await chat(agent, { llm: model(calling('never'), 'It did not work.') });
    expect(added[1]?.content).toMatch(/not complete within 1000 ms/);
    expect(added[2]).toEqual({ role: 'assistant', content: 'It did not work.' });
  });

  it('have ids that no earlier call has', async () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'call-1', name: 'book', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'call-1', content: 'booked' },
      BREAD,
    ];
    const { added } = await chat({ tools: [fn('book')] }, { llm: model(calling('book'), 'Done.'), messages });
    expect(added[1]).toMatchObject({ toolCallId: 'call-1-2' });
  });
});

describe('what goes wrong', () => {
  it('a disabled agent, and one with a fault, is refused before its model is asked', async () => {
    await expect(chat({ status: 'disabled' }, { llm: model('No.') })).rejects.toMatchObject({ code: 'AGENT_DISABLED' });
    await expect(chat({ llm: { model: 'gpt-77' } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(chat({ knowledge_base: { files: ['f'] } }, { llm: model('No.') })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(asked).toEqual([]);
  });

  it.each<[string, Answer, string]>([
    ['fails', { fault: 'overloaded' }, 'PROVIDER_FAILED'],
    ['says nothing', '', 'PROVIDER_FAILED'],
  ])('a model that %s is an error', async (_what, answer, code) => {
    await expect(chat({}, { llm: model(answer) })).rejects.toMatchObject({ code });
  });

  it('a model that has nothing to add to its own last word is none', async () => {
    const messages: ChatMessage[] = [BREAD, { role: 'assistant', content: 'Yes.' }];
    expect((await chat({}, { llm: model(''), messages })).text).toBe('');
  });

  it('a model that stalls is an error', async () => {
    const clock = new VirtualClock();
    const work = expect(chat({}, { llm: model({ stall: true }) }, engineOf({ clock }))).rejects.toMatchObject({
      code: 'PROVIDER_TIMEOUT',
    });
    await clock.runUntil(() => asked.length > 0);
    await clock.advanceBy(20_000);
    await work;
  });

  it('a reader who leaves breaks off the model and the tools', async () => {
    const engine = engineOf();
    const leaving = new AbortController();
    let cut: unknown;
    const llm: LlmProvider = {
      ...model(''),
      async *complete({ signal }) {
        signal.addEventListener('abort', () => void (cut = signal.reason));
        yield { type: 'text', text: 'Well' };
        await new Promise(() => undefined);
      },
    };
    const reading = engine.chat({ agent: {}, llm, messages: [BREAD], signal: leaving.signal });
    await reading.next();
    expect((await reading.next()).value).toEqual({ type: 'text', text: 'Well' });
    const next = reading.next();
    leaving.abort(new Error('gone'));
    await expect(next).rejects.toThrow('gone');
    expect(cut).toMatchObject({ message: 'gone' });
  });

  it('an engine that closes breaks it off, too', async () => {
    const engine = engineOf();
    const { signal } = new AbortController();
    const reading = engine.chat({
      agent: { tools: [fn('never')] },
      llm: model(calling('never')),
      messages: [BREAD],
      signal,
    });
    await reading.next();
    await reading.next();
    const next = reading.next();
    await Promise.all([expect(next).rejects.toMatchObject({ code: 'SESSION_CLOSED' }), engine.close()]);
    const late = engine.chat({ agent: {}, messages: [], signal });
    await expect(late.next()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });
});

describe('the end of a session', () => {
  const agent = (): AgentConfig => ({
    session_data_webhook: `${server.origin}/data`,
    memory: { user_identifier_key: 'user' },
    tools: [fn('file', { run_after_call: true, params: [{ name: 'topic', type: 'string' }] }), fn('book')],
  });

  it('runs what runs after it, is kept as a chat completion, reported and remembered', async () => {
    const [memories, sessionMemory] = [new InProcessMemories(), new RecentSessions()];
    const engine = engineOf({ memories, sessionMemory });
    const llm = quick(({ requiredTool, messages }) => {
      if (requiredTool === 'file') return { calls: [{ name: 'file', arguments: '{"topic":"bread"}' }] };
      if (requiredTool === 'remember')
        return { calls: [{ name: 'remember', arguments: '{"summary":"Wants bread."}' }] };
      return messages.at(-1)?.role === 'user' ? calling('book') : 'We have.';
    });
    const request = { llm, endOfSession: true, id: 'chat-1', agentId: 'baker', metadata: { user: 'ann' } };
    await chat(agent(), request, engine);
    expect(kept).toHaveLength(1);
    const [item] = kept;
    expect(item).toMatchObject({
      session_id: 'chat-1',
      agent_id: 'baker',
      call_status: 'chat_completion',
      error_message: null,
      call_id: null,
      metadata: { user: 'ann' },
      chars_used: 0,
      voip: null,
      recording: null,
      cost_breakdown: [{ type: 'llm', provider: 'function' }],
    });
    expect((JSON.parse(item?.chat ?? '') as { role: string }[]).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(item?.function_calls).toEqual([
      { name: 'book', params: {}, result: '{"from":"/book"}', run_after_call: false },
      { name: 'file', params: { topic: 'bread' }, result: '{"from":"/file"}', run_after_call: true },
    ]);
    await engine.close();
    const told = seen.find(({ path }) => path === '/data');
    expect(new Webhook(SECRET).verify(told?.body ?? '', told?.headers ?? {})).toMatchObject({
      session_id: 'chat-1',
      ts: 7,
    });
    expect(await memories.recall('baker', 'ann', 5)).toMatchObject([{ text: 'Wants bread.', sessionId: 'chat-1' }]);
    expect(await sessionMemory.byId('chat-1', 'baker')).toHaveLength(4);
  });

  it('comes without an answer where the last word was the agent’s', async () => {
    const messages: ChatMessage[] = [BREAD, { role: 'assistant', content: 'Yes.' }];
    const { text } = await chat({}, { llm: model('No.'), endOfSession: true, messages });
    expect(text).toBe('');
    expect(asked).toEqual([]);
    expect(JSON.parse(kept[0]?.chat ?? '')).toEqual(messages);
  });

  it('is kept with its reason where the model fails', async () => {
    await expect(chat({}, { llm: model({ fault: 'overloaded' }), endOfSession: true })).rejects.toThrow('overloaded');
    await engines[0]?.close();
    expect(kept[0]).toMatchObject({ call_status: 'chat_completion', error_message: 'function failed: overloaded' });
    expect(JSON.parse(kept[0]?.chat ?? '')).toEqual([BREAD]);
  });

  it('comes as well where the reader leaves', async () => {
    const engine = engineOf();
    for await (const piece of engine.chat({
      agent: {},
      llm: model('One two three.'),
      messages: [BREAD],
      endOfSession: true,
      signal: new AbortController().signal,
    })) {
      if (piece.type === 'text') break;
    }
    await engine.close();
    expect(kept[0]).toMatchObject({ error_message: 'the client left before the answer was complete' });
    expect(JSON.parse(kept[0]?.chat ?? '')).toEqual([BREAD, { role: 'assistant', content: 'One' }]);
  });

  it('leaves nothing of what was said where that is opted out of', async () => {
    const privacy_settings = { opt_out_data_collection: true };
    const [memories, sessionMemory] = [new InProcessMemories(), new RecentSessions()];
    const engine = engineOf({ memories, sessionMemory });
    const llm = model(calling('book'), 'We have.');
    const request = { llm, endOfSession: true, id: 'chat-1', agentId: 'baker', metadata: { user: 'ann' } };
    await chat({ ...agent(), privacy_settings }, request, engine);
    expect(kept[0]).toMatchObject({ chat: '[]', metadata: {}, call_status: 'chat_completion' });
    expect(JSON.stringify(kept[0]?.function_calls)).not.toContain('from');
    expect(await memories.recall('baker', 'ann', 5)).toEqual([]);
    expect(await sessionMemory.byId('chat-1', 'baker')).toBeNull();
  });

  it('is what a chat without it never has', async () => {
    await chat(agent(), { llm: model('Yes.'), metadata: { user: 'ann' } });
    await engines[0]?.close();
    expect(kept).toEqual([]);
    expect(seen).toEqual([]);
  });
});

describe('around the answer', () => {
  it('a webhook adds to the prompt and the metadata', async () => {
    const agent: AgentConfig = { prompt: 'You serve {Name}.', extra_prompt_webhook: `${server.origin}/brief` };
    await chat(agent, { llm: model('Yes.'), agentId: 'baker', metadata: { a: { b: 1 } } });
    expect(asked[0]?.messages[0]?.content).toMatch(/^You serve Ann\.\n\nAnn likes rye\./);
    expect(Object.fromEntries(seen[0]?.query ?? [])).toMatchObject({ agent_id: 'baker', 'a.b': '1' });
  });

  it('what earlier sessions established is known', async () => {
    const memories = new InProcessMemories();
    await memories.keep({ agentId: 'baker', user: 'ann', sessionId: 's', text: 'Likes rye.', unixMs: nowUnixMs() });
    const agent: AgentConfig = { memory: { user_identifier_key: 'user' } };
    await chat(agent, { llm: model('Yes.'), agentId: 'baker', metadata: { user: 'ann' } }, engineOf({ memories }));
    expect(asked[0]?.messages[0]?.content).toContain('Likes rye.');
  });

  it("a server of the agent's own answers in place of the model", async () => {
    const own = await CustomLlmServer.open({
      onStart: (say) => say.response('Welcome!', { end_of_stream: true }),
      onRequest: (say) => {
        say.response('We have ');
        say.response('bread.', { end_of_stream: true });
      },
    });
    const engine = new Engine({ allowUrls: [own.url] });
    engines.push(engine);
    const agent: AgentConfig = { custom_llm_websocket: own.url };
    expect((await chat(agent, { messages: [] }, engine)).text).toBe('Welcome!');
    expect((await chat(agent, { agentId: 'baker' }, engine)).texts).toEqual(['We have ', 'bread.']);
    expect(own.of('stream_request')).toMatchObject([{ transcript: [BREAD] }]);
    expect(own.violations).toEqual([]);
    await own.close();
  });
});

it('tells of faults that did not end the chat', async () => {
  const faults: unknown[] = [];
  const engine = new Engine({
    onChatFault: ({ agentId }, name, reason) => faults.push([agentId, name, reason]),
  });
  engines.push(engine);
  const pieces = engine.chat({
    agent: { tools: [{ name: 'stock', description: 'What is there.', webhook: 'http://10.0.0.7/stock' }] },
    agentId: 'baker',
    script: { rules: [{ when: 'bread', call: { tool: 'stock', ok: { say: 'Yes.' }, failed: { say: 'No.' } } }] },
    messages: [BREAD],
    signal: new AbortController().signal,
  });
  for await (const _ of pieces);
  expect(faults).toEqual([['baker', 'tool.failed', expect.stringContaining('the setting allowUrls') as string]]);
});
