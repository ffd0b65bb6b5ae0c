import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import pg from 'pg';
import { WebSocket } from 'ws';
import { RealClock } from '../../src/base/real-clock.js';
import { DEFAULT_SETTINGS, type Settings } from '../../src/settings/settings.js';
import { WeriftCaller } from '../../src/transports/webrtc/werift-caller.js';
import { DEFAULT_WEBRTC } from '../../src/settings/setting-groups.js';
import { isPostgresInstalled, postgresUrl } from '../store/support/backends.js';
import { Network } from '../store/support/network.js';
import { Client, House, PRIVATE_KEY } from '../daemon/house.js';

const KEYS = { secretKey: Buffer.alloc(32, 1).toString('base64'), signingKey: Buffer.alloc(32, 2).toString('base64') };
const LOOPBACK = { ...DEFAULT_WEBRTC, addresses: ['127.0.0.1'], ipv6: false };
const WAIT = { timeout: 30_000, interval: 50 };
const ALWAYS = { start: '00:00', end: '24:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] };

interface Call {
  call_status: string;
  error_message: string | null;
}

interface Answer<T> {
  status: number;
  body: T;
}

/** A daemon with a network of its own to the database. */
class Member {
  private constructor(
    readonly house: House,
    readonly network: Network,
  ) {}

  static async open(url: string, settings: Partial<Settings> = {}): Promise<Member> {
    const network = await Network.open(url);
    const limits = { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 1e5 };
    const house = await House.open(
      { ...KEYS, limits, webrtc: LOOPBACK, databaseUrl: network.url, nodeTimeoutS: 3, ...settings },
      new RealClock(),
    );
    await house.daemon.warmUp();
    return new Member(house, network);
  }

  async ask<T>(path: string, method = 'GET', body?: unknown): Promise<Answer<T>> {
    const type = body !== undefined && { 'content-type': 'application/json' };
    const { status, body: answer } = await this.house.ask(path, {
      method,
      headers: { authorization: PRIVATE_KEY, ...type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status, body: answer as T };
  }

  /** A client that talks here. */
  async talk(data: Record<string, unknown> = {}): Promise<{ client: Client; sessionId: string }> {
    const client = this.house.connect();
    await client.initiate(data);
    const ready = (await client.inbox.find(({ method }) => method === 'onready')) as unknown as {
      payload: { session_id: string };
    };
    return { client, sessionId: ready.payload.session_id };
  }

  /** A WebSocket of this node. */
  socket(path: string): Client {
    const headers = { authorization: PRIVATE_KEY };
    return new Client(new WebSocket(`${this.house.address.replace('http', 'ws')}${path}`, { headers }));
  }

  call(sessionId: string): Promise<Call> {
    return this.ask<Call>(`/call-logs/${sessionId}`).then(({ body }) => body);
  }

  /** Names and data of the events of a stream, until it ends or the test stops. */
  watch(path: string): { told: { event: string; data: Record<string, unknown> }[]; stop: () => void } {
    const abort = new AbortController();
    const told: { event: string; data: Record<string, unknown> }[] = [];
    const read = async (): Promise<void> => {
      const headers = { authorization: PRIVATE_KEY };
      const { body } = await this.house.request(path, { headers, signal: abort.signal });
      let text = '';
      for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
        text += Buffer.from(piece).toString();
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          const event = /^event: (.*)$/m.exec(block)?.[1];
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (event !== undefined && data !== undefined)
            told.push({ event, data: JSON.parse(data) as Record<string, unknown> });
        }
      }
      told.push({ event: 'end', data: {} });
    };
    read().catch(() => undefined);
    return { told, stop: () => abort.abort() };
  }

  async close(): Promise<void> {
    this.network.mend();
    await this.house.close();
    this.network.close();
  }
}

describe.skipIf(!isPostgresInstalled)('several daemons on one database', () => {
  let url: string;
  let remove: () => Promise<void>;
  const members: Member[] = [];

  beforeAll(async () => {
    ({ url, remove } = await postgresUrl());
  });
  afterEach(async () => {
    for (const member of members.splice(0)) await member.close();
    await administer('DELETE FROM nodes');
  });
  afterAll(() => remove());

  async function open(settings: Partial<Settings> = {}): Promise<Member> {
    const member = await Member.open(url, settings);
    members.push(member);
    return member;
  }

  async function administer<Row>(text: string): Promise<readonly Row[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rows as Row[];
    } finally {
      await client.end();
    }
  }

  /** Calls a number of ours from `near`, from the phone network. Returns the number. */
  async function ours(member: Member): Promise<string> {
    const { body } = await member.ask<{ id: string }>('/phones/purchase', 'POST', { country: 'US', area_code: '415' });
    await member.ask(`/phones/${body.id}/set_agent`, 'POST', { agent_id: 'baker' });
    return body.id;
  }

  it('show each other, and answer for each other', async () => {
    const [near, far] = [await open(), await open()];
    await vi.waitUntil(async () => (await near.ask<unknown[]>('/nodes')).body.length === 2, WAIT);
    const { body: nodes } = await far.ask<{ address: string; state: string; this_node: boolean }[]>('/nodes');
    expect(nodes.map(({ address }) => address)).toEqual([near.house.address, far.house.address]);
    expect(nodes.map(({ this_node: isThis, state }) => [isThis, state])).toEqual([
      [false, 'live'],
      [true, 'live'],
    ]);

    const all = near.watch('/events');
    const live = near.watch('/calls/live/events');
    const { client, sessionId } = await far.talk();
    const one = near.watch(`/calls/${sessionId}/events`);
    await client.inbox.heard(10);
    await vi.waitUntil(() => one.told.some(({ event }) => event === 'transcript'), WAIT);
    const trace = await near.house.request(`/call-logs/${sessionId}/trace`, {
      headers: { authorization: PRIVATE_KEY },
    });
    expect([trace.status, (await trace.text()).split('\n').length]).toEqual([200, expect.any(Number)]);
    const listed = await near.ask('/calls/live');
    expect(listed.body).toMatchObject({
      calls: [{ session_id: sessionId, live: { state: expect.any(String) as string } }],
    });
    await vi.waitUntil(() => live.told.some(({ data }) => data['session_id'] === sessionId), WAIT);

    // People join, listen and steer through the node that does not have the call.
    const path = `/sessions/${sessionId}/participants`;
    const ada = near.socket(`/calls/${sessionId}/join?name=Ada&mode=take_over`);
    expect(await ada.inbox.next()).toMatchObject({ type: 'ready', session_id: sessionId, mode: 'take_over' });
    const browser = new WeriftCaller(LOOPBACK);
    let packets = 0;
    browser.onAudio = () => void packets++;
    const offer = { type: 'offer', sdp: await browser.offer() };
    const joined = await near.ask<{ participant_id: string; answer: { sdp: string } }>(path, 'POST', {
      channel: 'webrtc',
      name: 'Bob',
      offer,
    });
    await browser.accept(joined.body.answer.sdp);
    const listener = near.socket(`/calls/${sessionId}/audio?name=Eve`);
    expect(await listener.inbox.next()).toMatchObject({ type: 'ready' });
    const loud = Buffer.from(Int16Array.from({ length: 320 }, (_, at) => 9_000 * Math.sin(at / 6)).buffer);
    client.inbox.audio.length = 0;
    const speaking = setInterval(() => ada.socket.send(loud), 20);
    await client.inbox.heard(25);
    await vi.waitUntil(() => client.inbox.audio.some((frame) => frame.some((byte) => byte !== 0)), WAIT);
    await vi.waitUntil(() => packets > 10, WAIT);
    clearInterval(speaking);
    await listener.inbox.heard(10);
    const { body: people } = await near.ask<{ participants: unknown[] }>(path);
    expect(people.participants).toMatchObject([
      { name: 'Ada', channel: 'socket', mode: 'take_over', status: 'joined' },
      { name: 'Bob', channel: 'webrtc', mode: 'listen', status: 'joined' },
    ]);
    const changed = await near.ask(`${path}/${joined.body.participant_id}`, 'PUT', { mode: 'barge_in' });
    expect(changed).toMatchObject({ status: 200, body: { mode: 'barge_in' } });
    expect((await near.ask(`/sessions/${sessionId}/control`, 'POST', { type: 'say', text: 'No.' })).status).toBe(409);
    ada.socket.send(JSON.stringify({ type: 'leave' }));
    expect(await ada.inbox.closed).toEqual({ code: 1000, reason: 'left' });
    const held = await near.ask(`/sessions/${sessionId}/control`, 'POST', { type: 'hold', music: false });
    expect(held).toMatchObject({ status: 200, body: { status: 'done' } });

    expect((await near.ask(`/sessions/${sessionId}/terminate`, 'POST')).status).toBe(200);
    await vi.waitUntil(() => one.told.at(-1)?.event === 'end', WAIT);
    expect(one.told.at(-2)?.data).toMatchObject({ call_status: 'api-ended', ended: true });
    await vi.waitUntil(
      () => all.told.some(({ data }) => data['ended'] === true && data['session_id'] === sessionId),
      WAIT,
    );
    await vi.waitUntil(() => live.told.at(-1)?.event === 'ended', WAIT);
    all.stop();
    live.stop();
    expect(await listener.inbox.closed).toMatchObject({ code: 1000 });
    await browser.close();
    expect(await near.call(sessionId)).toMatchObject({
      listeners: [{ name: 'Eve' }],
      participants: [{ name: 'Ada', left: 'left' }, { name: 'Bob' }],
    });
    expect(await near.call(sessionId)).toMatchObject({ call_status: 'api-ended' });
    expect((await near.ask(`/sessions/${sessionId}/terminate`, 'POST')).status).toBe(409);
    expect((await near.ask('/sessions/nobody/terminate', 'POST')).status).toBe(404);
  }, 120_000);

  it('continue a session of another node whose client has lost its connection', async () => {
    const [near, far] = [await open(), await open()];
    const { client, sessionId } = await far.talk();
    await client.inbox.heard(10);
    await client.send({ method: 'text', data: 'Have you any bread?' });
    await client.inbox.find(({ method }) => method === 'onmetrics');
    // The far node has not noticed that the connection is lost.
    const again = await near.talk({ session_continuation: { session_id: sessionId } });
    expect(again.sessionId).not.toBe(sessionId);
    expect((await near.call(sessionId)).call_status).not.toBe('in-progress');
    again.client.socket.close();
  }, 120_000);

  it('stop the calls of all nodes', async () => {
    const [near, far] = [await open(), await open()];
    const from = await ours(far);
    const { body } = await far.ask<{ session_id: string }>('/start_outbound_call', 'POST', {
      from_phone: from,
      to_phone: '+12025550101',
    });
    await vi.waitUntil(async () => (await near.call(body.session_id)).call_status === 'in-progress', WAIT);
    expect((await near.ask('/calls/stop', 'POST', { end_running: true })).body).toEqual({ success: true, ended: 1 });
    await vi.waitUntil(async () => !/in-progress/.test((await near.call(body.session_id)).call_status), WAIT);
    await near.ask('/calls/resume', 'POST');
  }, 120_000);

  it('close the calls of a node that falls silent; if it lives, it hangs up and goes on under another id', async () => {
    const [near, far] = [await open(), await open()];
    const { client, sessionId } = await far.talk();
    const from = await ours(far);
    const { body: placed } = await far.ask<{ session_id: string }>('/start_outbound_call', 'POST', {
      from_phone: from,
      to_phone: '+12025550101',
    });
    await vi.waitUntil(async () => (await near.call(placed.session_id)).call_status === 'in-progress', WAIT);
    const left = new Promise<void>((resolve) => client.socket.once('close', () => resolve()));
    far.network.cut();
    for (const id of [sessionId, placed.session_id]) {
      await vi.waitUntil(async () => (await near.call(id)).call_status === 'error', WAIT);
      expect((await near.call(id)).error_message).toMatch(/^The node [0-9a-f-]{36} stopped responding/);
    }
    expect(await administer('SELECT * FROM dials WHERE ended_us IS NULL')).toEqual([]);
    await vi.waitUntil(async () => (await near.ask<unknown[]>('/nodes')).body.length === 1, WAIT);
    far.network.mend();
    await left;
    await vi.waitUntil(async () => (await near.ask<unknown[]>('/nodes')).body.length === 2, WAIT);
    // What the far node writes of its old calls changes nothing.
    expect((await near.call(sessionId)).call_status).toBe('error');
    expect((await near.call(placed.session_id)).call_status).toBe('error');
    const again = await far.talk();
    expect((await near.call(again.sessionId)).call_status).toBe('in-progress');
    again.client.socket.close();
  }, 120_000);

  it('call nobody twice when a node falls silent in a campaign', async () => {
    const [near, far] = [await open(), await open()];
    const from = await ours(near);
    // Long enough to be under way when the node falls silent.
    const short = { agent_config_override: { session_timeout: { max_duration: 6 } } };
    expect(await near.ask(`/phones/${from}/agent-config-override`, 'POST', short)).toMatchObject({ status: 200 });
    const { body: campaign } = await near.ask<{ id: string }>('/campaigns', 'POST', { name: 'Autumn' });
    const path = `/campaigns/${campaign.id}`;
    await near.ask(`${path}/set_caller`, 'POST', { phone: from });
    const none = { busy: [], no_answer: [], voicemail: [], failed: [], error: [] };
    const schedule = { calling_hours: ALWAYS, calls_per_minute: 600, max_concurrent_calls: 20, retries: none };
    expect(await near.ask(`${path}/schedule`, 'POST', schedule)).toMatchObject({ status: 200 });
    const numbers = [1, 3, 4, 5, 6, 9, 12, 13].map((at) => `+120255501${String(at).padStart(2, '0')}`);
    await near.ask(
      `${path}/records`,
      'POST',
      numbers.map((phone) => ({ phone })),
    );
    await near.ask(`${path}/start`, 'POST');
    await vi.waitUntil(async () => {
      const rows = await administer<{ nodes: string }>(
        'SELECT COUNT(DISTINCT node_id) AS nodes FROM dials WHERE ended_us IS NULL',
      );
      return Number(rows[0]?.nodes) === 2;
    }, WAIT);
    far.network.cut();
    const isOver = async (): Promise<boolean> =>
      (await near.ask<{ status: string }>(`${path}/info`)).body.status === 'finished';
    await vi.waitUntil(isOver, { timeout: 120_000, interval: 200 });
    far.network.mend();
    const calls = await administer<{ to_phone: string; count: string }>(
      `SELECT to_phone, COUNT(*) AS count FROM calls WHERE campaign_id = '${campaign.id}' GROUP BY to_phone`,
    );
    expect(calls.map(({ count }) => Number(count))).toEqual(numbers.map(() => 1));
  }, 180_000);

  it('know no node that has ended cleanly, whose work others lead', async () => {
    const [near, far] = [await open(), await open()];
    await vi.waitUntil(async () => (await far.ask<unknown[]>('/nodes')).body.length === 2, WAIT);
    await near.house.daemon.drain();
    expect((await far.ask<unknown[]>('/nodes')).body).toHaveLength(1);
    await vi.waitUntil(async () => {
      const rows = await administer<{ count: string }>(
        `SELECT COUNT(*) AS count FROM pg_locks WHERE locktype = 'advisory' AND granted`,
      );
      return Number(rows[0]?.count) > 0;
    }, WAIT);
  }, 60_000);
});
