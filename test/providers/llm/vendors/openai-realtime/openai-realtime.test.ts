import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../../../src/base/real-clock.js';
import type { ChatMessage } from '../../../../../src/agent/chat.js';
import { RealtimeDouble } from '../../../../vendors/realtime/double.js';
import { madeSpeech } from '../../../../vendors/tts/made-speech.js';
import { KEY } from '../../../../vendors/tts/speech-double.js';
import { gathered, Talk } from './talk.js';

const SYSTEM: ChatMessage = { role: 'system', content: 'You take bookings.' };
const user = (content: string): ChatMessage => ({ role: 'user', content });
const agent = (content: string): ChatMessage => ({ role: 'assistant', content });
let double: RealtimeDouble;
let talk: Talk;

beforeEach(async () => {
  double = await new RealtimeDouble().open();
  talk = new Talk(double);
});

afterEach(async () => {
  await talk.close();
  await double.close();
  expect(double.violations).toEqual([]);
});

const held = () => double.conversation.items.map(({ kind, text }) => `${kind}: ${text}`);

describe('a conversation by ear', () => {
  it('answers what it has heard, in its own voice, before the words are known', async () => {
    await talk.listen();
    talk.say('a table for two');
    const answer = await talk.answer([SYSTEM, agent('Hello.'), user('')]);
    expect(answer.text).toBe('You said: a table for two.');
    expect(answer.audio).toEqual(madeSpeech(answer.text, 24_000).bytes);
    expect(answer.isLast).toBe(true);
    expect(await talk.words(1)).toBe('a table for two');
    expect(held()).toEqual([
      'agent text: Hello.',
      'user audio: a table for two',
      'agent audio: You said: a table for two.',
    ]);
    const { conversation } = double;
    expect(conversation).toMatchObject({ model: 'gpt-realtime', instructions: SYSTEM.content, voice: 'marin' });
    expect(conversation.transcription).toEqual([{ model: 'gpt-transcribe', language: 'en' }]);
  });

  it('keeps the audio of earlier turns, and writes what there is no audio of', async () => {
    await talk.listen();
    talk.say('a table for two');
    await talk.answer([user('')]);
    await talk.words(1);
    talk.endTurn();
    talk.say('tonight');
    await talk.words(2);
    const before = double.received.length;
    const said = [user('a table for two'), agent('You said: a table for two.'), user('(typed)'), user('tonight')];
    await talk.answer([SYSTEM, ...said]);
    expect(held().slice(0, 4)).toEqual([
      'user audio: a table for two',
      'agent audio: You said: a table for two.',
      'user text: (typed)',
      'user audio: tonight',
    ]);
    const changes = double.received.slice(before).filter(({ type }) => type.startsWith('conversation.item'));
    expect(changes).toHaveLength(1);
  });

  it('takes out what the history does not hold: an echo, an answer that nobody heard', async () => {
    await talk.listen();
    talk.say('yes');
    await talk.words(1);
    talk.endTurn();
    const abort = new AbortController();
    talk.say('a table');
    for await (const piece of talk.ask([user('')], { signal: abort.signal })) {
      if (piece.type === 'voice') break;
    }
    await talk.words(2);
    talk.say('for two');
    await talk.words(3);
    const answer = await talk.answer([user('a table for two')]);
    expect(answer.text).toBe('You said: for two.');
    expect(held()).toEqual(['user audio: a table', 'user audio: for two', 'agent audio: You said: for two.']);
    expect(double.cancelled).toBe(1);
  });

  it.each([0, 1, 2, 3, 5, 8, 13])(
    'takes out what an answer that was cancelled after %i turns has said and called',
    async (turns) => {
      double.brain = ({ items }) =>
        items.at(-1)?.kind === 'user audio'
          ? { say: 'Yes.', calls: [{ name: 'book', arguments: {} }] }
          : { say: 'No.' };
      await talk.listen();
      talk.say('a table');
      const abort = new AbortController();
      const reading = talk.ask([agent('Hello.'), user('')], { signal: abort.signal });
      const first = reading[Symbol.asyncIterator]().next();
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      const again = talk.answer([agent('Hello.'), user('')]);
      abort.abort();
      await first.catch(() => undefined);
      expect((await again).text).toBe('Yes.');
      expect(held().slice(0, 3)).toEqual(['agent text: Hello.', 'user audio: a table', 'agent audio: Yes.']);
    },
  );

  it('takes out an answer that nobody wanted, also where the next one begins alike', async () => {
    await talk.listen();
    talk.say('a table');
    const abort = new AbortController();
    for await (const piece of talk.ask([user('')], { signal: abort.signal })) if (piece.type === 'voice') break;
    await talk.words(1);
    talk.say('for two');
    await talk.words(2);
    double.brain = () => ({ say: 'You said: a table for two.' });
    const { text } = await talk.answer([user('a table for two')]);
    await talk.answer([user('a table for two'), agent(text), user('Well?')]);
    expect(held().slice(0, 4)).toEqual([
      'user audio: a table',
      'user audio: for two',
      'agent audio: You said: a table for two.',
      'user text: Well?',
    ]);
  });

  it('writes what was typed behind what was said, and words that are only half known never', async () => {
    await talk.listen();
    talk.say('a table for two');
    await expect.poll(() => talk.transcripts.length, { interval: 1 }).toBeGreaterThan(0);
    await talk.answer([user(talk.transcripts.at(-1)?.text ?? '')]);
    expect(held().map((item) => item.split(':')[0])).toEqual(['user audio', 'agent audio']);
    await talk.words(1);
    talk.endTurn();
    talk.say('tonight');
    await talk.words(2);
    const before = [user('a table for two'), agent('You said: a table for two.')];
    await talk.answer([...before, user('tonight if you can')]);
    await talk.answer([...before, user('tonight if you can'), agent('You said: if you can.'), user('please')]);
    expect(held().slice(2, 6)).toEqual([
      'user audio: tonight',
      'user text: if you can',
      'agent audio: You said: if you can.',
      'user text: please',
    ]);
  });

  it('leaves audio of which no words become known in the conversation, and goes on listening', async () => {
    double.deaf = true;
    await talk.listen();
    talk.say('a table');
    expect((await talk.answer([user('[inaudible]')])).text).toBe('You said: a table.');
    expect(talk.errors).toEqual([]);
  });
});

describe('what was heard of an interrupted answer', () => {
  it('is cut to the millisecond', async () => {
    await talk.listen();
    talk.say('a table');
    const { cut } = await talk.answer([user('')]);
    cut?.(312.7);
    await double.until(() => double.conversation.truncations.length > 0, 'the cut');
    expect(double.conversation.truncations).toMatchObject([{ audioEndMs: 312 }]);
    await talk.words(1);
    talk.say('no');
    await talk.words(2);
    await talk.answer([user('a table'), agent('You said'), user('no')]);
    expect(held().slice(0, 3)).toEqual(['user audio: a table', 'agent audio: ', 'user audio: no']);
  });

  it('is cut also while the model goes on speaking, and is all it knows', async () => {
    double.faults = { stopAfter: 'stall', pieces: 12 };
    await talk.listen();
    talk.say('a table');
    const abort = new AbortController();
    let heard = 0;
    for await (const piece of talk.ask([user('')], { signal: abort.signal })) {
      if (piece.type !== 'voice') continue;
      heard += piece.audio?.samples.length ?? 0;
      if (heard < 24 * 200) continue;
      piece.cut(150);
      break;
    }
    await double.until(() => double.conversation.truncations.length > 0, 'the cut');
    expect(double.conversation.truncations).toMatchObject([{ audioEndMs: 150 }]);
    expect(double.cancelled).toBe(1);
  });
});

describe('tools', () => {
  const tools = [{ name: 'book', description: 'Books.', parameters: { type: 'object', properties: {} } }];

  it('are called, and their results are put there', async () => {
    double.brain = ({ items }) =>
      items.at(-1)?.kind === 'result'
        ? { say: 'Booked.' }
        : { say: 'One moment.', calls: [{ name: 'book', arguments: { seats: 2 } }] };
    await talk.listen();
    talk.say('a table for two');
    const { text, calls } = await talk.answer([user('')], { tools });
    expect([text, calls.map(({ name }) => name)]).toEqual(['One moment.', ['book']]);
    const [call] = calls;
    if (call === undefined) throw new Error('no call');
    expect(JSON.parse(call.arguments)).toEqual({ seats: 2 });
    await talk.words(1);
    const done: ChatMessage[] = [
      { role: 'assistant', content: 'One moment. Let me look.', toolCalls: [call] },
      { role: 'tool', toolCallId: call.id, content: '{"ok":true}' },
    ];
    expect((await talk.answer([user('a table for two'), ...done], { tools })).text).toBe('Booked.');
    expect(double.conversation.tools).toEqual(['book']);
    expect(held().slice(0, 5)).toEqual([
      'user audio: a table for two',
      'agent audio: One moment.',
      'agent text: Let me look.',
      'call: {"seats":2}',
      'result: {"ok":true}',
    ]);
  });

  it('can be required', async () => {
    double.brain = () => ({ calls: [{ name: 'book', arguments: {} }] });
    await talk.answer([user('Well?')], { tools, requiredTool: 'book' });
    const asked = double.received.find(({ type }) => type === 'response.create');
    expect(asked).toMatchObject({ response: { tool_choice: { type: 'function', name: 'book' } } });
  });
});

it('counts text, audio and what came out of the cache', async () => {
  await talk.listen();
  talk.say('a table for two');
  await talk.answer([SYSTEM, user('')]);
  await talk.words(1);
  talk.say('tonight');
  await talk.words(2);
  const said = [user('a table for two'), agent('You said: a table for two.'), user('tonight')];
  const { usage } = await talk.answer([SYSTEM, ...said]);
  expect(usage?.promptTokens).toBeGreaterThan(usage?.cachedTokens ?? 0);
  expect(usage?.cachedTokens).toBeGreaterThan(0);
  expect(usage?.audio?.completionTokens).toBeGreaterThan(0);
  expect(usage?.audio?.cachedTokens).toBeLessThanOrEqual(usage?.audio?.promptTokens ?? 0);
});

it('writes where somebody else speaks, and in writing without a session', async () => {
  await talk.close();
  talk = new Talk(double, {}, null);
  await talk.listen();
  talk.say('a table');
  const answer = await talk.answer([user('')]);
  expect([answer.text, answer.audio.length]).toEqual(['You said: a table.', 0]);
  const clock = new RealClock();
  const request = { model: 'gpt-realtime', messages: [user('Hi')], tools: [], temperature: 0, clock };
  const written = await gathered(talk.provider.complete({ ...request, signal: new AbortController().signal }));
  expect(written.text).toBe('You said: Hi.');
});

describe('what goes wrong', () => {
  const failure = async (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((e: unknown) => e);

  it.each([
    ['server_error', 'server_error', 'PROVIDER_FAILED'],
    ['rate_limit_error', 'rate_limit_exceeded', 'PROVIDER_FAILED'],
    ['insufficient_quota', 'insufficient_quota', 'PROVIDER_REFUSED'],
  ])('a response that fails with %s is an error of ours', async (type, code, ours) => {
    double.brain = () => ({ fail: { type, code, message: `no, ${KEY}` } });
    const error = await failure(talk.answer([user('Hi')]));
    expect(error).toMatchObject({ code: ours });
    expect(String(error)).not.toContain(KEY);
  });

  it('an answer that the filter stops is refused, one that is too long is as long as it is', async () => {
    double.brain = () => ({ say: 'Well.', incomplete: 'content_filter' });
    expect(await failure(talk.answer([user('Hi')]))).toMatchObject({ code: 'PROVIDER_REFUSED' });
    double.brain = () => ({ say: 'Well', incomplete: 'max_output_tokens' });
    expect((await talk.answer([user('Hi')])).text).toBe('Well');
  });

  it.each([401, 429, 503])('a connection that is answered with %i', async (refuse) => {
    double.faults = { refuse };
    const error = await failure(talk.answer([user('Hi')]));
    expect(error).toMatchObject({ code: refuse === 401 ? 'PROVIDER_REFUSED' : 'PROVIDER_FAILED' });
    expect(String(error)).not.toContain(KEY);
  });

  it('a connection that was lost: asked once more on another, with the history written', async () => {
    await talk.listen();
    talk.say('a table for two');
    await talk.words(1);
    double.conversation.drop();
    await expect.poll(() => talk.errors.length).toBe(1);
    const answer = await talk.answer([SYSTEM, agent('Hello.'), user('a table for two')]);
    expect(answer.text).toBe('You said: a table for two.');
    expect(held()).toEqual(['agent text: Hello.', 'user text: a table for two', `agent audio: ${answer.text}`]);
    expect(talk.errors).toHaveLength(1);
    await talk.listen();
    talk.say('tonight');
    expect(await talk.words(2)).toBe('tonight');
  });

  it('a connection that breaks off in the middle of an answer', async () => {
    double.faults = { stopAfter: 'drop', pieces: 5 };
    const pieces = [];
    const work = (async () => {
      for await (const piece of talk.ask([user('Hi')])) pieces.push(piece);
    })();
    expect(await failure(work)).toMatchObject({ code: 'PROVIDER_FAILED' });
    expect(pieces.length).toBeGreaterThan(0);
  });

  it('a connection that dies without a word is replaced, and asked again', async () => {
    double.faults = { deadConnections: 1 };
    expect((await talk.answer([user('Hi')])).text).toBe('You said: Hi.');
  });

  it('a server that stalls, and does not stop when it is asked to', async () => {
    await talk.close();
    talk = new Talk(double, { firstPieceMs: 500 });
    double.faults = { stall: true };
    expect(await failure(talk.answer([user('Hi')]))).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
    double.faults = {};
    expect((await talk.answer([user('Hi')])).text).toBe('You said: Hi.');
  });

  it('garbage now and then is overlooked; nothing but garbage is a failure', async () => {
    await talk.listen();
    for (let i = 0; i < 4; i++) double.conversation.garbage();
    talk.say('yes');
    expect((await talk.answer([user('')])).text).toBe('You said: yes.');
    for (let i = 0; i < 9; i++) double.conversation.garbage('[1,2]');
    await expect.poll(() => talk.errors.length).toBe(1);
  });

  it('a wish to speak of what is not there (yet)', async () => {
    await talk.listen();
    expect(await failure(talk.answer([user('')]))).toMatchObject({ code: 'PROVIDER_FAILED' });
  });
});

describe('the hour of a session', () => {
  it('is over: the next request is on another one', async () => {
    await talk.listen();
    talk.say('yes');
    await talk.words(1);
    double.conversation.expire();
    await expect.poll(() => talk.errors.length).toBe(1);
    expect((await talk.answer([user('yes')])).text).toBe('You said: yes.');
  });

  it('is nearly over: another session takes its place, and nobody notices', async () => {
    await talk.close();
    talk = new Talk(double, { renewAfterMs: 40 });
    await talk.listen();
    talk.say('yes');
    await talk.words(1);
    talk.endTurn();
    const { conversations } = double;
    await expect.poll(() => conversations.length, { timeout: 3000 }).toBeGreaterThan(2);
    talk.say('no');
    expect(await talk.words(2)).toBe('no');
    const answer = await talk.answer([user('yes'), agent('Fine.'), user('no')]);
    expect(answer.text).toBe('You said: no.');
    expect(talk.errors).toEqual([]);
  });
});

it('understands the names that events had before the API was generally available', async () => {
  double.beta = true;
  await talk.listen();
  talk.say('a table');
  const { text, audio } = await talk.answer([user('')]);
  expect(text).toBe('You said: a table.');
  expect(audio).toEqual(madeSpeech(text, 24_000).bytes);
});
