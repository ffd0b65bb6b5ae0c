import { afterEach, describe, expect, it } from 'vitest';
import type { Memory } from '../../src/session/after-call/memory.js';
import { StoredMemories } from '../../src/store/memory.js';
import { backends, type TestDatabase } from './support/backends.js';

const DAY_MS = 86_400_000;

describe.each(backends)('memories in $name', ({ open }) => {
  let opened: TestDatabase;
  afterEach(() => opened.remove());

  async function store(): Promise<{ store: StoredMemories; setDay: (day: number) => void }> {
    opened = await open();
    let day = 0;
    const memories = new StoredMemories({
      database: opened.database,
      retentionDays: 30,
      nowUnixMs: () => day * DAY_MS,
    });
    return { store: memories, setDay: (now) => (day = now) };
  }

  it('recalls the latest of a user with an agent', async () => {
    const { store: memories } = await store();
    for (const it of [memory('1', 0), memory('2', 1), memory('3', 2), memory('4', 3, { agentId: 'b' })])
      await memories.keep(it);
    await memories.keep(memory('5', 4, { user: 'other' }));
    await memories.keep(memory('2', 1, { text: 'again' }));
    expect(await memories.recall('a', '+1202', 2)).toEqual([memory('3', 2), memory('2', 1, { text: 'again' })]);
    expect((await memories.list({ user: '+1202' })).map(({ sessionId }) => sessionId)).toEqual(['4', '3', '2', '1']);
    expect(await memories.list({ agentId: 'a' })).toHaveLength(4);
    expect(await memories.list({})).toHaveLength(5);
  });

  it('erases what is of a user, of one agent or of all', async () => {
    const { store: memories } = await store();
    for (const it of [memory('1', 0), memory('2', 0, { agentId: 'b' }), memory('3', 0, { user: 'other' })])
      await memories.keep(it);
    expect(await memories.erase({ user: '+1202', agentId: 'a' })).toBe(1);
    expect(await memories.erase({ user: '+1202' })).toBe(1);
    expect(await memories.erase({ user: '+1202' })).toBe(0);
    expect((await memories.list({})).map(({ user }) => user)).toEqual(['other']);
  });

  it('gives what is too old to nobody, and purges it', async () => {
    const { store: memories, setDay } = await store();
    await memories.keep(memory('old', 1));
    await memories.keep(memory('new', 20));
    setDay(31);
    expect((await memories.recall('a', '+1202', 9)).map(({ sessionId }) => sessionId)).toEqual(['new']);
    expect(await memories.list({})).toHaveLength(1);
    expect([await memories.purge(), await memories.purge()]).toEqual([1, 0]);
  });
});

function memory(sessionId: string, day: number, more: Partial<Memory> = {}): Memory {
  return { agentId: 'a', user: '+1202', sessionId, text: `of ${sessionId}`, unixMs: day * DAY_MS, ...more };
}
