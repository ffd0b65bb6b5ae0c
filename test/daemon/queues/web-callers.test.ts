import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { DEFAULT_WEBRTC } from '../../../src/settings/setting-groups.js';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';
import { type Client, House, PRIVATE_KEY } from '../house.js';

const PATIENCE = { timeout: 20_000, interval: 20 };
const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const AUTH = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
const AGENT = {
  name: 'Desk',
  config: { prompt: 'You help.', first_message: 'The desk speaks.', llm: { model: 'scripted' } },
  script: { rules: [{ when: 'hello', say: 'Hello.' }] },
  extensions: {
    queue: {
      web: true,
      limit: 2,
      greeting: 'One moment.',
      overflow: { action: 'voicemail', message: 'All are busy.' },
    },
  },
};

let house: House;
let agent: string;
const clients: Client[] = [];

beforeAll(async () => {
  const limits = { ...DEFAULT_SETTINGS.limits, sessions: 1 };
  house = await House.open({ limits, webrtc: { ...DEFAULT_WEBRTC, ...LOOPBACK } });
  agent = ((await ask('POST', '/agents', AGENT)).body as { id: string }).id;
});

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.terminate();
  await expect.poll(() => house.engine.sessions.size, PATIENCE).toBe(0);
});

afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  return house.ask(path, { method, headers: AUTH, ...(body && { body: JSON.stringify(body) }) });
}

async function client(): Promise<Client> {
  const one = house.connect();
  clients.push(one);
  await one.initiate({ agent: { agent_id: agent } });
  return one;
}

const isReady = ({ method }: { method?: unknown }): boolean => method === 'onready';
const places = ({ inbox }: Client): unknown[] =>
  inbox.messages.filter(({ method }) => method === 'onqueue').map(({ payload }) => payload);
const place = (position: number) => ({ position, wait_s: null, left: null });

describe('clients that find all sessions taken', () => {
  it('wait with music, know their place, leave it to others, and get their session on the same line', async () => {
    const first = await client();
    await first.inbox.find(isReady);
    const second = await client();
    await expect.poll(() => places(second), PATIENCE).toEqual([place(1)]);
    const third = await client();
    await expect.poll(() => places(third), PATIENCE).toEqual([place(2)]);
    await second.inbox.heard(50);
    const { calls } = (await ask('GET', `/queues/${agent}`)).body as { calls: { session_id: string }[] };
    expect(calls).toMatchObject([
      { from: '', position: 1 },
      { from: '', position: 2 },
    ]);
    second.socket.terminate();
    await expect.poll(() => places(third), PATIENCE).toEqual([place(2), place(1)]);
    first.socket.terminate();
    const { payload } = await third.inbox.find(isReady);
    expect(payload).toEqual({ session_id: calls[1]?.session_id });
    await third.inbox.find(({ method, data }) => method === 'onresponsetext' && data === 'The desk speaks.');
    const logs = await Promise.all(calls.map(({ session_id: id }) => ask('GET', `/call-logs/${id}`)));
    expect(logs.map(({ body }) => body)).toMatchObject([
      { call_status: 'canceled', queue: { position: 1, left: 'abandoned' } },
      { call_status: 'in-progress', queue: { position: 2, left: 'answered' } },
    ]);
  });

  it('are told why no agent comes', async () => {
    const first = await client();
    await first.inbox.find(isReady);
    const waiting: Client[] = [];
    for (const position of [1, 2]) {
      const one = await client();
      await expect.poll(() => places(one), PATIENCE).toMatchObject([{ position }]);
      waiting.push(one);
    }
    // The queue is full: in place of a voicemail they hear a message.
    const third = await client();
    await third.inbox.closed;
    expect(places(third)).toEqual([{ position: 0, wait_s: null, left: 'overflow' }]);
    expect(third.inbox.audio.length).toBeGreaterThan(20);
    const { calls } = (await ask('GET', `/queues/${agent}`)).body as { calls: { session_id: string }[] };
    expect((await ask('DELETE', `/queued_calls/${calls[0]!.session_id}`)).status).toBe(200);
    await waiting[0]!.inbox.closed;
    expect(places(waiting[0]!).at(-1)).toEqual({ position: 0, wait_s: null, left: 'removed' });
    // An agent without such a queue refuses at once.
    const refused = house.connect();
    clients.push(refused);
    await refused.initiate();
    expect(await refused.inbox.closed).toMatchObject({ code: 1013 });
  });

  it('wait over WebRTC, too', async () => {
    const first = await client();
    await first.inbox.find(isReady);
    const browser = new WeriftCaller(LOOPBACK);
    const messages: string[] = [];
    browser.onMessage = (text) => messages.push(text);
    let heard = 0;
    browser.onAudio = () => void heard++;
    const sdp = await browser.offer();
    const offered = await ask('POST', '/webrtc/offer', { agent_id: agent, offer: { type: 'offer', sdp } });
    await browser.accept((offered.body as { answer: { sdp: string } }).answer.sdp);
    await browser.connected;
    await expect.poll(() => messages.join(), PATIENCE).toContain('"position":1');
    await expect.poll(() => heard, PATIENCE).toBeGreaterThan(20);
    first.socket.terminate();
    await expect.poll(() => messages.join(), PATIENCE).toContain('onready');
    await expect.poll(() => messages.join(), PATIENCE).toContain('The desk speaks.');
    const [, session] = /"session_id":"([^"]+)"/.exec(messages.join()) ?? [];
    expect((await ask('POST', `/sessions/${session ?? ''}/terminate`)).status).toBe(200);
    await browser.close();
  });
});
