import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import type { Message } from '../transports/inbox.js';
import { House, PRIVATE_KEY } from './house.js';

let house: House;

beforeEach(async () => {
  house = await House.open();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await house.close();
  expect(house.faults).toEqual([]);
});

const is =
  (method: string) =>
  (message: Message): boolean =>
    message['method'] === method;

describe('initiate', () => {
  it('opens a session: the agent greets, hears what is typed and answers', async () => {
    const client = house.connect();
    await client.initiate({ metadata: { customer: 7 }, include_metadata_in_prompt: false });
    expect(await client.inbox.next()).toEqual({
      method: 'onready',
      payload: { session_id: expect.any(String) as string },
    });
    expect(await client.inbox.find(is('onresponsetext'))).toMatchObject({ data: 'Hello.' });
    await client.inbox.heard(10);
    await client.send({ method: 'text', data: 'Have you any bread?' });
    await client.inbox.find((message) => message['data'] === 'We have bread.');
    const { payload } = (await client.inbox.find(is('onmetrics'))) as { payload: Record<string, unknown> };
    expect(Object.keys(payload).sort()).toEqual([
      'end_of_turn_ms',
      'first_sentence_ms',
      'llm_first_ms',
      'response_ms',
      'tts_first_ms',
      'turn',
    ]);
    client.socket.close();
    expect(await house.ended).toMatchObject({ status: 'user-ended' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(house.engine.sessions.size).toBe(0);
  });

  it('may be followed at once by audio and messages: nothing is lost', async () => {
    const client = house.connect();
    await client.initiate();
    client.socket.send(Buffer.alloc(3));
    await client.send({ method: 'text', data: 'bread' });
    await client.send({ method: 'ping', data: 1 });
    await client.inbox.find(is('pong'));
    await client.inbox.find((message) => message['data'] === 'We have bread.');
  });

  it.each([
    ['no JSON', 'junk', 'not JSON'],
    ['another method', { method: 'text', data: 'hello' }, 'method'],
    ['no key', { method: 'initiate', data: { agent: { agent_id: 'baker' } } }, 'public_key: Field required'],
    ['an unknown field', initiate({ region: 'us' }), 'Unknown field: region'],
    ['an unknown field of the agent', initiate({ agent: { agent_id: 'baker', x: 1 } }), 'Unknown field: x'],
    ['metadata that is none', initiate({ metadata: [1] }), 'metadata'],
    ['a wrong key', initiate({ public_key: 'pk_wrong' }), 'The key is missing or wrong'],
    ['a private key', initiate({ public_key: PRIVATE_KEY }), 'The key is missing or wrong'],
    ['a wrong agent', initiate({ agent: { agent_id: 'butcher' } }), 'There is no agent "butcher"'],
    [
      'an agent of its own',
      initiate({ agent: { agent_id: 'baker', agent_config: { prompt: 'Be rude.' } } }),
      'agent_config needs a private key',
    ],
  ])('with %s is refused in words', async (_name, first, words) => {
    const client = house.connect();
    await client.send(first);
    expect(await client.inbox.next()).toEqual({ method: 'onerror', data: expect.stringContaining(words) as string });
    const { code, reason } = await client.inbox.closed;
    expect(code).toBe(1008);
    expect(reason).not.toBe('');
    expect(house.engine.sessions.size).toBe(0);
  });

  it('does not come as audio', async () => {
    const client = house.connect();
    await client.refused;
    client.socket.send(Buffer.alloc(640));
    expect(await client.inbox.next()).toMatchObject({ method: 'onerror' });
    expect((await client.inbox.closed).code).toBe(1008);
  });

  it('is cut off where it is beyond all measure', async () => {
    const client = house.connect();
    await client.send('x'.repeat(1_100_000));
    expect((await client.inbox.closed).code).toBe(1009);
  });

  it('with a token works once', async () => {
    const { token } = await house.token();
    const first = house.connect();
    await first.initiate({ public_key: token });
    await first.inbox.find(is('onready'));
    const second = house.connect();
    await second.initiate({ public_key: token });
    expect(await second.inbox.next()).toEqual({ method: 'onerror', data: 'The key is missing or wrong' });
    await second.inbox.closed;
  });

  it('with a token works for 60 s', async () => {
    const { token, expires_at } = await house.token();
    vi.spyOn(Date, 'now').mockReturnValue((expires_at + 1) * 1000);
    const client = house.connect();
    await client.initiate({ public_key: token });
    expect(await client.inbox.next()).toEqual({ method: 'onerror', data: 'The key is missing or wrong' });
    await client.inbox.closed;
  });
});

describe('a client that vanishes', () => {
  it.each(['before its session is ready', 'in mid-word'])('%s leaves nothing running', async (when) => {
    const client = house.connect();
    await client.initiate();
    if (when === 'in mid-word') {
      await client.inbox.heard(3);
      client.socket.send(Buffer.alloc(999));
    }
    client.socket.terminate();
    expect(await house.ended).toMatchObject({ status: 'user-ended' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(house.engine.sessions.size).toBe(0);
  });
});

describe('origins', () => {
  const refused = (headers: Record<string, string>): Promise<number | null> => house.connect(headers).refused;

  it("lets the daemon's own page in, and programs on this machine", async () => {
    expect(await refused({ origin: house.address })).toBeNull();
    expect(await refused({})).toBeNull();
  });

  it.each(['https://evil.example', 'http://127.0.0.1:1', 'null', 'file://', 'junk', ''])(
    'keeps %j out',
    async (origin) => {
      expect(await refused({ origin })).toBe(403);
    },
  );

  it('keeps a name out that was made to point at this machine', async () => {
    const host = `evil.example:${new URL(house.address).port}`;
    expect(await refused({ origin: `http://${host}`, host })).toBe(403);
  });

  it('knows this machine by its other names', async () => {
    const host = `localhost:${new URL(house.address).port}`;
    expect(await refused({ origin: `http://${host}`, host })).toBeNull();
  });
});

describe('other limits', () => {
  it('takes no more sessions than the operator allows, however they come', async () => {
    const small = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, sessions: 1 } });
    const clients = [small.connect(), small.connect(), small.connect()];
    await Promise.all(clients.map((client) => client.refused));
    await Promise.all(clients.map((client) => client.initiate()));
    const first = await Promise.all(clients.map((client) => client.inbox.next()));
    expect(first.map(({ method }) => String(method)).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'onerror',
      'onerror',
      'onready',
    ]);
    const refused = clients[first.findIndex(({ method }) => method === 'onerror')];
    expect(await refused?.inbox.closed).toEqual({ code: 1013, reason: 'All 1 sessions are in use' });
    await small.close();
  });

  it('waits no longer than ten seconds for the first message', async () => {
    const clock = new VirtualClock();
    const slow = await House.open({}, clock);
    const client = slow.connect();
    await client.refused;
    await clock.advanceBy(9999);
    expect(client.socket.readyState).toBe(client.socket.OPEN);
    await clock.advanceBy(1);
    expect(await client.inbox.closed).toEqual({ code: 1008, reason: 'the first message did not come in time' });
    await slow.close();
  });

  it('has nothing but /talk', async () => {
    const { WebSocket } = await import('ws');
    const socket = new WebSocket(`${house.address.replace('http', 'ws')}/talks`);
    const status = await new Promise((resolve) => {
      socket.on('error', () => undefined);
      socket.once('unexpected-response', (request, response) => {
        request.destroy();
        resolve(response.statusCode);
      });
    });
    expect(status).toBe(404);
  });
});

function initiate(data: Record<string, unknown>): unknown {
  return {
    method: 'initiate',
    data: { public_key: 'pk_test_0123456789', agent: { agent_id: 'baker' }, ...data },
  };
}
