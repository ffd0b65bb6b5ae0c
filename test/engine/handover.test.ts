import { afterEach, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/agent/agent.js';
import type { AgentExtensions } from '../../src/agent/extensions/extensions.js';
import type { ChatMessage } from '../../src/agent/chat.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { ChatPiece } from '../../src/engine/chat.js';
import { Engine } from '../../src/engine/engine.js';
import type { AgentRequest, ChatRequest, EngineOptions, NamedAgent } from '../../src/engine/options.js';
import type { SessionHandle } from '../../src/engine/remote-line.js';
import { RecentSessions } from '../../src/session/after-call/memory.js';
import { wireMessage } from '../../src/session/record/call-history.js';
import { transcriptOf, transcriptOfChat } from '../../src/session/record/transcript.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import type { SessionEvent } from '../../src/session/session-options.js';
import { type Answer, functionLlm } from '../../src/testing/doubles/function-llm.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { replay } from '../../src/replay/replay.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { httpServer } from '../net/local-server.js';

const engines: Engine[] = [];
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));

const NOTHING = { ok: {}, failed: { say: 'I am sorry, that does not work.' } };
const DESK: AgentConfig = { prompt: 'You are the desk.', first_message: 'Hello, this is the desk.' };
const DESK_SCRIPT = {
  rules: [
    { when: 'bill', call: { tool: 'hand_over', arguments: { agent: 'Billing', reason: 'A bill.' }, ...NOTHING } },
    { when: 'room', say: 'We have a room.' },
  ],
};
const BILLING: NamedAgent = {
  name: 'Billing',
  agent: {
    prompt: 'You are billing.',
    voice: { provider: 'flite', voice_id: 'kal' },
    first_message: 'This is never said.',
    flow: { agent_terminate_call: { enabled: true } },
  },
  script: {
    rules: [
      { when: 'bill', say: 'Your bill is ten euros.' },
      { when: 'room', call: { tool: 'hand_back', arguments: {}, ...NOTHING } },
      { when: 'check', call: { tool: 'check', arguments: {}, ok: { say: 'It is paid.' }, failed: { say: 'No.' } } },
    ],
  },
  tools: [defineTool({ name: 'check', description: 'Checks.', execute: () => 'paid' })],
};
const EXTENSIONS = { handover: { agents: [{ agent_id: 'billing', announcement: 'One moment please.' }] } };
const REQUEST: Partial<AgentRequest> = {
  agent: DESK,
  script: DESK_SCRIPT,
  extensions: EXTENSIONS,
  agents: { billing: BILLING },
};

interface Held {
  report: SessionReport;
  events: SessionEvent[];
  log: LogEntry[];
  said: { agent: string; text: string }[];
}

/** A conversation in virtual time with the scripted model: the user types each text at its time. */
async function converse(
  request: Partial<AgentRequest>,
  typed: Readonly<Record<number, string>>,
  {
    options = {},
    at = {},
  }: { options?: EngineOptions; at?: Readonly<Record<number, (session: SessionHandle) => unknown>> } = {},
): Promise<Held> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock, ...options });
  engines.push(engine);
  const line = new MemoryTransport();
  const events: SessionEvent[] = [];
  const log: LogEntry[] = [];
  const session = await engine.createSession({
    agent: DESK,
    id: 's-1',
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    observe: (event) => events.push(event),
    log: (entry) => log.push(entry),
    ...request,
  });
  const running = session.run();
  const moments = { ...typed, ...at };
  for (const atMs of Object.keys(moments).map(Number)) {
    await clock.advanceTo(atMs);
    const text = typed[atMs];
    if (text === undefined) void at[atMs]?.(session);
    else session.sendText(text);
  }
  await clock.advanceTo(Math.max(...Object.keys(moments).map(Number)) + 8000);
  line.hangUp();
  let report: SessionReport | undefined;
  void running.then((done) => (report = done));
  await clock.runUntil(() => report !== undefined);
  let agent = 'desk';
  const said = events.flatMap((event) => {
    if (event.type === 'handover') agent = event.to.name;
    return event.type === 'agent' ? [{ agent, text: event.text }] : [];
  });
  return { report: report as unknown as SessionReport, events, log, said };
}

const texts = ({ report: { messages } }: Held): string[] =>
  messages.flatMap(({ role, content }) => (role === 'assistant' && content !== '' ? [content] : []));

describe('a hand-over on a line', () => {
  it('goes to the other agent and back, with its voice and tools, and the record shows who spoke when', async () => {
    const spoken = { ...REQUEST, tts: undefined };
    const held = await converse(spoken, { 4000: 'How much is my bill?', 14_000: 'check it', 22_000: 'I want a room' });
    expect(held.report.faults).toEqual({});
    expect(texts(held)).toEqual([
      'Hello, this is the desk.',
      'One moment please.',
      'Your bill is ten euros.',
      'It is paid.',
      'We have a room.',
    ]);
    const { agents, usage, turns } = held.report;
    expect(agents.map(({ name, agentId }) => [name, agentId])).toEqual([
      ['the first agent', null],
      ['Billing', 'billing'],
      ['the first agent', null],
    ]);
    expect(agents[0]?.toMs).toBe(agents[1]?.fromMs);
    expect(agents.at(-1)?.toMs).toBe(held.report.durationMs);
    const chars = agents
      .flatMap(({ usage: own }) => own.tts.map((one) => one.chars))
      .reduce((sum, one) => sum + one, 0);
    expect(chars).toBe(usage.tts.reduce((sum, one) => sum + one.chars, 0));
    expect(turns.map(({ agent }) => agent)).toEqual(['Billing', 'Billing', 'the first agent']);
    expect(held.report.functionCalls.map(({ name, result }) => [name, result])).toEqual([['check', 'paid']]);
    const story = transcriptOf({ entries: held.log }).filter(({ who }) => who === 'agent');
    expect(story.map(({ name }) => name)).toEqual([undefined, undefined, 'Billing', 'Billing', 'the first agent']);
    const chat = JSON.stringify(held.report.messages.map(wireMessage));
    expect(transcriptOfChat({ chat, function_calls: [] })).toContainEqual({
      atMs: null,
      who: 'agent',
      name: 'Billing',
      text: 'It is paid.',
    });
    expect(held.events.filter(({ type }) => type === 'handover')).toHaveLength(2);
    // The first answer of the other agent is no later than its second.
    const [first, second] = turns;
    expect(first?.llmFirstMs).toBeLessThanOrEqual((second?.llmFirstMs ?? 0) + 10);
  });

  it('replays to the bit', async () => {
    const { log } = await converse(REQUEST, { 4000: 'How much is my bill?', 14_000: 'I want a room' });
    const [start, ...entries] = log;
    if (start?.kind !== 'start') throw new Error('a log begins with its start');
    expect(replay({ start, entries, isCut: false }).difference).toBeNull();
  });

  it.each([
    ['is disabled', { ...BILLING, agent: { ...BILLING.agent, status: 'disabled' } }, /disabled/],
    [
      'opts out of data collection',
      { ...BILLING, agent: { ...BILLING.agent, privacy_settings: { opt_out_data_collection: true } } },
      /opts out/,
    ],
  ] as const)('leaves the call with the first agent if the other one %s', async (_what, billing, reason) => {
    const held = await converse({ ...REQUEST, agents: { billing } }, { 4000: 'my bill please' });
    expect(texts(held)).toEqual(['Hello, this is the desk.', 'I am sorry, that does not work.']);
    expect(held.report.faultReasons?.['handover.failed']).toMatch(reason);
    expect(held.report.agents).toEqual([]);
  });

  it('begins without an agent that does not exist any more, and says so', async () => {
    const held = await converse({ ...REQUEST, agents: {} }, { 4000: 'my bill please' });
    expect(held.report.faultReasons?.['handover.missing']).toBe('there is no agent "billing"');
    expect(texts(held).at(-1)).toBe('I am sorry, that does not work.');
  });

  it('gives the other agent variables and a language of its own', async () => {
    const german: NamedAgent = {
      name: 'Rechnung',
      agent: { prompt: 'Kunde {customer}.', language: 'de', first_message: null },
      script: { rules: [{ when: 'bill', say: 'Zehn Euro.' }] },
    };
    const target = { agent_id: 'billing', name: 'Kasse', when: 'It is about money.', messages: 3, return: false };
    const passes = { variables: ['customer'], context: 'none' as const };
    const handover = { agents: [{ ...target, ...passes }], max_hops: 2 };
    const script = { rules: [{ when: 'bill', call: { tool: 'hand_over', arguments: {}, ...NOTHING } }] };
    const metadata = { customer: 'Ada' };
    const request = {
      ...REQUEST,
      tts: undefined,
      script,
      metadata,
      extensions: { handover },
      agents: { billing: german },
    };
    const held = await converse(request, { 4000: 'my bill please' });
    expect(held.report.faults).toEqual({});
    expect(held.report.agents[1]?.usage.tts.map(({ provider }) => provider)).toEqual(['espeak-ng']);
    const ready = held.log.find((entry) => entry.kind === 'event' && entry.event.type === 'handover.ready');
    expect(JSON.stringify(ready)).toContain('Kunde Ada.');
    expect(JSON.stringify(ready)).toContain('"variables":{"customer":"Ada"}');
    const offered = held.log.flatMap((entry) =>
      entry.kind === 'effect' && entry.effect.type === 'llm.start' ? [entry.effect.tools] : [],
    );
    expect(offered[0]?.[0]).toMatchObject({
      name: 'hand_over',
      description: expect.stringContaining('Kasse: It is about money. (the user is not told') as string,
    });
    // It may not hand the conversation back.
    expect(offered.at(-1)).toEqual([]);
  });

  it('is done by a program, to any agent of the engine', async () => {
    const options: EngineOptions = { agents: { get: async (id) => (id === 'billing' ? BILLING : null) } };
    const outcomes: unknown[] = [];
    const held = await converse(
      { extensions: null, agents: null },
      { 4000: 'my bill please' },
      {
        options,
        at: {
          9000: (session) => {
            void session.handOver('nobody').catch((error: unknown) => outcomes.push(error));
            void session.handOver('billing', { announcement: 'Here is billing.' }).then(() => outcomes.push('done'));
          },
        },
      },
    );
    expect(outcomes).toEqual([expect.objectContaining({ code: 'NOT_FOUND' }), 'done']);
    expect(texts(held)).toContain('Here is billing.');
    expect(held.report.agents.map(({ name }) => name)).toEqual(['the first agent', 'Billing']);
  });

  it('lets an agent that a program has called hand over itself', async () => {
    const support: NamedAgent = {
      name: 'Support',
      agent: { prompt: 'You are support.' },
      script: { rules: [{ when: 'help', say: 'Support is here.' }] },
    };
    const call = { tool: 'hand_over', arguments: { agent: 'Support' }, ...NOTHING };
    const billing: NamedAgent = {
      ...BILLING,
      extensions: { handover: { agents: [{ agent_id: 'support' }] } },
      script: { rules: [{ when: 'help', call }] },
    };
    const known = new Map([
      ['billing', billing],
      ['support', support],
    ]);
    const held = await converse(
      { script: { rules: [{ when: 'room', say: 'We have a room.' }] }, extensions: null, agents: null },
      { 9000: 'I need help' },
      {
        options: { agents: { get: async (id) => known.get(id) ?? null } },
        at: { 4000: (session) => session.handOver('billing') },
      },
    );
    expect(held.report.faults).toEqual({});
    expect(texts(held).at(-1)).toBe('Support is here.');
  });

  it('is carried out once if a program asks for it twice at the same time', async () => {
    const outcomes: unknown[] = [];
    const order = (session: SessionHandle): Promise<void> =>
      session.handOver('billing').then(
        () => void outcomes.push('done'),
        (error: unknown) => void outcomes.push(error),
      );
    const at = { 4000: (session: SessionHandle) => Promise.all([order(session), order(session)]) };
    const held = await converse(REQUEST, {}, { at });
    expect(outcomes).toEqual(['done', expect.objectContaining({ code: 'COMMAND_REFUSED' })]);
    expect(held.report.agents.map(({ name }) => name)).toEqual(['the first agent', 'Billing']);
  });

  it('lets each agent run its own function after the call, also where two have one of the same name', async () => {
    const ran: string[] = [];
    const started = new Set<string>();
    const file = (who: string) =>
      defineTool({ name: 'file', description: 'Files.', runAfterCall: true, execute: () => void ran.push(who) });
    const afterCallMarks = {
      start: async (_session: string, name: string) => !started.has(name) && started.add(name) !== null,
      finish: async () => undefined,
    };
    const request = {
      ...REQUEST,
      tools: [file('desk')],
      agents: { billing: { ...BILLING, tools: [file('billing')] } },
    };
    await converse(request, { 4000: 'How much is my bill?' }, { options: { afterCallMarks } });
    expect(ran.sort()).toEqual(['billing', 'desk']);
    expect([...started].sort()).toEqual(['billing:file', 'file']);
  });
});

describe('a hand-over in writing', () => {
  const chat = async (
    messages: ChatMessage[],
    more: Partial<ChatRequest> = {},
    options: EngineOptions = {},
  ): Promise<{ text: string; added: readonly ChatMessage[] }> => {
    const engine = new Engine(options);
    engines.push(engine);
    const { signal } = new AbortController();
    const request = { ...REQUEST, agent: DESK, messages, signal, ...more } as ChatRequest;
    const pieces: ChatPiece[] = [];
    for await (const piece of engine.chat(request)) pieces.push(piece);
    const text = pieces.flatMap((piece) => (piece.type === 'text' ? [piece.text] : [])).join('');
    return { text, added: pieces.flatMap((piece) => (piece.type === 'done' ? piece.added : [])) };
  };

  it('happens within an answer, and the messages say who has the conversation', async () => {
    const asked: ChatMessage[] = [{ role: 'user', content: 'How much is my bill?' }];
    const first = await chat(asked);
    expect(first.text).toBe('One moment please. Your bill is ten euros.');
    const history: ChatMessage[] = [...asked, ...first.added, { role: 'user', content: 'check it' }];
    const second = await chat(history);
    expect(second.text).toBe('It is paid.');
    const third = await chat([...history, ...second.added, { role: 'user', content: 'I want a room' }]);
    expect(third.text).toBe('We have a room.');
  });

  it('leaves no data where the first agent opts out, and sends its record to the first one only', async () => {
    const posts: { path: string; body: string }[] = [];
    const server = await httpServer((request, response, body) => {
      posts.push({ path: request.url ?? '', body });
      response.end('{}');
    });
    const hook = (path: string) => `${server.origin}/${path}`;
    const privacy_settings = { opt_out_data_collection: true };
    const more: Partial<ChatRequest> = {
      agent: { ...DESK, privacy_settings, session_data_webhook: hook('desk') },
      agents: { billing: { ...BILLING, agent: { ...BILLING.agent, session_data_webhook: hook('billing') } } },
      agentId: 'desk',
      endOfSession: true,
    };
    const kept: string[] = [];
    const sessionMemory = new RecentSessions();
    const options: EngineOptions = {
      allowUrls: [server.origin],
      webhookSecret: `whsec_${Buffer.from('a key of twenty-four byte').toString('base64')}`,
      sessionMemory,
      history: {
        keep: async (item) => {
          kept.push(item.chat);
          return item;
        },
      },
    };
    const asked: ChatMessage[] = [{ role: 'user', content: 'How much is my bill?' }];
    const first = await chat(asked, { ...more, id: 'c-1' }, options);
    const history: ChatMessage[] = [...asked, ...first.added, { role: 'user', content: 'check it' }];
    const second = await chat(history, { ...more, id: 'c-2' }, options);
    expect([first.text, second.text]).toEqual(['One moment please. Your bill is ten euros.', 'It is paid.']);
    await Promise.all(engines.map((engine) => engine.close()));
    await server.close();
    expect(kept).toEqual(['[]', '[]']);
    expect(posts.map(({ path }) => path)).toEqual(['/desk', '/desk']);
    expect(JSON.stringify(posts)).not.toContain('ten euros');
    expect(await sessionMemory.byId('c-1', 'desk')).toBeNull();
  });

  it('begins the flow of the other agent, with none of what the first one has learned', async () => {
    const flow = (entry: string | null): AgentExtensions['flow'] => ({
      steps: [
        {
          id: 'ask',
          ...(entry === null ? {} : { say: { entry } }),
          collect: [{ name: 'name', type: 'name', ask: ['What is your name?'] }],
          transitions: [{ to: 'more' }],
        },
        {
          id: 'more',
          collect: [{ name: 'day', type: 'date', ask: ['Which day?'] }],
          transitions: [{ to: 'end' }],
        },
        { id: 'end', end: { action: 'hang_up' } },
      ],
    });
    const views: unknown[] = [];
    const set = { calls: [{ name: 'set_data', arguments: '{"name":"Ann Smith"}' }] };
    const over = { calls: [{ name: 'hand_over', arguments: '{}' }] };
    const answers: Answer[] = [set, over, 'Tell me.', 'All right.'];
    const llm = functionLlm(
      ({ step }) => {
        views.push([step?.step, { ...step?.known }]);
        return answers[views.length - 1] ?? '';
      },
      { firstMs: 0, pieceMs: 0 },
    );
    const more: Partial<ChatRequest> = {
      llm,
      script: undefined,
      extensions: { flow: flow(null), handover: { agents: [{ agent_id: 'billing' }] } },
      agents: { billing: { name: 'Billing', agent: {}, extensions: { flow: flow('This is billing.') } } },
    };
    const asked: ChatMessage[] = [{ role: 'user', content: 'I am Ann Smith.' }];
    const first = await chat(asked, more);
    expect(first.text).toBe('This is billing. Tell me.');
    const second = await chat([...asked, ...first.added, { role: 'user', content: 'Ann.' }], more);
    expect(second.text).toBe('All right.');
    expect(views).toEqual([
      ['ask', {}],
      ['more', { name: 'Ann Smith' }],
      ['ask', {}],
      ['ask', {}],
    ]);
  });

  it('comes back to the agent as the conversation has it, not to the one of its id', async () => {
    const back = { tool: 'hand_over', arguments: { agent: 'Desk', reason: 'A room.' }, ...NOTHING };
    const billing: NamedAgent = {
      ...BILLING,
      extensions: { handover: { agents: [{ agent_id: 'desk' }] } },
      script: {
        rules: [
          { when: 'bill', say: 'Your bill is ten euros.' },
          { when: 'room', call: back },
        ],
      },
    };
    const desk = { name: 'Desk', agent: DESK, script: { rules: [{ when: 'room', say: 'Another version.' }] } };
    const agents = { billing, desk };
    const asked: ChatMessage[] = [{ role: 'user', content: 'How much is my bill?' }];
    const first = await chat(asked, { agents, agentId: 'desk' });
    const history: ChatMessage[] = [...asked, ...first.added, { role: 'user', content: 'I want a room' }];
    expect((await chat(history, { agents, agentId: 'desk' })).text).toContain('We have a room.');
  });

  it('stays with the agent if the other one has a server of its own', async () => {
    const billing = { ...BILLING, agent: { ...BILLING.agent, custom_llm_websocket: 'wss://llm.example.com' } };
    const asked: ChatMessage[] = [{ role: 'user', content: 'How much is my bill?' }];
    const { text, added } = await chat(asked, { agents: { billing } });
    expect(text).toBe('I am sorry, that does not work.');
    expect(added.find(({ role }) => role === 'tool')?.content).toContain("an agent's own server answers");
  });
});

it('finds agents that do not exist when an agent is checked', async () => {
  const engine = new Engine();
  engines.push(engine);
  const { faults } = await engine.reviewAgent({ agent: DESK, script: DESK_SCRIPT, extensions: EXTENSIONS });
  expect(faults.map(({ message }) => message)).toEqual([expect.stringContaining('there is no agent "billing"')]);
  const known = { agent: DESK, script: DESK_SCRIPT, extensions: EXTENSIONS, agents: { billing: BILLING } };
  expect((await engine.reviewAgent(known)).faults).toEqual([]);
});
