import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { KeyStore } from '../../src/store/keys.js';
import { ChangeFeed } from '../../src/store/postgres/change-feed.js';
import type { PostgresDatabase } from '../../src/store/postgres/postgres-database.js';
import { PostgresLiveTables } from '../../src/store/postgres/postgres-live-tables.js';
import { run, sql } from '../../src/store/sql/statement.js';
import { isPostgresInstalled, openPostgres, postgresUrl } from './support/backends.js';
import { TcpProxy } from './support/tcp-proxy.js';

const WITHIN = { timeout: 20_000, interval: 5 };

describe.skipIf(!isPostgresInstalled)('changes of another node', () => {
  let url: string;
  let remove: () => Promise<void>;
  let one: PostgresDatabase;
  let other: PostgresDatabase;
  let proxy: TcpProxy;
  let open: { close: () => Promise<void> }[] = [];
  const faults: Error[] = [];

  beforeAll(async () => {
    ({ url, remove } = await postgresUrl());
    one = await openPostgres(url);
  });

  beforeEach(async () => {
    proxy = await TcpProxy.before(url);
    other = await openPostgres(proxy.url);
    faults.length = 0;
  });

  afterEach(async () => {
    for (const opened of open.toReversed()) await opened.close();
    open = [];
    await other.close();
    await proxy.close();
    await one.run(sql`DELETE FROM keys`);
  });

  afterAll(async () => {
    await one.close();
    await remove();
  });

  const feedOf = async (options: Partial<Parameters<typeof ChangeFeed.open>[0]> = {}): Promise<ChangeFeed> => {
    const onError = (error: Error): void => void faults.push(error);
    const own = { database: other, url: proxy.url, clock: new RealClock(), chance: () => 0.5, onError };
    const feed = await ChangeFeed.open({ ...own, ...options });
    open.push(feed);
    return feed;
  };
  const count = (feed: ChangeFeed, table: Parameters<ChangeFeed['on']>[0]): (() => number) => {
    let times = 0;
    feed.on(table, async () => void times++);
    return () => times;
  };
  const addKey = (id: string): Promise<number> =>
    one.run(sql`INSERT INTO keys (id, kind, name, hash, hint, created_at)
      VALUES (${id}, 'private', 'a', ${new TextEncoder().encode(id)}, 'x', 1)`);

  it('are visible at once by notifications, without a poll', async () => {
    const feed = await feedOf({ clock: new VirtualClock(), database: one, url });
    const keys = await KeyStore.open(one, new PostgresLiveTables(one, feed), () => 0);
    await addKey('a');
    await vi.waitUntil(() => keys.get('a') !== null, WITHIN);
    await one.run(sql`UPDATE keys SET revoked_at = 5 WHERE id = 'a'`);
    await vi.waitUntil(() => keys.get('a') === null, WITHIN);
  });

  it('are visible on the own node when the request is answered', async () => {
    const feed = await feedOf();
    const keys = await KeyStore.open(other, new PostgresLiveTables(other, feed), () => 0);
    const { key, stored } = await keys.create('private', 'mine');
    expect(keys.find(key)?.id).toBe(stored.id);
    expect(await keys.revoke(stored.id)).toBe(true);
    expect(keys.find(key)).toBeNull();
  });

  it('are found within two seconds where notifications are lost', async () => {
    const silent = await TcpProxy.before(url);
    open.push(silent);
    const clock = new VirtualClock();
    const feed = await feedOf({ clock, database: one, url: silent.url });
    const keys = await KeyStore.open(one, new PostgresLiveTables(one, feed), () => 0);
    silent.silence();
    const committedMs = clock.nowMs();
    await addKey('a');
    expect(await clock.runUntil(() => keys.get('a') !== null, committedMs + 2_000)).toBe(true);
  });

  it('are found after the connection was lost, and noticed at once again', async () => {
    const feed = await feedOf();
    const keys = await KeyStore.open(other, new PostgresLiveTables(other, feed), () => 0);
    await addKey('before');
    await vi.waitUntil(() => keys.get('before') !== null, WITHIN);
    proxy.cut();
    await vi.waitUntil(() => faults.length > 0, WITHIN);
    await addKey('meanwhile');
    // What is in memory can be read all the time.
    expect(keys.get('before')).toMatchObject({ id: 'before' });
    expect(keys.list()).toHaveLength(1);
    await vi.waitUntil(() => faults.length >= 2, WITHIN);
    proxy.repair();
    await vi.waitUntil(() => keys.get('meanwhile') !== null, WITHIN);
    await addKey('after');
    await vi.waitUntil(() => keys.get('after') !== null, WITHIN);
    // One report for the connection, one for the database, however often they were tried.
    expect(faults).toHaveLength(2);
  });

  it('are told by table, once for a transaction', async () => {
    const feed = await feedOf();
    const [campaigns, phones] = [count(feed, 'campaigns'), count(feed, 'phones')];
    await one.transaction(function* () {
      for (const id of ['a', 'b', 'c']) {
        yield* run(sql`INSERT INTO campaigns (id, name, status, include_metadata_in_prompt, overrides, created_at)
          VALUES (${id}, 'a', 'idle', 0, '{}', 1)`);
      }
    });
    await vi.waitUntil(() => campaigns() === 1, WITHIN);
    await one.run(sql`UPDATE campaigns SET last_call_ms = 5`);
    await one.run(sql`UPDATE campaigns SET status = 'started' WHERE id = 'a'`);
    await vi.waitUntil(() => campaigns() === 2, WITHIN);
    await feed.check();
    expect([campaigns(), phones()]).toEqual([2, 0]);
    expect(await one.all(sql`SELECT version FROM changes WHERE name = 'campaigns'`)).toEqual([{ version: 2 }]);
  });

  it('are told again to a listener that failed', async () => {
    const clock = new VirtualClock();
    const feed = await feedOf({ clock, database: one, url });
    let calls = 0;
    feed.on('keys', async () => {
      calls++;
      if (calls === 1) throw new Error('not now');
    });
    const others = count(feed, 'phones');
    await addKey('a');
    await vi.waitUntil(() => calls === 1, WITHIN);
    expect(await clock.runUntil(() => calls === 2, 2_000)).toBe(true);
    await feed.check();
    expect([calls, others()]).toEqual([2, 0]);
    expect(faults.map(({ message }) => message)).toEqual(['not now']);
  });

  it('are seen by transactions that do not wait for each other before their commits', async () => {
    const feed = await feedOf();
    const times = count(feed, 'keys');
    await addKey('a');
    await addKey('b');
    // Both change the table, and each has changed its row before either is committed.
    const change = (id: string): Promise<number> =>
      one.transaction(function* () {
        const changed = yield* run(sql`UPDATE keys SET name = 'b' WHERE id = ${id}`);
        yield* run(sql`SELECT pg_sleep(0.05)`);
        return changed;
      });
    expect(await Promise.all([change('a'), change('b')])).toEqual([1, 1]);
    await vi.waitUntil(() => times() >= 2, WITHIN);
  });

  it('can be closed twice, also while it connects', async () => {
    const feed = await feedOf();
    proxy.cut();
    await Promise.all([feed.close(), feed.close()]);
  });
});
