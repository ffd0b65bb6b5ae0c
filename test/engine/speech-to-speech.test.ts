import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import type { ModelRoute } from '../../src/settings/models.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import type { Session } from '../../src/index.js';
import type { SessionEvent } from '../../src/session/session-options.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { finishChunk, OpenAiDouble, stream, textChunk } from '../providers/llm/openai-double.js';
import { RealtimeDouble } from '../vendors/realtime/double.js';
import { silence, spoken } from '../vendors/stt/spoken-words.js';
import { KEY } from '../vendors/tts/speech-double.js';

const ANSWER =
  'There is one at eight, by the window, or outside in the garden, where it is quiet at this time of the year, and later ' +
  'there is one more at the bar, which is the best place to see what the kitchen does.';
const MODEL = 'gpt-4o-realtime-preview';
let double: RealtimeDouble;
let engine: Engine | null = null;
let line: MemoryTransport;
let heardFrames: number;
let events: SessionEvent[];
/** What the client shows of the answers, as they begin and grow. */
let shown: string[];
let closing: () => Promise<void> = () => Promise.resolve();
let running: Promise<SessionReport> | null = null;

beforeEach(async () => {
  double = await new RealtimeDouble().open();
  heardFrames = 0;
  events = [];
  shown = [];
});

afterEach(async () => {
  line.hangUp();
  await running;
  running = null;
  await engine?.close();
  engine = null;
  await Promise.all([double.close(), closing()]);
  expect(double.violations).toEqual([]);
});

async function call(
  agent: SessionRequest['agent'],
  options: EngineOptions = {},
  spare?: [string, ModelRoute],
  more: Partial<SessionRequest> = {},
): Promise<Session> {
  const route: ModelRoute = {
    provider: 'openai_realtime',
    baseUrl: double.url,
    apiKey: KEY,
    model: 'gpt-realtime-2.1',
  };
  engine = new Engine({
    clock: new RealClock(),
    models: new Map([[MODEL, route], ...(spare ? [spare] : [])]),
    ...options,
  });
  line = new MemoryTransport({
    onFrame: (frame) => (heardFrames += frame === null ? 0 : 1),
    onMessage: (message) => message.type === 'response' && shown.push(message.text),
  });
  const session = await engine.createSession({
    agent: { llm: { model: MODEL }, prompt: 'You take bookings.', ...agent },
    transport: line,
    vad: energyVad(),
    observe: (event: SessionEvent) => events.push(event),
    ...more,
  });
  running = session.run();
  return session;
}

/** The user speaks, as fast as a line can bring it, and is silent. */
function say(text: string): void {
  for (const samples of [silence(400), spoken(text), silence(300)]) line.pushAudio(samples);
}

const said = (): string[] => events.flatMap((event) => (event.type === 'agent' ? [event.text] : []));
const asked = (): string[] => events.flatMap((event) => (event.type === 'user' ? [event.text] : []));
const until = async (isThere: () => boolean, what: string): Promise<void> => {
  await expect.poll(isThere, { timeout: 8000, interval: 20, message: what }).toBe(true);
};

describe('an agent whose model hears and speaks itself', () => {
  it('greets in the voice that answers, hears, calls tools, is cut where it was heard, and is billed', async () => {
    double.brain = ({ items }) => {
      const last = items.at(-1);
      if (last?.text === 'a table for two') {
        return { say: 'For two.', calls: [{ name: 'lookup', arguments: { seats: 2 } }] };
      }
      return { say: last?.kind === 'result' ? ANSWER : 'Fine.' };
    };
    await call({
      first_message: 'Hello.',
      voice: { provider: 'openai_realtime', voice_id: 'cedar' },
      tools: [
        {
          name: 'lookup',
          description: 'Looks tables up.',
          params: [{ name: 'seats', type: 'number', description: 'How many.' }],
          webhook: null,
          messages: ['One moment.'],
        },
      ],
    });
    await until(() => said().includes('Hello.'), 'the greeting');
    expect(double.spoken).toContain('Hello.');
    say('a table for two');
    const { conversation } = double;
    await until(() => shown.some((text) => text.includes('There is one')), 'the answer');
    const before = heardFrames;
    await until(() => heardFrames > before + 20, 'some of it to be heard');
    say('no no stop');
    await until(() => conversation.truncations.length > 0, 'the cut');
    await until(() => said().includes('Fine.'), 'the next answer');
    line.hangUp();
    const report = await running;
    expect(asked()).toEqual(['a table for two', 'no no stop']);
    expect(conversation.voice).toBe('cedar');
    expect(conversation.instructions).toContain('You take bookings.');
    const cut = report?.messages.find(({ content }) => content.startsWith('There is'));
    expect(ANSWER).toContain(cut?.content);
    expect(cut?.content.length).toBeLessThan(ANSWER.length);
    const [truncation] = conversation.truncations;
    expect(truncation?.audioEndMs).toBeLessThan(truncation?.audioMs ?? 0);
    expect(report?.functionCalls).toMatchObject([{ name: 'lookup' }]);
    expect(double.spoken).toContain('One moment.');
    expect(report?.promptTokens).toBeGreaterThan(0);
    expect(report?.usage.llm).toMatchObject([{ provider: 'openai_realtime', model: MODEL }]);
    expect(report?.turns.every(({ responseMs }) => responseMs !== null)).toBe(true);
  });

  it('goes on where the connection drops in mid-call: what was said is written, what is being said is sent again', async () => {
    await call({ first_message: 'Hello.' });
    await until(() => said().includes('Hello.'), 'the greeting');
    say('a table');
    await until(() => said().includes('You said: a table.'), 'the first answer');
    double.conversation.drop();
    say('for two');
    await until(() => said().includes('You said: for two.'), 'the second answer');
    const kinds = double.conversation.items.map(({ kind, text }) => `${kind}: ${text}`);
    expect(kinds.slice(0, 4)).toEqual([
      'agent text: Hello.',
      'user text: a table',
      'agent text: You said: a table.',
      'user audio: for two',
    ]);
    line.hangUp();
    expect((await running)?.status).toBe('user-ended');
  });

  it('is stood in for by the ordinary chain where it fails, which hears the words that became known', async () => {
    const chat = new OpenAiDouble();
    chat.answer = (response) => stream(response, [textChunk('By the chain.'), finishChunk('stop')]);
    closing = () => chat.close();
    const baseUrl = await chat.listen();
    double.brain = () => ({ fail: { type: 'server_error', code: 'server_error', message: 'overloaded' } });
    const spare: ModelRoute = { provider: 'openai', baseUrl, apiKey: null, model: 'spare' };
    await call({ first_message: 'Hello.' }, { failover: { stt: [], llm: ['spare'], tts: [] } }, ['spare', spare]);
    await until(() => said().includes('Hello.'), 'the greeting');
    say('a table');
    await until(() => said().includes('By the chain.'), 'the answer of the chain');
    expect(double.spoken).toContain('By the chain.');
    expect(chat.requests.every(({ body }) => JSON.stringify(body['messages']).includes('a table'))).toBe(true);
    line.hangUp();
    const report = await running;
    expect(report?.faults['llm.fallback']).toBeGreaterThan(0);
    expect(report?.usage.llm.every(({ model }) => model !== '')).toBe(true);
  });

  it('writes for another voice, and answers the words of another recogniser', async () => {
    const stt = promptedStt({ lines: ['a table'], finalMs: 20 });
    await call({ first_message: 'Hello.', voice: { provider: 'flite', voice_id: 'kal16' } }, {}, undefined, { stt });
    await until(() => said().includes('Hello.'), 'the greeting');
    say('a table');
    await until(() => said().includes('You said: a table.'), 'the answer');
    expect(double.conversation.modalities).toEqual(['text']);
    expect(double.conversation.items[1]?.kind).toBe('user text');
    expect(double.spoken).toEqual([]);
  });

  it.each([
    [{ voice: { provider: 'openai_realtime', voice_id: 'marin', settings: { speed: 9 } } }, 'TTS_SETTING_INVALID'],
    [{ voice: { provider: 'elevenlabs', voice_id: 'x' } }, 'PROVIDER_NOT_CONFIGURED'],
    [{ llm: { model: 'gpt-realtime' } }, 'CONFIG_INVALID'],
  ])('%j is refused before any call', async (agent, code) => {
    await call({ first_message: 'Hello.' });
    await expect(engine?.checkAgent({ agent: { llm: { model: MODEL }, ...agent } })).rejects.toMatchObject({ code });
  });
});
