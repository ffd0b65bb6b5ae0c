import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DoNotCallList, MemoryDoNotCallList } from '../../src/session/after-call/do-not-call.js';
import { RecentSessions, type SessionMemory } from '../../src/session/after-call/memory.js';
import { DoNotCallStore } from '../../src/store/do-not-call.js';
import { SessionStore } from '../../src/store/sessions.js';
import { backends, type TestDatabase } from './support/backends.js';

function listIsKept(open: () => DoNotCallList): void {
  it('knows a number however it is written', async () => {
    const list = open();
    await list.add({ number: '+1 (202) 555-0101', source: 'model', sessionId: 's1', createdAt: 5 });
    await list.add({ number: '0012025550101', source: 'operator', sessionId: null, createdAt: 9 });
    await list.add({ number: 'sip:Ann@example.com;tag=1', source: 'operator', sessionId: null, createdAt: 9 });
    expect(await list.has('+12025550101')).toBe(true);
    expect(await list.has('sip:ann@example.com')).toBe(true);
    expect(await list.has('+12025550102')).toBe(false);
    expect(await list.list()).toEqual([
      { number: '+12025550101', source: 'model', sessionId: 's1', createdAt: 5 },
      { number: 'sip:ann@example.com', source: 'operator', sessionId: null, createdAt: 9 },
    ]);
    expect([await list.remove('+1.202.555.0101'), await list.remove('+12025550101')]).toEqual([true, false]);
    expect(await list.has('+12025550101')).toBe(false);
  });
}

function sessionsAreKept(open: () => SessionMemory): void {
  const session = (sessionId: string, endedUnixMs: number, agentId: string | null = 'desk') => ({
    sessionId,
    agentId,
    endedUnixMs,
    identifiers: new Map([['customer', '7']]),
    messages: [{ role: 'user' as const, content: sessionId }],
  });

  it('are found by id and by the latest of an identifier, for their own agent only', async () => {
    const memory = open();
    await memory.keep(session('one', 1));
    await memory.keep(session('two', 2));
    await memory.keep(session('none', 3, null));
    expect(await memory.byId('one', 'desk')).toEqual([{ role: 'user', content: 'one' }]);
    expect(await memory.latest('customer', '7', 'desk')).toEqual([{ role: 'user', content: 'two' }]);
    expect(await memory.latest('customer', '7', null)).toEqual([{ role: 'user', content: 'none' }]);
    expect([
      await memory.byId('one', 'other'),
      await memory.byId('x', 'desk'),
      await memory.latest('customer', '8', 'desk'),
    ]).toEqual([null, null, null]);
  });

  it('may be kept again', async () => {
    const memory = open();
    await memory.keep(session('one', 1));
    await memory.keep({ ...session('one', 2), messages: [{ role: 'user', content: 'anew' }] });
    expect(await memory.byId('one', 'desk')).toEqual([{ role: 'user', content: 'anew' }]);
  });
}

describe('a do-not-call list in memory', () => listIsKept(() => new MemoryDoNotCallList()));
describe('sessions that are over, in memory', () => sessionsAreKept(() => new RecentSessions()));

describe.each(backends)('in a database of $name', ({ open }) => {
  let opened: TestDatabase;

  beforeEach(async () => {
    opened = await open();
  });

  afterEach(() => opened.remove());

  describe('a do-not-call list', () => listIsKept(() => new DoNotCallStore(opened.database)));
  describe('sessions that are over', () => sessionsAreKept(() => new SessionStore(opened.database)));

  it('messages are forgotten after 90 days', async () => {
    const memory = new SessionStore(opened.database);
    const kept = { agentId: null, identifiers: new Map<string, string>(), messages: [] };
    await memory.keep({ ...kept, sessionId: 'old', endedUnixMs: 0 });
    await memory.keep({ ...kept, sessionId: 'new', endedUnixMs: 91 * 86_400_000 });
    expect([await memory.byId('old', null), await memory.byId('new', null)]).toEqual([null, []]);
  });
});
