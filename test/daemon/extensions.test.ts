import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

interface Answer {
  status: number;
  body: Record<string, unknown> & { id: string; warnings: { loc: unknown[] }[] };
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  return (await house.ask(path, init)) as Answer;
}

const attended = { enabled: true, ring_timeout: 12 };
const EXTENSIONS = { transfer: { attended } };
const FLOW = { call_transfer: { phone: '+12025550123' } };
const CONFIG = { llm: { model: 'scripted' }, first_message: 'Hi.', flow: FLOW };
const OLD = { ...CONFIG, flow: { call_transfer: { ...FLOW.call_transfer, attended } } };
const SCRIPT = { rules: [{ when: 'cake', say: 'We have cake.' }] };
const DESK = { name: 'Desk', config: CONFIG, script: SCRIPT, extensions: EXTENSIONS };
const OLD_PLACE = ['body', 'config', 'flow', 'call_transfer', 'attended'];
const WARNED = [expect.objectContaining({ loc: OLD_PLACE }) as unknown];

describe('the extensions of a stored agent', () => {
  it('are kept, changed, copied and restored with it', async () => {
    const { status, body } = await ask('POST', '/agents', DESK);
    expect(status).toBe(200);
    expect(body).toMatchObject({ config: CONFIG, extensions: EXTENSIONS, warnings: [] });
    const at = `/agents/${body.id}`;
    expect((await ask('GET', at)).body).toEqual(body);
    expect((await ask('PUT', at, { name: 'Front desk' })).body).toMatchObject({ extensions: EXTENSIONS, version: 2 });
    expect((await ask('POST', `${at}/duplicate`)).body).toMatchObject({ extensions: EXTENSIONS });
    expect((await ask('PUT', at, { extensions: null })).body).toMatchObject({ extensions: null, version: 3 });
    const versions = (await ask('GET', `${at}/versions`)).body as unknown as { extensions: unknown }[];
    expect(versions.map(({ extensions }) => extensions)).toEqual([null, EXTENSIONS, EXTENSIONS]);
    const restored = await ask('POST', `${at}/versions/1/restore`);
    expect(restored.body).toMatchObject({ extensions: EXTENSIONS, version: 4, warnings: [] });
  });

  it.each([
    [{ ...DESK, extensions: { weather: {} } }, ['body', 'extensions', 'weather']],
    [{ ...DESK, extensions: { transfer: { cold: 1 } } }, ['body', 'extensions', 'transfer', 'cold']],
    [{ ...DESK, config: { ...CONFIG, extensions: {} } }, ['body', 'config', 'extensions']],
  ])('have no unknown members: %j', async (body, loc) => {
    const { status, body: answer } = await ask('POST', '/agents', body);
    expect(status).toBe(422);
    expect(answer['detail']).toMatchObject([{ loc, type: 'extra_forbidden' }]);
  });

  it('take over what a request has in the old place, and say so', async () => {
    const made = await ask('POST', '/agents', { name: 'Old desk', config: OLD, script: SCRIPT });
    expect(made.status).toBe(200);
    expect(made.body).toMatchObject({ config: CONFIG, extensions: EXTENSIONS });
    expect(made.body.warnings).toEqual(WARNED);
    const at = `/agents/${made.body.id}`;
    expect((await ask('GET', at)).body.warnings).toEqual([]);
    await ask('PUT', at, { extensions: null });
    const changed = await ask('PUT', at, { config: OLD });
    expect(changed.body).toMatchObject({ config: CONFIG, extensions: EXTENSIONS });
    expect(changed.body.warnings).toEqual(WARNED);
  });

  it('are no part of what a number overrides', async () => {
    const { id: phone } = (await ask('POST', '/phones/purchase', {})).body;
    const body = { agent_config_override: { flow: { call_transfer: { attended } } } };
    const { status } = await ask('POST', `/phones/${encodeURIComponent(phone)}/agent-config-override`, body);
    expect(status).toBe(422);
  });
});

describe('agent_extensions', () => {
  const chat = (agent: object): Promise<Response> =>
    fetch(`${house.address}/chat/completions`, {
      method: 'POST',
      headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ agent, messages: [{ role: 'user', content: 'Have you any bread?' }] }),
    });

  it.each([
    { agent_id: 'baker', agent_extensions: EXTENSIONS },
    { agent_config: CONFIG, agent_extensions: EXTENSIONS },
    { agent_config: OLD },
  ])('reach a chat: %j', async (agent) => {
    const asked = vi.spyOn(house.engine, 'chat');
    const response = await chat(agent);
    expect(response.status).toBe(200);
    await response.text();
    expect(asked.mock.calls[0]?.[0]).toMatchObject({ extensions: EXTENSIONS });
  });

  it.each([
    ['/register_call', { agent_id: 'baker', agent_extensions: EXTENSIONS }],
    ['/register_call', { agent_config: OLD }],
  ])('reach the session of a call registered at %s with %j', async (path, body) => {
    const { status, body: ids } = await ask('POST', path, body);
    expect(status).toBe(200);
    const made = vi.spyOn(house.engine, 'createSession');
    const client = house.connect();
    await client.send({ method: 'initiate', data: { public_key: PUBLIC_KEY, call_id: ids['call_id'] } });
    await client.inbox.find(({ method }) => method === 'onready');
    client.socket.close();
    expect(made.mock.calls[0]?.[0]).toMatchObject({ extensions: EXTENSIONS });
  });

  it('reach the session of a call that is placed', async () => {
    const { id: from } = (await ask('POST', '/phones/purchase', {})).body;
    const checked = vi.spyOn(house.engine, 'checkAgent');
    const call = { from_phone: from, to_phone: '+12025550107', agent_id: 'baker', agent_extensions: EXTENSIONS };
    const { status, body } = await ask('POST', '/start_outbound_call', call);
    expect([status, body['detail']]).toEqual([200, undefined]);
    expect(checked.mock.calls[0]?.[0]).toMatchObject({ extensions: EXTENSIONS });
    await ask('POST', `/sessions/${String(body['session_id'])}/terminate`);
  });

  it.each([
    ['/chat/completions', (agent: object) => ({ agent, messages: [] }), ['body', 'agent']],
    ['/register_call', (agent: object) => agent, ['body']],
    ['/register_sip_call', (agent: object) => agent, ['body']],
    [
      '/start_outbound_call',
      (agent: object) => ({ ...agent, from_phone: '+12025550100', to_phone: '+12025550107' }),
      ['body'],
    ],
  ])('are checked by %s', async (path, bodyOf, place) => {
    const { status, body } = await ask('POST', path, bodyOf({ agent_id: 'baker', agent_extensions: { analysis: {} } }));
    expect(status).toBe(422);
    expect(body['detail']).toMatchObject([
      { loc: [...place, 'agent_extensions', 'analysis'], type: 'extra_forbidden' },
    ]);
  });

  it('are refused on /talk with a public key', async () => {
    const client = house.connect();
    await client.initiate({ agent: { agent_id: 'baker', agent_extensions: EXTENSIONS } });
    const { data } = await client.inbox.find(({ method }) => method === 'onerror');
    expect(data).toContain('agent_extensions needs a private key');
    client.socket.close();
  });
});
