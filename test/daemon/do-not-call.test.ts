import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { House, PRIVATE_KEY } from './house.js';

let house: House;

beforeEach(async () => {
  house = await House.open();
});

afterEach(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

/** A request with the private key; a body is sent as JSON. */
function ask(method: string, body?: unknown, key = PRIVATE_KEY) {
  const headers = { authorization: key, ...(body !== undefined && { 'content-type': 'application/json' }) };
  return house.ask('/do-not-call', { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

describe('/do-not-call', () => {
  it('lists, adds and removes, survives a restart, and the engine respects it', async () => {
    expect((await ask('GET')).body).toEqual([]);
    expect(await ask('POST', { phone: '+1 202 555 0101' })).toEqual({ status: 200, body: { success: true } });
    await house.daemon.close();
    house = await House.open({ dataDir: house.dataDir });
    expect((await ask('GET')).body).toEqual([
      { phone: '+12025550101', source: 'operator', session_id: null, created_at: expect.any(Number) as number },
    ]);
    expect(await house.engine.doNotCall.has('+12025550101')).toBe(true);
    expect((await ask('DELETE', { phone: '+12025550101' })).body).toEqual({ success: true });
    expect((await ask('DELETE', { phone: '+12025550101' })).status).toBe(404);
  });

  it('needs a private key and a number', async () => {
    expect((await ask('GET', undefined, 'wrong')).status).toBe(401);
    expect((await ask('POST', { phone: '' })).status).toBe(422);
    expect((await ask('POST', { number: '+12025550101' })).status).toBe(422);
  });
});

describe('initiate', () => {
  it('goes on from messages, and from nobody whom the client merely names', async () => {
    const client = house.connect();
    await client.initiate({ session_continuation: { messages: [{ role: 'user', content: 'I am Ann.' }] } });
    expect(await client.inbox.find((message) => message['method'] === 'onready')).toBeDefined();
    client.socket.close();
    await house.ended;
    const other = house.connect();
    await other.initiate({ session_continuation: { identifier_variable: 'customer' }, metadata: { customer: '7' } });
    expect(await other.inbox.find((message) => message['method'] === 'onerror')).toMatchObject({
      data: expect.stringContaining('identifier_variable') as string,
    });
  });
});
