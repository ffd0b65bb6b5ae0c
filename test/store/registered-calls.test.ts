import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RegisteredCallStore, type StoredRegistration } from '../../src/store/registered-calls.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { sql } from '../../src/store/sql/statement.js';
import { backends, type TestDatabase } from './support/backends.js';

describe.each(backends)('registered calls on $name', (backend) => {
  let test: TestDatabase;
  let nowMs = 0;
  let store: RegisteredCallStore<{ secret: string }>;
  beforeEach(async () => {
    nowMs = 1_000;
    test = await backend.open(() => nowMs);
    store = new RegisteredCallStore(test.database, new SecretBox(Buffer.alloc(32, 1)));
  });
  afterEach(() => test.remove());

  const call = (id: string): StoredRegistration<{ secret: string }> => ({
    callId: `call-${id}`,
    sessionId: `session-${id}`,
    way: 'talk',
    call: { secret: 'hush' },
  });
  const add = (id: string, most = 10): Promise<boolean> =>
    test.database.transaction(() => store.add(call(id), { lifeMs: 300_000, most }));
  const take = (id: string, way: 'talk' | 'phone' = 'talk'): Promise<unknown> =>
    test.database.transaction(() => store.take(`call-${id}`, way));

  it('are taken once, by one of those who ask at the same time', async () => {
    await add('a');
    expect(await take('a', 'phone')).toBeNull();
    const all = await Promise.all([take('a'), take('a'), take('a')]);
    expect(all.filter((taken) => taken !== null)).toEqual([call('a')]);
    expect(await take('b')).toBeNull();
  });

  it('are encrypted', async () => {
    await add('a');
    const row = await test.database.first<{ text: string }>(sql`SELECT registration AS text FROM registered_calls`);
    expect(row?.text).toMatch(/^v1\.[0-9a-f]{8}\./);
  });

  it('expire, once', async () => {
    await add('a');
    nowMs += 100_000;
    await add('b');
    nowMs += 200_000;
    expect(await take('a')).toBeNull();
    const expired = await Promise.all([1, 2].map(() => test.database.transaction(() => store.removeExpired())));
    expect(expired.flat()).toEqual(['session-a']);
    expect(await take('b')).toEqual(call('b'));
  });

  it('are removed by session, or all of them', async () => {
    for (const id of ['a', 'b', 'c']) await add(id);
    const remove = (): Promise<boolean> => test.database.transaction(() => store.remove('session-a'));
    expect([await remove(), await remove()]).toEqual([true, false]);
    expect([...(await test.database.transaction(() => store.removeAll()))].sort()).toEqual(['session-b', 'session-c']);
  });

  it('are limited', async () => {
    expect([await add('a', 2), await add('b', 2), await add('c', 2)]).toEqual([true, true, false]);
    await take('a');
    expect(await add('c', 2)).toBe(true);
  });
});
