import { afterAll, beforeAll, expect, it } from 'vitest';
import { nowUnixMs } from '../../src/base/real-clock.js';
import { openDatabase } from '../../src/store/database.js';
import { StoredMemories } from '../../src/store/memory.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

function ask(path: string, method = 'GET', key = PRIVATE_KEY): Promise<{ status: number; body: unknown }> {
  return house.ask(path, { method, headers: { authorization: key } });
}

it("a user's memories are read and erased, of one agent or of all", async () => {
  const database = new SqliteDatabase(openDatabase(house.dataDir));
  const unixMs = nowUnixMs();
  const store = new StoredMemories({ database, retentionDays: 365, nowUnixMs: () => unixMs });
  for (const agentId of ['baker', 'cook']) {
    await store.keep({ agentId, user: '+12025550123', sessionId: agentId, text: 'Likes rye.', unixMs });
  }
  await database.close();
  const user = encodeURIComponent('+12025550123');
  const { status, body } = await ask(`/memories/${user}?agent_id=baker`);
  expect([status, body]).toEqual([
    200,
    [
      {
        agent_id: 'baker',
        user: '+12025550123',
        session_id: 'baker',
        text: 'Likes rye.',
        created_at: Math.floor(unixMs / 1000),
      },
    ],
  ]);
  expect((await ask(`/memories/${user}`)).body).toHaveLength(2);
  expect(await ask(`/memories/${user}?agent_id=cook`, 'DELETE')).toEqual({
    status: 200,
    body: { success: true, erased: 1 },
  });
  expect(await ask(`/memories/${user}`, 'DELETE')).toEqual({ status: 200, body: { success: true, erased: 1 } });
  expect((await ask(`/memories/${user}`)).body).toEqual([]);
  expect(await ask(`/memories/${user}`, 'DELETE')).toMatchObject({ body: { erased: 0 } });
});

it.each(['GET', 'DELETE'])('%s needs a private key, and knows its query', async (method) => {
  expect((await ask('/memories/x', method, 'nonsense')).status).toBe(401);
  expect((await ask('/memories/x', method, PUBLIC_KEY)).status).toBe(403);
  expect(await ask('/memories/x?all=1', method)).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['query', 'all'] }] },
  });
});

it("a user's name may be long, and one that is too long is refused by its place", async () => {
  expect(await ask(`/memories/${'u'.repeat(300)}`)).toEqual({ status: 200, body: [] });
  expect(await ask(`/memories/${'u'.repeat(501)}`)).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['path', 'user'], type: 'string_too_long' }] },
  });
});
