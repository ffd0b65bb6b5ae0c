/** What published clients of this interface send beside what its document shows. */
import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_WEBRTC } from '../../src/settings/setting-groups.js';
import { WeriftCaller } from '../../src/transports/webrtc/werift-caller.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

/** What the answers have that are looked into. */
interface Body extends Record<string, unknown> {
  id: string;
  call_id: string;
  session_id: string;
  length: number;
  config: { knowledge_base: unknown };
  histories: unknown[];
  cost_breakdown: { type: string }[];
}

const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };

let house: House;

beforeAll(async () => {
  house = await House.open();
});

afterAll(() => house.close());

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
  const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const answer = await house.ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return answer as { status: number; body: Body };
}

it('leaves query parameters without a value aside', async () => {
  const { status, body } = await ask('GET', '/call-logs?agent_id=&limit=&start_after_ts=');
  expect([status, body.histories]).toEqual([200, []]);
  expect((await ask('GET', '/call-logs?limit=many')).status).toBe(422);
});

it('finds voices by lang_code', async () => {
  await ask('POST', '/voices/custom', {
    provider: 'flite',
    voice_id: 'ann',
    base_voice_id: 'slt',
    name: 'Ann',
    language: 'en-US',
  });
  for (const path of ['/voices', '/voices/custom']) {
    const found = (await ask('GET', `${path}?lang_code=en`)).body.length;
    expect(found).toBeGreaterThan(0);
    expect((await ask('GET', `${path}?language=en`)).body).toHaveLength(found);
    expect((await ask('GET', `${path}?lang_code=xx`)).body).toEqual([]);
  }
});

it('takes the caller of a campaign under both names', async () => {
  const { body: phone } = await ask('POST', '/phones/purchase', {});
  await ask('POST', `/phones/${phone.id}/set_agent`, { agent_id: 'baker' });
  const { body: campaign } = await ask('POST', '/campaigns', { name: 'C' });
  for (const name of ['caller', 'phone']) {
    const { status, body } = await ask('POST', `/campaigns/${campaign.id}/set_caller`, { [name]: phone.id });
    expect([status, body]).toEqual([200, expect.objectContaining({ caller: phone.id })]);
  }
  expect((await ask('POST', `/campaigns/${campaign.id}/set_caller`, {})).status).toBe(422);
});

it('gives an agent files and phrases, which its configuration then shows', async () => {
  const form = new FormData();
  form.set('file', new Blob(['Bread costs two pounds.']), 'prices.txt');
  const headers = { authorization: PRIVATE_KEY };
  const upload = await house.ask('/knowledge/upload', { method: 'POST', body: form, headers });
  const { object_key } = upload.body as { object_key: string };
  const { body: file } = await ask('POST', '/knowledge/create_file', {
    object_key,
    name: 'prices.txt',
  });
  const given = { agent_id: 'baker', files: [file.id], messages: ['One moment.'] };
  expect((await ask('POST', '/knowledge/set_agent_files', given)).status).toBe(200);
  const { body: agent } = await ask('GET', '/agents/baker');
  expect(agent.config.knowledge_base).toMatchObject({ files: [file.id], messages: ['One moment.'] });
  expect((await ask('POST', '/knowledge/set_agent_files', { ...given, files: ['none'] })).status).toBe(404);
  expect((await ask('POST', '/knowledge/set_agent_files', { agent_id: 'baker' })).status).toBe(422);
});

describe('register_call', () => {
  it('takes the two ends of the call', async () => {
    const registered = { agent_id: 'baker', from_phone: '+12025550101', to_phone: '+12025550102' };
    const override = { first_message: 'You call from {FromPhone} to {ToPhone}.' };
    const { body: ids } = await ask('POST', '/register_call', {
      ...registered,
      agent_config: override,
    });
    const client = house.connect();
    await client.send({ method: 'initiate', data: { public_key: PUBLIC_KEY, call_id: ids.call_id } });
    const said = await client.inbox.find(({ method }) => method === 'onresponsetext');
    expect(said).toMatchObject({ data: 'You call from +12025550101 to +12025550102.' });
    client.socket.close();
    const log = async () => (await ask('GET', `/call-logs/${ids.session_id}`)).body;
    await expect.poll(async () => (await log())['call_status'], { timeout: 15_000 }).toBe('user-ended');
    expect((await log())['voip']).toMatchObject({ from: '+12025550101', to: '+12025550102' });
  });
});

describe('terminate', () => {
  it('has the message said before the end', async () => {
    const client = house.connect();
    await client.initiate();
    const ready = await client.inbox.find(({ method }) => method === 'onready');
    const { payload } = ready as { payload: { session_id: string } };
    const { session_id: id } = payload;
    const { status } = await ask('POST', `/sessions/${id}/terminate`, { message: 'We close now.' });
    expect(status).toBe(200);
    await client.inbox.closed;
    const texts = client.inbox.messages.filter(({ method }) => method === 'onresponsetext').map(({ data }) => data);
    expect(texts.join(' ')).toContain('We close now.');
    expect(client.inbox.messages.at(-1)).toMatchObject({
      method: 'onsessionended',
      payload: { status: 'agent-ended' },
    });
    // The scripted model was never asked: nothing of it is billed.
    const { body } = await ask('GET', `/call-logs/${id}`);
    expect(body.cost_breakdown.map(({ type }) => type)).not.toContain('llm');
  });
});

it('refuses a prompt beyond the limit with 413', async () => {
  const { status, body } = await ask('POST', '/agents', { name: 'A', config: { prompt: 'x'.repeat(100_001) } });
  expect([status, body]).toEqual([413, expect.objectContaining({ code: 'PROMPT_TOO_LONG' })]);
});

describe('a prompt beyond the limit', () => {
  const agent_config = { prompt: 'x'.repeat(100_001) };
  const detail = 'The prompt is too long: String should have at most 100000 characters';

  it.each([
    ['/chat/completions', { agent: { agent_id: 'baker', agent_config }, messages: [{ role: 'user', content: 'Hi.' }] }],
    ['/register_call', { agent_id: 'baker', agent_config }],
  ])('is refused by %s', async (path, body) => {
    expect(await ask('POST', path, body)).toMatchObject({ status: 413, body: { detail, code: 'PROMPT_TOO_LONG' } });
  });

  it('is refused by /start_outbound_call', async () => {
    const { body: phone } = await ask('POST', '/phones/purchase', {});
    const call = { from_phone: phone.id, to_phone: '+12025550152', agent_id: 'baker', agent_config };
    expect(await ask('POST', '/start_outbound_call', call)).toMatchObject({ status: 413, body: { detail } });
    const override = { agent_config_override: agent_config };
    const path = `/phones/${phone.id}/agent-config-override`;
    expect(await ask('POST', path, override)).toMatchObject({ status: 413, body: { detail } });
  });

  it('is refused by /talk in words, with the close code of what is too big', async () => {
    const open = await House.open({ publicAgentConfigFields: ['prompt'] });
    const client = open.connect();
    await client.initiate({ agent: { agent_id: 'baker', agent_config } });
    expect(await client.inbox.next()).toEqual({ method: 'onerror', data: detail });
    expect(await client.inbox.closed).toMatchObject({ code: 1009, reason: detail });
    expect(open.engine.sessions.size).toBe(0);
    await open.close();
  });

  it('is refused by /webrtc/offer where the operator has lowered the limit since the agent was stored', async () => {
    const { body: stored } = await ask('POST', '/agents', { name: 'A', config: { prompt: 'x'.repeat(30) } });
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-prompt-'));
    await house.daemon.close();
    cpSync(house.dataDir, dataDir, { recursive: true });
    await house.close();
    house = await House.open();
    const strict = await House.open({ dataDir, webrtc: { ...DEFAULT_WEBRTC, ...LOOPBACK } }, undefined, undefined, {
      maxPromptChars: 20,
    });
    const caller = new WeriftCaller(LOOPBACK);
    const offer = { sdp: await caller.offer(), type: 'offer' };
    const answer = await strict.ask('/webrtc/offer', {
      method: 'POST',
      headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ offer, agent_id: stored.id }),
    });
    const words = 'The prompt is too long: String should have at most 20 characters';
    expect(answer).toMatchObject({ status: 413, body: { detail: words, code: 'PROMPT_TOO_LONG' } });
    await caller.close();
    await strict.close();
  });
});

it('gives no session token while it shuts down', async () => {
  const other = await House.open();
  const mint = () =>
    other.ask('/sessions/token', { method: 'POST', headers: { authorization: PUBLIC_KEY, origin: other.address } });
  expect((await mint()).status).toBe(200);
  const client = other.connect();
  await client.initiate();
  await client.inbox.find(({ method }) => method === 'onready');
  const drained = other.daemon.drain();
  expect(await mint()).toMatchObject({ status: 503, body: { code: 'DAEMON_DRAINING' } });
  client.socket.close();
  await drained;
  await other.close();
});
