import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Memory } from '../../src/session/after-call/memory.js';
import { openDatabase } from '../../src/store/database.js';
import { SqliteMemories } from '../../src/store/memory.js';

const DAY_MS = 86_400_000;
const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const undo of cleanUp.splice(0)) undo();
});

function open(): { store: SqliteMemories; setDay: (day: number) => void } {
  const folder = mkdtempSync(join(tmpdir(), 'parley-memory-'));
  const database = openDatabase(folder);
  cleanUp.push(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  let day = 0;
  const store = new SqliteMemories({ database, retentionDays: 30, nowUnixMs: () => day * DAY_MS });
  return { store, setDay: (now) => (day = now) };
}

function memory(sessionId: string, day: number, more: Partial<Memory> = {}): Memory {
  return { agentId: 'a', user: '+1202', sessionId, text: `of ${sessionId}`, unixMs: day * DAY_MS, ...more };
}

it('recalls the latest of a user with an agent', async () => {
  const { store } = open();
  for (const it of [memory('1', 0), memory('2', 1), memory('3', 2), memory('4', 3, { agentId: 'b' })])
    await store.keep(it);
  await store.keep(memory('5', 4, { user: 'other' }));
  await store.keep(memory('2', 1, { text: 'again' }));
  expect(await store.recall('a', '+1202', 2)).toEqual([memory('3', 2), memory('2', 1, { text: 'again' })]);
  expect(store.list({ user: '+1202' }).map(({ sessionId }) => sessionId)).toEqual(['4', '3', '2', '1']);
  expect(store.list({ agentId: 'a' })).toHaveLength(4);
  expect(store.list({})).toHaveLength(5);
});

it('erases what is of a user, of one agent or of all', async () => {
  const { store } = open();
  for (const it of [memory('1', 0), memory('2', 0, { agentId: 'b' }), memory('3', 0, { user: 'other' })])
    await store.keep(it);
  expect(store.erase({ user: '+1202', agentId: 'a' })).toBe(1);
  expect(store.erase({ user: '+1202' })).toBe(1);
  expect(store.erase({ user: '+1202' })).toBe(0);
  expect(store.list({}).map(({ user }) => user)).toEqual(['other']);
});

it('gives what is too old to nobody, and purges it', async () => {
  const { store, setDay } = open();
  await store.keep(memory('old', 1));
  await store.keep(memory('new', 20));
  setDay(31);
  expect((await store.recall('a', '+1202', 9)).map(({ sessionId }) => sessionId)).toEqual(['new']);
  expect(store.list({})).toHaveLength(1);
  expect([store.purge(), store.purge()]).toEqual([1, 0]);
});
