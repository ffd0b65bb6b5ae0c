import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Client, House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

let house: House;
const open: WebSocket[] = [];

beforeAll(async () => {
  house = await House.open();
});

afterEach(() => {
  for (const socket of open.splice(0)) socket.terminate();
});

afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

/** A call whose agent has greeted. */
async function call(): Promise<{ id: string; caller: Client }> {
  const caller = house.connect({ origin: house.address });
  await caller.initiate();
  const begun = await caller.inbox.find(({ method }) => method === 'onready');
  await caller.inbox.heard(1);
  return { id: (begun['payload'] as { session_id: string }).session_id, caller };
}

async function control(id: string, body: unknown, headers: Record<string, string> = {}, wait = 30): Promise<Answer> {
  const { status, body: answer } = await house.ask(`/sessions/${id}/control?wait_s=${String(wait)}`, {
    method: 'POST',
    headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status, body: answer as Record<string, unknown> };
}

function steer(id: string, options: { protocols?: string[]; headers?: Record<string, string> } = {}): Client {
  const { protocols = [], headers = { authorization: PRIVATE_KEY } } = options;
  const socket = new WebSocket(`${house.address.replace('http', 'ws')}/sessions/${id}/control`, protocols, { headers });
  open.push(socket);
  return new Client(socket);
}

describe('POST /sessions/{session_id}/control', () => {
  it('makes the agent say something, once for each key', async () => {
    const { id, caller } = await call();
    const say = { type: 'say', text: 'One moment.', when: 'now' };
    const [first, again] = await Promise.all([
      control(id, say, { 'idempotency-key': 'a' }),
      control(id, say, { 'idempotency-key': 'a' }),
    ]);
    expect(first).toMatchObject({
      status: 200,
      body: { session_id: id, status: 'done', result: { text: 'One moment.', heard: 'One moment.', complete: true } },
    });
    expect(again).toEqual(first);
    const said = caller.inbox.messages.filter(
      ({ data, payload }) => data === 'One moment.' && (payload as { is_final: boolean }).is_final,
    );
    expect(said.length).toBe(1);
    const other = await control(id, { ...say, text: 'Two.' }, { 'idempotency-key': 'a' });
    expect(other).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  });

  it('answers before a command is done if it should not wait, and gives its result later', async () => {
    const { id } = await call();
    const say = { type: 'say', text: 'This is said while nobody waits.' };
    const key = { 'idempotency-key': 'later' };
    expect(await control(id, say, key, 0)).toMatchObject({ status: 202, body: { status: 'pending', result: null } });
    expect(await control(id, say, key)).toMatchObject({ status: 200, body: { result: { complete: true } } });
  });

  it('holds and mutes, and refuses what cannot be done meanwhile', async () => {
    const { id } = await call();
    expect(await control(id, { type: 'hold', music: false })).toMatchObject({ status: 200, body: { result: null } });
    expect(await control(id, { type: 'say', text: 'Hello?' })).toMatchObject({
      status: 409,
      body: { code: 'COMMAND_REFUSED', why: 'held', detail: expect.stringContaining('on hold') as string },
    });
    expect((await control(id, { type: 'unhold' })).status).toBe(200);
    expect((await control(id, { type: 'mute', side: 'agent' })).status).toBe(200);
    expect(await control(id, { type: 'say', text: 'Hello?' })).toMatchObject({ status: 409 });
    expect((await control(id, { type: 'mute', side: 'agent', on: false })).status).toBe(200);
    expect(await control(id, { type: 'say', text: 'Hello again.' })).toMatchObject({ body: { status: 'done' } });
    expect(await control(id, { type: 'record', on: false })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('not recorded') as string },
    });
  });

  it('changes the agent and its history, and ends the call after a message', async () => {
    const { id, caller } = await call();
    const note = { type: 'add_message', role: 'system', content: 'The caller is a regular.' };
    expect((await control(id, note)).status).toBe(200);
    expect((await control(id, { type: 'update_agent', metadata: { name: 'Ann' } })).status).toBe(200);
    expect(await control(id, { type: 'update_agent', voice: { provider: 'none', voice_id: 'x' } })).toMatchObject({
      status: expect.toSatisfy((status: number) => status >= 400 && status < 500) as number,
    });
    expect((await control(id, { type: 'end', message: 'Goodbye.' })).status).toBe(200);
    await caller.inbox.closed;
    const log = await house.ask(`/call-logs/${id}`, { headers: { authorization: PRIVATE_KEY } });
    expect(JSON.stringify(log.body)).toContain('Goodbye.');
    expect(await control(id, { type: 'interrupt' })).toMatchObject({ status: 409, body: { code: 'SESSION_CLOSED' } });
  });

  it('hands the call over to another agent, and the log shows who spoke when', async () => {
    const agent = { name: 'Billing', config: { prompt: 'You are billing.' }, script: { greeting: 'This is billing.' } };
    const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
    const store = (body: unknown) => house.ask('/agents', { method: 'POST', headers, body: JSON.stringify(body) });
    const { id: agentId } = (await store(agent)).body as { id: string };
    const handover = { agents: [{ agent_id: 'nobody' }] };
    const refused = await store({ ...agent, extensions: { handover } });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      422,
      expect.stringContaining('there is no agent \\"nobody\\"'),
    ]);
    const { id, caller } = await call();
    expect(await control(id, { type: 'hand_over', agent_id: 'nobody' })).toMatchObject({ status: 404 });
    const order = { type: 'hand_over', agent_id: agentId, announcement: 'One moment.', context: 'none' };
    expect(await control(id, order)).toMatchObject({ status: 200, body: { status: 'done', result: null } });
    // Beside the greeting, if that was still playing.
    await caller.inbox.find(({ data }) => String(data).endsWith('One moment. This is billing.'));
    expect((await control(id, { type: 'end', message: 'Goodbye.' })).status).toBe(200);
    await caller.inbox.closed;
    const { body } = await house.ask(`/call-logs/${id}`, { headers: { authorization: PRIVATE_KEY } });
    const { agents } = body as { agents: { agent_id: string; name: string; from: number; to: number }[] };
    expect(agents.map(({ agent_id }) => agent_id).at(-1)).toBe(agentId);
    expect(agents[1]).toMatchObject({ name: 'Billing', from: agents[0]?.to });
  });

  it('says what is wrong with a request', async () => {
    const { id } = await call();
    expect((await control('nobody', { type: 'interrupt' })).status).toBe(404);
    expect((await control('nobody', { type: 'end' })).status).toBe(404);
    expect((await control(id, { type: 'interrupt' }, { authorization: PUBLIC_KEY })).status).toBe(403);
    expect((await control(id, { type: 'interrupt' }, { authorization: 'wrong' })).status).toBe(401);
    for (const body of ['{', '[]', {}, { type: 'sing' }, { type: 'say' }, { type: 'say', text: '', when: 'now' }]) {
      expect(await control(id, body)).toMatchObject({ status: 422 });
    }
    expect((await control(id, { type: 'interrupt' }, {}, 61)).status).toBe(422);
    expect((await control(id, { type: 'press_keys', digits: 'xyz' })).status).toBe(409);
    expect((await control(id, { type: 'transfer', target: '+12025550101' })).status).toBe(409);
  });
});

describe('the control socket', () => {
  it('takes commands, and tells of what happens', async () => {
    const { id, caller } = await call();
    const client = steer(id);
    expect(await client.inbox.next()).toEqual({ type: 'ready', session_id: id });
    await client.send({ id: '1', type: 'say', text: 'We are still here.', when: 'now' });
    expect(await client.inbox.find(({ type }) => type === 'result')).toEqual({
      type: 'result',
      id: '1',
      result: { text: 'We are still here.', heard: 'We are still here.', complete: true },
    });
    await client.send({ id: '2', type: 'hold', music: false });
    const held = await client.inbox.find(({ event }) => event === 'state');
    expect(held).toMatchObject({ type: 'event', data: { session_id: id, held: true } });
    expect(client.inbox.messages.map(({ event }) => event)).toEqual(expect.arrayContaining(['speaking', 'transcript']));
    await client.send({ id: '3', type: 'say', text: 'Hello?' });
    expect(await client.inbox.find(({ type }) => type === 'error')).toMatchObject({
      id: '3',
      error: { code: 'COMMAND_REFUSED' },
    });
    // A client that leaves changes nothing.
    client.socket.terminate();
    await client.inbox.closed;
    expect((await control(id, { type: 'unhold' })).status).toBe(200);
    caller.socket.terminate();
  });

  it('answers nonsense with an error and goes on, and ends with the call', async () => {
    const { id, caller } = await call();
    const key = `parley-key.${Buffer.from(PRIVATE_KEY).toString('base64url')}`;
    const client = steer(id, { protocols: ['parley', key], headers: {} });
    expect(await client.refused).toBeNull();
    expect(client.socket.protocol).toBe('parley');
    for (const text of ['{', 'null', '{"id":7}', '{"id":"x","type":"sing"}', '{"type":"interrupt"}']) {
      await client.send(text);
      const { error } = await client.inbox.find(({ type }) => type === 'error');
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    }
    await client.send({ id: '1', type: 'interrupt' });
    await client.inbox.find(({ type }) => type === 'result');
    caller.socket.terminate();
    await house.ask(`/sessions/${id}/terminate`, { method: 'POST', headers: { authorization: PRIVATE_KEY } });
    await client.inbox.find(({ event, data }) => event === 'status' && (data as { ended: boolean }).ended);
    expect((await client.inbox.closed).code).toBe(1000);
  });

  it('is for private keys and running sessions', async () => {
    const { id } = await call();
    expect(await steer(id, { headers: {} }).refused).toBe(401);
    expect(await steer(id, { headers: { authorization: PUBLIC_KEY } }).refused).toBe(403);
    expect(await steer('nobody').refused).toBe(404);
    expect(await steer('%E0%A4%A').refused).toBe(404);
  });
});
