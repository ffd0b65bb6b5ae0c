import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decodeWav } from '../../src/audio/files/wav.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { packageFile } from '../../src/package-files.js';
import { pcmBytes } from '../../src/transports/pcm.js';
import type { Message } from '../transports/inbox.js';
import { type Client, House, PRIVATE_KEY } from './house.js';

/** The talk socket of a whole daemon, by a client that says whatever comes to its mind. */
let house: House;

const LONG =
  'Good evening and welcome to the bakery. We have white bread, brown bread, rolls, cakes and biscuits, and on ' +
  'Sundays we have pies as well. Tell me what you would like, and I will put it aside for you until the evening.';

beforeAll(async () => {
  house = await House.open({ publicAgentConfigFields: ['first_message', 'llm', 'prompt', 'status'] });
  await house.daemon.warmUp();
}, 60_000);

afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

const open: Client[] = [];
afterEach(() => {
  for (const client of open.splice(0)) client.socket.terminate();
});

const is =
  (method: string) =>
  (message: Message): boolean =>
    message['method'] === method;

const isFinal = ({ payload }: Message): boolean => (payload as { is_final?: boolean }).is_final === true;

async function begun(agent: Record<string, unknown> = { agent_id: 'baker' }): Promise<Client> {
  const client = house.connect();
  open.push(client);
  await client.initiate({ agent });
  await client.inbox.find(is('onready'));
  return client;
}

/** Resolves when the server has taken all that was sent until now. */
async function taken(client: Client, data: unknown): Promise<void> {
  await client.send({ method: 'ping', data });
  expect(await client.inbox.find(is('pong'))).toEqual({ method: 'pong', data });
}

describe('audio', () => {
  it.each([
    ['single bytes', 1, 5000],
    ['pieces of 333 bytes', 333, 40_000],
    ['pieces of 256 bytes, as browsers send them', 256, 64_000],
    ['one piece as large as a message may be', 1_048_576, 1_048_576],
  ])('in %s does no harm, and the conversation goes on', async (_name, piece, total) => {
    const client = await begun();
    for (let at = 0; at < total; at += piece) client.socket.send(Buffer.alloc(piece));
    await taken(client, { after: total });
    await client.send({ method: 'text', data: 'Have you any bread?' });
    await client.inbox.find((message) => message['data'] === 'We have bread.');
  });

  it('in a piece beyond that ends the line with 1009', async () => {
    const client = await begun();
    client.socket.send(Buffer.alloc(1_048_577));
    expect((await client.inbox.closed).code).toBe(1009);
  });
});

describe('messages', () => {
  it.each<[string, string]>([
    ['JSON without end', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['a second initiate', JSON.stringify({ method: 'initiate', data: {} })],
    ['a method of every object', '{"method":"__proto__","__proto__":{"method":"ping"}}'],
    ['keys of no telephone', '{"method":"dtmf","data":"１２"}'],
  ])('with %s are told to have no meaning, and nothing else', async (_name, text) => {
    const client = await begun();
    client.socket.send(text);
    const { data } = await client.inbox.find(is('onerror'));
    expect(String(data)).toContain('no meaning');
    expect(String(data).length).toBeLessThan(200);
    await taken(client, 'on');
  });

  it('are text: what is no UTF-8 ends the line with 1007', async () => {
    const client = await begun();
    client.socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
    expect((await client.inbox.closed).code).toBe(1007);
  });

  it('hold what JSON can hold: the same comes back', async () => {
    const client = await begun();
    await taken(client, { '': [null, 1e300, '\u0000\ud83c\udf5e', [[]]], constructor: true });
    await client.send({ method: 'form_result', payload: { id: 'of nothing', value: { deep: [1] } } });
    await taken(client, 'still there');
  });
});

describe('an agent of initiate', () => {
  it('may be all in its agent_config, where the operator allows each of its fields', async () => {
    const client = await begun({ agent_config: { first_message: 'I am new here.', llm: { model: 'scripted' } } });
    expect(await client.inbox.find(is('onresponsetext'))).toMatchObject({ data: 'I am new here.' });
  });

  it.each([
    [{}, 'agent_id or agent_config is required'],
    [{ agent_id: null }, 'agent_id or agent_config is required'],
    [{ agent_id: '' }, 'agent_id'],
    [{ agent_id: 7 }, 'agent_id'],
    [{ agent_id: 'constructor' }, 'There is no agent "constructor"'],
    [{ agent_config: { voice: { provider: 'flite' } } }, 'agent_config.voice needs a private key'],
    [{ agent_config: { status: 'disabled' } }, 'disabled'],
    [{ agent_config: 'be nice' }, 'agent_config'],
  ])('that is %j is refused in words', async (agent, words) => {
    const client = house.connect();
    open.push(client);
    await client.initiate({ agent });
    expect(await client.inbox.next()).toEqual({ method: 'onerror', data: expect.stringContaining(words) as string });
    expect((await client.inbox.closed).code).toBe(1008);
  });

  it('is one of its key, if the key has any: none of its own', async () => {
    const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
    const key = { kind: 'public', name: 'shop', agents: ['baker'] };
    const { body } = await house.ask('/keys', { method: 'POST', headers, body: JSON.stringify(key) });
    const client = house.connect();
    open.push(client);
    await client.initiate({ public_key: (body as { key: string }).key, agent: { agent_config: { prompt: 'x' } } });
    expect(await client.inbox.next()).toMatchObject({ data: expect.stringContaining('stored agents only') as string });
  });
});

describe('a client whose line broke', () => {
  it('takes its session over while that still runs, and is not greeted again', async () => {
    const lost = await begun();
    await lost.inbox.find((message) => message['data'] === 'Hello.' && isFinal(message));
    const ready = lost.inbox.messages.filter(is('onready'));
    const [sessionId] = ready.map(({ payload }) => (payload as { session_id: string }).session_id);
    const client = house.connect();
    open.push(client);
    await client.initiate({ session_continuation: { session_id: sessionId, resume: true } });
    await client.inbox.find(is('onready'));
    await lost.inbox.closed;
    expect([...house.engine.sessions].map(({ id }) => id)).not.toContain(sessionId);
    await client.send({ method: 'text', data: 'Have you any bread?' });
    const first = await client.inbox.find(is('onresponsetext'));
    expect(first['data']).toBe('We have bread.');
  });

  it.each([
    [{ resume: true }, 'nothing to resume'],
    [{ messages: [], resume: true }, 'nothing to resume'],
    [{ session_id: 'nowhere', resume: true }, 'nowhere'],
  ])('is refused where there is nothing to resume: %j', async (continuation, words) => {
    const client = house.connect();
    open.push(client);
    await client.initiate({ session_continuation: continuation });
    expect(await client.inbox.next()).toMatchObject({ data: expect.stringContaining(words) as string });
    expect((await client.inbox.closed).code).toBe(1008);
  });
});

describe('who speaks while the agent does', () => {
  const FRAME_MS = 20;
  /** How long the conversation may take, in its own time. */
  const LIMIT_MS = 60_000;

  // Whether words come in time decides what becomes of an interruption: real time would make that a matter of the load.
  it.each([
    ['acknowledgements/uh-huh-rms.wav', 'unpause'],
    ['interruptions/stop.wav', 'clear'],
  ])('with %s gets pause, then %s', async (file, after) => {
    const clock = new VirtualClock();
    const slow = await House.open({ publicAgentConfigFields: ['first_message', 'llm'] }, clock);
    try {
      const { samples, sampleRateHz } = decodeWav(readFileSync(packageFile(`fixtures/audio/${file}`)));
      expect(sampleRateHz).toBe(16_000);
      const user = pcmBytes(samples);
      const client = slow.connect();
      await client.initiate({ agent: { agent_config: { first_message: LONG, llm: { model: 'scripted' } } } });
      await client.inbox.find(is('onready'));
      const { messages, audio } = client.inbox;
      /** The user's audio goes on, and time with it, until something is so. Returns how many bytes that took. */
      const until = async (isSo: () => boolean, speech: Buffer = Buffer.alloc(0)): Promise<number> => {
        let at = 0;
        for (; !isSo(); at += 640) {
          if (clock.nowMs() > LIMIT_MS) throw new Error(`it never came: ${JSON.stringify(messages)}`);
          const frame = Buffer.alloc(640);
          frame.set(speech.subarray(at, at + 640));
          client.socket.send(frame);
          await taken(client, at);
          await clock.advanceBy(FRAME_MS);
        }
        return at;
      };
      await until(() => audio.length >= 40);
      const count = (method: string): number => messages.filter(is(method)).length;
      const isJudged = (): boolean => {
        return count('unpause') + count('clear') > 0;
      };
      const said = await until(() => count('pause') > 0, user);
      const heardBefore = audio.length;
      client.socket.send(Buffer.concat([user.subarray(said), Buffer.alloc(64_000)]));
      await until(isJudged);
      const control = messages.map(({ method }) => String(method)).filter((method) => /pause|clear/.test(method));
      expect(control.slice(0, 2)).toEqual(['pause', after]);
      // While it was held, at most a fade came.
      expect(audio.length - heardBefore).toBeLessThan(10);
      if (after === 'clear') {
        await until(() => messages.some((message) => is('onresponsetext')(message) && isFinal(message)));
        const final = messages.find((message) => is('onresponsetext')(message) && isFinal(message));
        expect(LONG.startsWith(String(final?.['data']).replace(/\W+$/, ''))).toBe(true);
        expect(String(final?.['data']).length).toBeLessThan(LONG.length);
      } else {
        const held = audio.length;
        await until(() => audio.length >= held + 20);
      }
    } finally {
      await slow.close();
    }
    expect(slow.faults).toEqual([]);
  });
});
