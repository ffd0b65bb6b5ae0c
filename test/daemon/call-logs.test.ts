import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeWav } from '../../src/audio/files/wav.js';
import { agentConfigSchema } from '../../src/agent/agent.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import { readLog } from '../../src/replay/read-log.js';
import { replay } from '../../src/replay/replay.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

let house: House;

beforeEach(async () => {
  house = await House.open({ prices: { tts: { flite: 1_000_000 }, voip: { simulated: { inbound: { '*': 6 } } } } });
});

afterEach(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

const authorization = PRIVATE_KEY;
const CALLER = '+12025550153';

function ask(method: string, path: string, body?: unknown) {
  const headers = { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) };
  return house.ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

interface Page {
  histories: CallHistoryItem[];
  next_cursor: number;
}

async function page(query = ''): Promise<Page> {
  const { status, body } = await ask('GET', `/call-logs${query}`);
  expect(status).toBe(200);
  return body as Page;
}

function isFinal(payload: unknown): boolean {
  return (payload as { is_final?: boolean } | undefined)?.is_final === true;
}

/** A talk session that begins, and ends when its client leaves. */
async function talked(): Promise<CallHistoryItem> {
  const client = house.connect();
  await client.initiate({ metadata: { table: 4 } });
  await client.inbox.find(({ method, payload }) => method === 'onresponsetext' && isFinal(payload));
  client.socket.close();
  return ended();
}

/** The latest call, once all of it is written down. */
async function ended(): Promise<CallHistoryItem> {
  const isWritten = async (): Promise<boolean> => ((await page()).histories[0]?.cost_breakdown.length ?? 0) > 0;
  await expect.poll(isWritten, { timeout: 20_000 }).toBe(true);
  const [item] = (await page('?limit=1')).histories;
  return item as CallHistoryItem;
}

/** Somebody calls the baker and hangs up. */
async function called(config: Record<string, unknown> = {}): Promise<{ number: string; item: CallHistoryItem }> {
  const bought = await ask('POST', '/phones/purchase', { country: 'US', area_code: '415' });
  const number = (bought.body as { id: string }).id;
  await ask('POST', `/phones/${number}/set_agent`, { agent_id: 'baker' });
  await ask('POST', `/phones/${number}/agent-config-override`, {
    agent_config_override: { session_timeout: { max_duration: 3 }, ...config },
  });
  await ask('POST', `/phones/${number}/simulate_call`, { caller: CALLER });
  return { number, item: await ended() };
}

describe('the call log', { timeout: 60_000 }, () => {
  it('has a talk session with every member, alone and in the list', async () => {
    const item = await talked();
    expect(Object.keys(item).sort()).toEqual(
      [
        'agent_config',
        'agent_id',
        'agent_version',
        'call_id',
        'call_metrics',
        'call_status',
        'campaign_id',
        'carrier_call_log',
        'chat',
        'chars_used',
        'cost_breakdown',
        'duration',
        'error_message',
        'function_calls',
        'metadata',
        'recording',
        'session_id',
        'ts',
        'voip',
      ].sort(),
    );
    expect(Object.keys(item.agent_config)).toEqual(Object.keys(agentConfigSchema.shape));
    expect(item.agent_config).toMatchObject({ prompt: 'You sell bread.', tools: [], flow: null });
    expect(item).toMatchObject({
      agent_id: 'baker',
      call_status: 'user-ended',
      metadata: { table: 4 },
      voip: null,
      recording: null,
      error_message: null,
      campaign_id: null,
      carrier_call_log: null,
    });
    expect((JSON.parse(item.chat) as { role: string }[])[0]?.role).toBe('assistant');
    const tts = item.cost_breakdown.find(({ type }) => type === 'tts');
    expect(tts).toMatchObject({ provider: 'flite', credit: item.chars_used, chars: item.chars_used });
    expect(await ask('GET', `/call-logs/${item.session_id}`)).toEqual({ status: 200, body: item });
  });

  it('is paged, filtered and refuses what means nothing', async () => {
    const items = [await talked(), await talked(), await talked()].toReversed();
    const ids = items.map(({ session_id }) => session_id);
    const first = await page('?limit=2');
    expect(first.histories.map(({ session_id }) => session_id)).toEqual(ids.slice(0, 2));
    expect(first.next_cursor).toBe(items[1]?.ts);
    const second = await page(`?limit=2&start_after_ts=${String(first.next_cursor)}`);
    expect([second.histories.map(({ session_id }) => session_id), second.next_cursor]).toEqual([ids.slice(2), 0]);
    const count = async (query: string): Promise<number> => (await page(query)).histories.length;
    const [newest, , oldest] = items as [CallHistoryItem, CallHistoryItem, CallHistoryItem];
    expect(await count(`?start_time=${String(newest.ts)}`)).toBe(1);
    expect(await count(`?start_time=${String(Math.floor(oldest.ts * 1000))}`)).toBe(3);
    expect(await count(`?end_time=${String(oldest.ts)}`)).toBe(1);
    expect(await count('?end_time=1')).toBe(0);
    expect(await count('?agent_id=baker&call_status=completed')).toBe(3);
    expect(await count('?call_status=User-Ended')).toBe(3);
    expect(await count('?call_status=FAILED')).toBe(0);
    expect(await count('?agent_id=nobody')).toBe(0);
    expect(await count('?campaign_id=none&phone_number=0103')).toBe(0);
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'call_status=asleep', 'start_time=soon', 'page=2']) {
      const { status, body } = await ask('GET', `/call-logs?${query}`);
      const [issue] = (body as { detail: { loc: unknown[] }[] }).detail;
      expect([query, status, issue?.loc]).toEqual([query, 422, ['query', query.split('=')[0]]]);
    }
  });

  it('has a phone call that is recorded, priced and found by either number', async () => {
    const { number, item } = await called({ call_settings: { enable_recording: true } });
    expect(item).toMatchObject({ voip: { from: CALLER, to: number, direction: 'inbound' }, call_status: 'timeout' });
    const line = item.cost_breakdown.find(({ type }) => type === 'voip') as { minutes: number; credit: number };
    expect(line).toMatchObject({ provider: 'simulated' });
    expect(line.credit).toBeCloseTo(line.minutes * 6, 2);
    expect(line.minutes).toBeGreaterThan(0);
    for (const phone of [CALLER, '12025550153', '5550153', '(202) 555-0153', '+1202*', number]) {
      const found = await page(`?phone_number=${encodeURIComponent(phone)}`);
      expect([phone, found.histories.length]).toEqual([phone, 1]);
    }
    expect((await page(`?phone_number=${CALLER}`)).histories).toHaveLength(1); // a plus that nobody encoded
    expect((await page('?phone_number=999')).histories).toHaveLength(0);

    const url = item.recording?.recording_url ?? '';
    expect(url).toMatch(new RegExp(`^${house.address}/call-logs/${item.session_id}/recording\\?expires=`));
    const whole = await fetch(url);
    expect([whole.status, whole.headers.get('content-type'), whole.headers.get('accept-ranges')]).toEqual([
      200,
      'audio/wav',
      'bytes',
    ]);
    const wav = Buffer.from(await whole.arrayBuffer());
    expect(whole.headers.get('content-length')).toBe(String(wav.length));
    expect(decodeWav(wav).channels).toHaveLength(2);
    const part = async (range: string, more: Record<string, string> = {}): Promise<[number, string | null, Buffer]> => {
      const response = await fetch(url, { headers: { range, ...more } });
      return [response.status, response.headers.get('content-range'), Buffer.from(await response.arrayBuffer())];
    };
    const size = String(wav.length);
    expect(await part('bytes=0-3')).toEqual([206, `bytes 0-3/${size}`, wav.subarray(0, 4)]);
    expect(await part('bytes=40-')).toEqual([206, `bytes 40-${String(wav.length - 1)}/${size}`, wav.subarray(40)]);
    expect(await part('bytes=-5')).toEqual([
      206,
      `bytes ${String(wav.length - 5)}-${String(wav.length - 1)}/${size}`,
      wav.subarray(-5),
    ]);
    expect((await part(`bytes=${size}-`)).slice(0, 2)).toEqual([416, `bytes */${size}`]);
    for (const odd of ['bytes=3-1', 'bytes=0-1,3-4', 'seconds=1-2', 'bytes=-']) expect((await part(odd))[0]).toBe(200);
    expect((await part('bytes=0-3', { 'if-range': '"another"' }))[0]).toBe(200);
    expect((await part('bytes=0-3', { 'if-range': whole.headers.get('etag') ?? '' }))[0]).toBe(206);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, size]);

    const path = `/call-logs/${item.session_id}/recording`;
    const status = async (address: string, key?: string): Promise<number> => {
      const response = await fetch(address, key === undefined ? {} : { headers: { authorization: key } });
      await response.arrayBuffer();
      return response.status;
    };
    expect(await status(house.address + path, PRIVATE_KEY)).toBe(200);
    expect(await status(house.address + path)).toBe(401);
    expect(await status(house.address + path, PUBLIC_KEY)).toBe(403);
    expect(await status(url.replace(/expires=\d+/, 'expires=1'))).toBe(403);
    expect(await status(url.replace(item.session_id, 'another'))).toBe(403);

    expect((await ask('DELETE', `/call-logs/${item.session_id}`)).body).toEqual({ success: true });
    expect(readdirSync(join(house.dataDir, 'recordings'))).toEqual([]);
    expect(readdirSync(join(house.dataDir, 'traces'))).toEqual([]);
    expect(await status(url)).toBe(404);
    expect((await ask('DELETE', `/call-logs/${item.session_id}`)).status).toBe(404);
    expect((await page()).histories).toEqual([]);
  });

  it('keeps the trace of each session, which replays to the bit', async () => {
    const { session_id: id } = await talked();
    const response = await house.request(`/call-logs/${id}/trace`, { headers: { authorization } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const log = readLog(await response.text());
    expect([log.isCut, log.entries.length > 5, replay(log).difference]).toEqual([false, true, null]);
    expect((await house.request(`/call-logs/${id}/trace`)).status).toBe(401);
    expect((await ask('GET', '/call-logs/nobody/trace')).status).toBe(404);
    expect((await ask('GET', `/call-logs/${id}/recording`)).body).toMatchObject({
      detail: `There is no recording of the session "${id}"`,
    });
  });

  it('has nothing of what was said where the user has opted out, in files neither', async () => {
    const secret = 'We have plenty of bread today.';
    const { item } = await called({
      privacy_settings: { opt_out_data_collection: true },
      first_message: secret,
      call_settings: { enable_recording: true },
    });
    expect(item).toMatchObject({ chat: '[]', recording: null, metadata: {} });
    const trace = readFileSync(join(house.dataDir, 'traces', `${item.session_id}.jsonl`), 'utf8');
    expect(trace).toContain('"utterance.started"');
    expect(trace).not.toContain('plenty');
    expect(readLog(trace).entries.length).toBeGreaterThan(5);
  });

  it('cannot lose a call that goes on', async () => {
    const client = house.connect();
    await client.initiate();
    await client.inbox.find(({ method }) => method === 'onready');
    await expect.poll(async () => (await page()).histories.length).toBe(1);
    const [going] = (await page()).histories;
    const id = going?.session_id ?? '';
    expect(going?.call_status).toBe('in-progress');
    expect((await ask('DELETE', `/call-logs/${id}`)).status).toBe(409);
    const trace = await house.request(`/call-logs/${id}/trace`, { headers: { authorization } });
    expect(readLog(await trace.text()).start.sessionId).toBe(id);
    client.socket.close();
    await ended();
    expect((await ask('DELETE', `/call-logs/${id}`)).status).toBe(200);
  });
});

describe('a number that is erased', { timeout: 60_000 }, () => {
  it('leaves nothing of its calls, and says how much there was', async () => {
    const { number, item } = await called({ call_settings: { enable_recording: true } });
    expect(item.recording).not.toBeNull();
    expect(await ask('POST', '/erase', { phone: '+1 (202) 555-0153' })).toMatchObject({
      status: 200,
      body: {
        success: true,
        erased: { calls: 1, going_on: 0, recordings: 1, traces: 1, memories: 0, sessions: 1, deliveries: 0 },
      },
    });
    expect((await page()).histories).toEqual([]);
    expect([...readdirSync(join(house.dataDir, 'recordings')), ...readdirSync(join(house.dataDir, 'traces'))]).toEqual(
      [],
    );
    const files = ['parley.db', 'parley.db-wal'].map((name) =>
      readFileSync(join(house.dataDir, name)).toString('latin1'),
    );
    expect(files.map((text) => text.includes(CALLER))).toEqual([false, false]);
    expect(files.some((text) => text.includes(number))).toBe(true); // ours is still ours
    expect((await ask('POST', '/erase', { phone: CALLER })).body).toMatchObject({ erased: { calls: 0 } });
  });

  it('that was called is nowhere any more, and the call to it had said why it failed', async () => {
    const busy = '+12025550107';
    const bought = await ask('POST', '/phones/purchase', { country: 'US', area_code: '415' });
    const from_phone = (bought.body as { id: string }).id;
    const placed = await ask('POST', '/start_outbound_call', { from_phone, to_phone: busy, agent_id: 'baker' });
    expect(placed.status).toBe(200);
    expect(await ended()).toMatchObject({
      call_status: 'busy',
      error_message: 'The line was busy. Call again later.',
      duration: 0,
      cost_breakdown: expect.arrayContaining([expect.objectContaining({ type: 'voip', minutes: 0 })]) as object,
    });
    expect((await page('?call_status=FAILED')).histories).toHaveLength(1);
    expect((await ask('POST', '/erase', { phone: busy })).body).toMatchObject({ erased: { calls: 1, dials: 1 } });
    await house.daemon.close();
    expect(readFileSync(join(house.dataDir, 'parley.db')).toString('latin1')).not.toContain(busy);
  });

  it.each([[{ phone: '0153' }], [{ phone: '+1202*' }], [{}], [{ phone: CALLER, all: true }]])(
    'is a whole one: %j is refused',
    async (body) => {
      expect((await ask('POST', '/erase', body)).status).toBe(422);
    },
  );
});

describe('recordings that a crash left', { timeout: 60_000 }, () => {
  it('belong to their calls when the daemon starts again', async () => {
    const { item } = await called({ call_settings: { enable_recording: true } });
    const dataDir = house.dataDir;
    // As if the process had died before the end was written down.
    const { default: Database } = await import('better-sqlite3');
    await house.daemon.close();
    const database = new Database(join(dataDir, 'parley.db'));
    database.exec("UPDATE calls SET ended_us = NULL, recording = NULL, status = 'in-progress'");
    database.close();
    const again = await House.open({ dataDir });
    const { body } = await again.ask(`/call-logs/${item.session_id}`, { headers: { authorization } });
    expect(body).toMatchObject({
      call_status: item.call_status,
      chat: item.chat,
      function_calls: item.function_calls,
      recording: { recording_url: expect.stringContaining('/recording?expires=') as string },
    });
    await again.daemon.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
});
