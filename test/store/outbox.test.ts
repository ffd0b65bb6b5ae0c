import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { DeliveryStore } from '../../src/store/deliveries.js';
import { SqliteOutboxStore } from '../../src/store/outbox.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { type Delivery, type OutboxStore, MemoryOutboxStore } from '../../src/tools/outbox.js';

let folder: string;
let closes: (() => void)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-outbox-'));
  closes = [];
});
afterEach(() => {
  for (const close of closes) close();
  rmSync(folder, { recursive: true });
});

function sqlite(): OutboxStore {
  const database = openDatabase(folder);
  closes.push(() => database.close());
  return new SqliteOutboxStore(database, new SecretBox(Buffer.alloc(32)));
}

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

describe.each([
  ['in memory', (): OutboxStore => new MemoryOutboxStore()],
  ['in SQLite', sqlite],
])('messages that are kept %s', (_name, open) => {
  it('come whole, the oldest of each session first', () => {
    const store = open();
    expect(store.nextDueUnixMs()).toBeNull();
    store.add(delivery('a1', 'a', 1000));
    store.add(delivery('a2', 'a', 1001));
    store.add(delivery('b1', 'b', 1002));
    expect(store.due(2000)).toEqual([delivery('a1', 'a', 1000), delivery('b1', 'b', 1002)]);
    expect(ids(store.due(1000))).toEqual(['a1']);
    expect(store.nextDueUnixMs()).toBe(1000);
  });

  it('that failed wait, and what comes after them in their session with them', () => {
    const store = open();
    store.add(delivery('a1', 'a'));
    store.add(delivery('a2', 'a'));
    store.failed('a1', 'status 500', 9000);
    expect(store.due(8999)).toEqual([]);
    expect(store.nextDueUnixMs()).toBe(9000);
    expect(store.due(9000)).toMatchObject([{ id: 'a1', attempts: 1 }]);
    store.delivered('a1', 9001);
    expect(ids(store.due(9000))).toEqual(['a2']);
    store.failed('a2', 'gone', null);
    expect([store.due(1e12), store.nextDueUnixMs()]).toEqual([[], null]);
  });
});

it('SQLite has them after a restart', () => {
  const before = sqlite();
  before.add(delivery('a1', 'a'));
  before.add(delivery('a2', 'a'));
  before.delivered('a1', 2000);
  for (const close of closes.splice(0)) close();
  expect(sqlite().due(5000)).toEqual([delivery('a2', 'a')]);
});

it('where messages go is encrypted on the disk, and shown without its secrets', () => {
  const database = openDatabase(folder);
  closes.push(() => database.close());
  const box = new SecretBox(Buffer.alloc(32));
  const secretive = {
    ...delivery('a', 's1'),
    url: 'https://example.com/hook?token=hidden-1',
    headers: { k: 'hidden-2' },
  };
  const store = new SqliteOutboxStore(database, box);
  store.add(secretive);
  const row = database.prepare('SELECT url, headers FROM webhook_deliveries').get();
  expect(JSON.stringify(row)).not.toMatch(/hidden|example/);
  expect(store.due(1000)).toEqual([secretive]);
  expect(new DeliveryStore(database, box).get('a')?.url).toBe('https://example.com/hook?token=***');
});
