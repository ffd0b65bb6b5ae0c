import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import type { AgentExtensions } from '../../src/agent/extensions/extensions.js';
import type { ChatMessage } from '../../src/agent/chat.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Engine } from '../../src/engine/engine.js';
import type { SessionEvent } from '../../src/session/session-options.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { packageFile } from '../../src/package-files.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { MemoryCaller } from '../../src/testing/doubles/memory-caller.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { recording } from '../session/support.js';

const CARD = '4242424242424242';
const PAY: AgentExtensions = {
  flow: {
    steps: [
      {
        id: 'pay',
        say: { entry: 'What is the number of your card?' },
        collect: [{ name: 'card', type: 'card', ask: ['Your card number, please?'] }],
        call: { tool: 'charge', arguments: { number: '{card}' } },
        transitions: [{ to: 'end', when: [{ tool: 'charge' }] }],
      },
      { id: 'end', say: { entry: 'Thank you. Goodbye!' }, end: { action: 'hang_up' } },
    ],
  },
};

/** Charges a card, and tells its number. */
const chargeTool = (charged: unknown[]) =>
  defineTool({
    name: 'charge',
    description: 'Charges a card.',
    parameters: { type: 'object', properties: { number: { type: 'string' } } },
    execute: (args: unknown) => {
      charged.push(args);
      return `charged ${CARD}`;
    },
  });

let clock: VirtualClock;
let engine: Engine;
beforeEach(() => {
  clock = new VirtualClock();
  engine = new Engine({ clock });
});
afterEach(() => engine.close());

interface Call {
  report: SessionReport;
  said: string[];
  log: LogEntry[];
  events: SessionEvent[];
}

/** A recogniser with prepared transcripts, one segment for each stretch of speech. */
function segmentStt(lines: readonly string[]): SttProvider {
  let segment = 0;
  return {
    ...promptedStt({ lines: [] }),
    name: 'segments',
    open: (_options, events) => {
      const send = (isFinal: boolean): void => {
        const text = lines[segment] ?? '';
        events.onTranscript({ segment, text, isFinal, understood: text !== '', confidence: 1 });
        if (isFinal) segment++;
      };
      return Promise.resolve({
        push: () => undefined,
        speechStarted: () => send(false),
        speechStopped: () => send(true),
        endTurn: () => undefined,
        close: () => Promise.resolve(),
      });
    },
  };
}

/** A call in which the user types, keys or says what is due once the agent has said a text. */
async function call(
  agent: Parameters<Engine['createSession']>[0],
  answers: readonly (readonly [text: string, answer: string | Int16Array])[],
  lines: readonly string[] | null = null,
): Promise<Call> {
  const said: string[] = [];
  const log: LogEntry[] = [];
  const events: SessionEvent[] = [];
  const rest = [...answers];
  const caller = lines === null ? null : new MemoryCaller(engine);
  const line = caller?.line ?? new MemoryTransport();
  const session = await engine.createSession({
    ...agent,
    vad: energyVad(),
    stt: lines === null ? promptedStt({ lines: [] }) : segmentStt(lines),
    tts: toneTts(),
    transport: line,
    observe: (event) => events.push(event),
    log: (entry) => {
      log.push(entry);
      if (entry.kind === 'effect' && entry.effect.type === 'speak') said.push(entry.effect.text);
      const [next] = rest;
      const isSaid = entry.kind === 'event' && entry.event.type === 'utterance.finished';
      if (next === undefined || !isSaid || said.at(-1)?.includes(next[0]) !== true) return;
      rest.shift();
      queueMicrotask(() => {
        if (typeof next[1] !== 'string') void caller?.plays(next[1]);
        else if (/^[\d#]+$/.test(next[1])) for (const key of next[1]) line.pushDigits(key);
        else session.sendText(next[1]);
      });
    },
  });
  let report: SessionReport | null = null;
  void session.run().then((ended) => (report = ended));
  await clock.runUntil(() => report !== null, 300_000);
  caller?.hangUp();
  if (report === null) throw new Error(`The call does not end: ${JSON.stringify(said)}`);
  return { report: report as unknown as SessionReport, said, log, events };
}

async function repairs() {
  const { config, script, extensions } = await loadAgentFile(fileURLToPath(packageFile('examples/repairs/agent.json')));
  return { agent: config, script, extensions, transport: new MemoryTransport() };
}

describe('an agent with a flow and no language model', () => {
  it('is led through its steps, and its report says when', async () => {
    const { report, said, events } = await call(await repairs(), [
      ['Would you like to book', 'How much does it cost?'],
      ['Would you like to book', 'Then I would like to book a repair.'],
      ['What is your name', 'Anna Miller'],
      ['Which day', '2020-01-01'],
      ['On which day', 'next friday'],
      ['Which phone number', '2025550143#'],
      ['Is that right', 'no'],
      ['digit by digit', '2025550144#'],
      ['Is that right', 'yes'],
    ]);
    expect(report.status).toBe('agent-ended');
    expect(report.functionCalls).toMatchObject([{ name: 'book_repair', ok: true }]);
    expect(JSON.parse(report.functionCalls[0]?.arguments ?? '')).toMatchObject({
      name: 'Anna Miller',
      phone: '2025550144',
    });
    expect(said).toEqual(expect.arrayContaining(['That day is in the past.', 'On which day, please?']));
    expect(said.at(-1)).toMatch(/^You are booked, Anna Miller: please bring your bicycle .*Goodbye!$/);
    expect(report.steps.map(({ step, to }) => [step, to])).toEqual([
      ['welcome', 'details'],
      ['details', 'booked'],
      ['booked', null],
    ]);
    expect(events.flatMap((event) => (event.type === 'step' ? event.step : []))).toEqual([
      'welcome',
      'details',
      'booked',
    ]);
    expect(report.faults).toEqual({});
  });

  it('reaches its global steps from everywhere', async () => {
    const { report, said } = await call(await repairs(), [
      ['Would you like to book', 'book a repair'],
      ['What is your name', 'say that again, please'],
      ['What is your name', 'stop'],
    ]);
    expect(said.filter((text) => text === 'What is your name, please?')).toHaveLength(2);
    expect(report.steps.map(({ step }) => step)).toEqual(['welcome', 'details', 'again', 'details', 'stop']);
    expect(report.status).toBe('agent-ended');
  });

  it.each([
    [
      'typed',
      [
        ['What is the number', `It is 4242 4242 4242 4242.`],
        ['Is that right', 'yes'],
      ],
    ],
    [
      'keyed',
      [
        ['What is the number', `${CARD}#`],
        ['Is that right', 'yes'],
      ],
    ],
    [
      'wrong at first',
      [
        ['What is the number', '4242424242424241#'],
        ['Your card number', `${CARD}#`],
        ['Is that right', 'yes'],
      ],
    ],
  ] as const)('keeps the number of a card that is %s to itself and its tool', async (_how, answers) => {
    const charged: unknown[] = [];
    const charge = chargeTool(charged);
    const agent = { agent: { prompt: 'Pay.' }, extensions: PAY, tools: [charge], transport: new MemoryTransport() };
    const { report, said, log, events } = await call(agent, answers);
    expect(report.status).toBe('agent-ended');
    expect(charged).toEqual([{ number: CARD }]);
    expect(said).toContain('I have 4 2 4 2. Is that right?');
    const everything = JSON.stringify([report, log, events]);
    expect(everything).toContain('[card number ending in 4242]');
    expect(everything).not.toMatch(/4242[\s,.-]*4242/);
    expect(everything).not.toContain('"digits":"4"');
  });

  it('charges the card whose number is said in two segments, and shows it nowhere', async () => {
    const charged: unknown[] = [];
    const agent = { agent: { prompt: 'Pay.' }, extensions: PAY, tools: [chargeTool(charged)] };
    const { report, said, log, events } = await call(
      { ...agent, transport: new MemoryTransport() },
      [
        ['What is the number', recording(3200, [0, 1200], [2000, 3200])],
        ['Is that right', 'yes'],
      ],
      ['forty-two forty-two forty-two forty-two', 'four two four two four two four two'],
    );
    expect(report.status).toBe('agent-ended');
    expect(charged).toEqual([{ number: CARD }]);
    expect(said).toContain('I have 4 2 4 2. Is that right?');
    const everything = JSON.stringify([report, log, events]);
    expect(everything).toContain('[card number ending in 4242]');
    expect(everything).not.toMatch(/4242[\s,.-]*4242|forty-two|four two/);
  });
});

describe('a chat with an agent with a flow', () => {
  it('continues from the messages of the answers before', async () => {
    const { agent, script, extensions } = await repairs();
    await engine.close();
    engine = new Engine();
    const messages: ChatMessage[] = [];
    const write = async (content: string | null): Promise<string> => {
      if (content !== null) messages.push({ role: 'user', content });
      let text = '';
      for await (const piece of engine.chat({
        agent,
        script,
        extensions,
        messages: [...messages],
        signal: new AbortController().signal,
      })) {
        if (piece.type === 'text') text += piece.text;
        if (piece.type === 'done') messages.push(...piece.added);
      }
      return text;
    };
    expect(await write(null)).toContain('Would you like to book');
    expect(await write('I would like to book a repair')).toBe('What is your name, please?');
    expect(await write('Anna Miller')).toBe('Which day would you like to bring it?');
    expect(await write('tomorrow')).toContain('Which phone number');
    expect(await write('202 555 0143')).toBe('I have 2 0 2, 5 5 5, 0 1 4, 3. Is that right?');
    expect(await write('yes')).toMatch(/You are booked, Anna Miller: please bring your bicycle tomorrow. Goodbye!$/);
    expect(
      messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : [])).map(({ name }) => name),
    ).toContain('book_repair');
  });
});

describe('a chat in which one of the agents asks for a card', () => {
  const [pay, end] = PAY.flow?.steps ?? [];
  const collect = [{ name: 'card', type: 'card' as const, confirm: false }];
  const extensions = { flow: { steps: [{ ...pay, id: 'pay', collect }, end] } } as AgentExtensions;
  const billing = { name: 'Billing', agent: { prompt: 'You are billing.' }, extensions };
  const handover = { agents: [{ agent_id: 'billing', context: 'all' as const }] };

  /** What the models of the agents read in answer to these messages, and what the chat keeps of them. */
  async function chat(messages: ChatMessage[], llm: Parameters<typeof functionLlm>[0], charged: unknown[] = []) {
    await engine.close();
    const kept: unknown[] = [];
    const history = { keep: (item: object) => Promise.resolve(kept.push(item)).then(() => ({ ...item, ts: 1 })) };
    engine = new Engine({ history: history as never });
    const read: string[] = [];
    const pieces = engine.chat({
      agent: { prompt: 'You are the desk.' },
      extensions: { handover },
      agents: { billing: { ...billing, tools: [chargeTool(charged)] } },
      llm: functionLlm((request) => {
        read.push(JSON.stringify(request.messages));
        return llm(request);
      }),
      messages,
      endOfSession: true,
      signal: new AbortController().signal,
    });
    const added: ChatMessage[] = [];
    for await (const piece of pieces) if (piece.type === 'done') added.push(...piece.added);
    return { read, added, everything: JSON.stringify([read, added, kept]) };
  }

  it('keeps the number from the model of every agent, before and after', async () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: `Is ${CARD} a good card?` },
      { role: 'assistant', content: 'It is.' },
      { role: 'user', content: 'What do I owe?' },
    ];
    const { everything, read } = await chat(messages, () => 'Ten euros.');
    expect(read[0]).toContain('[card number ending in 4242]');
    expect(everything).not.toContain(CARD);
  });

  it('gives it to the tool of the next agent', async () => {
    const charged: unknown[] = [];
    const { everything, added } = await chat(
      [{ role: 'user', content: `Charge ${CARD}.` }],
      ({ tools }) => {
        const names = tools.map(({ name }) => name);
        if (names.includes('hand_over')) return { calls: [{ name: 'hand_over', arguments: '{"agent":"Billing"}' }] };
        return { calls: [{ name: 'set_data', arguments: '{"card":"[card number ending in 4242]"}' }] };
      },
      charged,
    );
    expect(charged).toEqual([{ number: CARD }]);
    expect(JSON.stringify(added)).toContain('charged [card number ending in 4242]');
    expect(everything).not.toContain(CARD);
  });
});

it('names tools that the agent does not have, and patterns with faults', async () => {
  const flow = {
    tools: ['nothing'],
    steps: [
      { id: 'a', transitions: [{ to: 'b', when: [{ choice: 'Go.', phrases: ['(go'] }] }] },
      { id: 'b', end: { action: 'hang_up' as const } },
    ],
  };
  const request = { agent: { prompt: '' }, extensions: { flow }, transport: new MemoryTransport() };
  await expect(engine.createSession(request)).rejects.toMatchObject({
    issues: [{ loc: ['extensions', 'flow', 'tools', 0], msg: 'The agent has no tool nothing' }],
  });
});
