import { afterEach, describe, expect, it } from 'vitest';
import { DeliveryStore } from '../../src/store/deliveries.js';
import { StoredOutbox } from '../../src/store/outbox.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { sql } from '../../src/store/sql/statement.js';
import { type Delivery, type OutboxStore, MemoryOutboxStore } from '../../src/tools/outbox.js';
import { backends, isPostgresInstalled, postgres, sqlite, type TestDatabase } from './support/backends.js';

const box = new SecretBox(Buffer.alloc(32));
let opened: TestDatabase | null = null;

afterEach(async () => {
  await opened?.remove();
  opened = null;
});

const delivery = (id: string, sessionId: string, createdUnixMs = 1000): Delivery => ({
  id,
  sessionId,
  createdUnixMs,
  attempts: 0,
  body: `"${id}"`,
  url: 'https://example.com/hook',
  headers: { 'x-key': 'k' },
});

const ids = (deliveries: readonly Delivery[]): string[] => deliveries.map(({ id }) => id);

const stores: (readonly [name: string, open: () => Promise<OutboxStore>])[] = [
  ['in memory', async () => new MemoryOutboxStore()],
  ...backends.map(
    ({ name, open }) =>
      [
        `in ${name}`,
        async (): Promise<OutboxStore> => {
          opened = await open();
          return new StoredOutbox(opened.database, box);
        },
      ] as const,
  ),
];

describe.each(stores)('messages that are kept %s', (_name, open) => {
  it('come whole, the oldest of each session first', async () => {
    const store = await open();
    expect(await store.nextDueUnixMs()).toBeNull();
    await store.add(delivery('a1', 'a', 1000));
    await store.add(delivery('a2', 'a', 1001));
    await store.add(delivery('b1', 'b', 1002));
    expect(await store.nextDueUnixMs()).toBe(1000);
    expect(ids(await store.due(2000, 1, ['a']))).toEqual(['b1']);
    expect(ids(await store.due(1000, 8, []))).toEqual(['a1']);
  });

  it('come the longest due first', async () => {
    const store = await open();
    await store.add(delivery('b1', 'b', 1002));
    await store.add(delivery('a1', 'a', 1000));
    expect(await store.due(2000, 8, [])).toEqual([delivery('a1', 'a', 1000), delivery('b1', 'b', 1002)]);
  });

  it('that failed wait, and what comes after them in their session with them', async () => {
    const store = await open();
    await store.add(delivery('a1', 'a'));
    await store.add(delivery('a1', 'a'));
    await store.add(delivery('a2', 'a'));
    await store.failed('a1', 'status 500', 9000);
    expect(await store.due(8999, 8, [])).toEqual([]);
    expect(await store.nextDueUnixMs()).toBe(9000);
    expect(await store.due(9000, 8, [])).toMatchObject([{ id: 'a1', attempts: 1 }]);
    await store.delivered('a1', 9001);
    expect(ids(await store.due(9000, 8, []))).toEqual(['a2']);
    await store.failed('a2', 'gone', null);
    expect([await store.due(1e12, 8, []), await store.nextDueUnixMs()]).toEqual([[], null]);
  });
});

it('SQLite has them after a restart', async () => {
  opened = await sqlite.open();
  const before = new StoredOutbox(opened.database, box);
  await before.add(delivery('a1', 'a'));
  await before.add(delivery('a2', 'a'));
  await before.delivered('a1', 2000);
  await opened.database.close();
  const after = new StoredOutbox(await opened.connect(), box);
  expect(await after.due(5000, 8, [])).toEqual([delivery('a2', 'a')]);
});

it.skipIf(!isPostgresInstalled)(
  'two nodes share what is due, and one takes over what the other does not finish',
  async () => {
    opened = await postgres.open();
    const nodes = [new StoredOutbox(opened.database, box), new StoredOutbox(await opened.connect(), box)];
    for (let at = 0; at < 20; at++) await nodes[0]?.add(delivery(`m${String(at)}`, `s${String(at)}`));
    const taken = await Promise.all(nodes.flatMap((node) => [node.due(2000, 5, []), node.due(2000, 5, [])]));
    expect(new Set(taken.flatMap(ids)).size).toBe(taken.flat().length);
    expect(ids((await nodes[1]?.due(62_001, 100, [])) ?? []).length).toBe(20);
  },
);

it.each(backends)('where messages go is encrypted in $name, and shown without its secrets', async ({ open }) => {
  opened = await open();
  const { database } = opened;
  const secretive = {
    ...delivery('a', 's1'),
    url: 'https://example.com/hook?token=hidden-1',
    headers: { k: 'hidden-2' },
  };
  const store = new StoredOutbox(database, box);
  await store.add(secretive);
  const row = await database.first(sql`SELECT url, headers FROM webhook_deliveries`);
  expect(JSON.stringify(row)).not.toMatch(/hidden|example/);
  expect(await store.due(1000, 8, [])).toEqual([secretive]);
  const deliveries = new DeliveryStore(database, box);
  expect((await deliveries.get('a'))?.url).toBe('https://example.com/hook?token=***');
  const all = { sessionId: null, state: null, before: null, limit: 10 };
  expect(await deliveries.list(all)).toMatchObject([{ id: 'a', state: 'pending' }]);
  expect(await deliveries.list({ ...all, sessionId: 's1', state: 'failed', before: 9 })).toEqual([]);
  await store.failed('a', 'status 410', null);
  expect(await deliveries.list({ ...all, sessionId: 's1', state: 'failed', before: 9 })).toHaveLength(1);
  expect(await deliveries.resend('a', 3000)).toMatchObject({ state: 'pending', attempts: 0, nextUnixMs: 3000 });
});
