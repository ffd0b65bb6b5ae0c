import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { KillSwitch } from '../../../src/daemon/calls/kill-switch.js';
import { DEFAULT_CALL_GUARDS } from '../../../src/settings/setting-groups.js';
import { DIALS_LOCK, DialStore } from '../../../src/store/dials.js';
import { ChangeFeed } from '../../../src/store/postgres/change-feed.js';
import type { SqlDatabase } from '../../../src/store/sql/statement.js';
import { isPostgresInstalled, openPostgres, postgresUrl } from '../../store/support/backends.js';

const WITHIN = { timeout: 20_000, interval: 5 };

describe.skipIf(!isPostgresInstalled)('the kill switch on several nodes', () => {
  let url: string;
  let remove: () => Promise<void>;
  let database: SqlDatabase;
  let feed: ChangeFeed;

  beforeEach(async () => {
    ({ url, remove } = await postgresUrl());
    database = await openPostgres(url);
    const onError = (error: Error): void => expect.fail(error.message);
    feed = await ChangeFeed.open({ database, url, onError, clock: new RealClock(), chance: () => 0.5 });
  });
  afterEach(async () => {
    await feed.close();
    await database.close();
    await remove();
  });

  const reserve = (dials: DialStore, sessionId: string): Promise<unknown> =>
    database.transaction(
      () =>
        dials.reserve(
          { sessionId, callId: sessionId, to: '+12025550101', maxDurationS: 60, idempotency: null },
          { ...DEFAULT_CALL_GUARDS, perDestinationPerMinute: 100, perDestinationPerDay: 100 },
        ),
      DIALS_LOCK,
    );

  it('stops calls on all, and ends those in progress where that is wanted, each time', async () => {
    const [one, other] = [new DialStore(database, { id: 'one' }), new DialStore(database, { id: 'other' })];
    const endCalls = vi.fn<() => void>();
    const killSwitch = new KillSwitch({ dials: other, changes: feed, endCalls });
    await reserve(one, 'a');
    await reserve(other, 'b');
    await reserve(other, 'c');
    expect(await one.stop('k1')).toBe(2);
    await expect(reserve(other, 'd')).rejects.toMatchObject({ code: 'CALLS_STOPPED' });
    await feed.check();
    expect(endCalls).not.toHaveBeenCalled();
    expect(await one.stop('k2', { endRunning: true })).toBe(2);
    await vi.waitUntil(() => endCalls.mock.calls.length === 1, WITHIN);
    await one.stop('k2'); // does not end them again
    await feed.check();
    expect(endCalls).toHaveBeenCalledTimes(1);
    expect(await other.stopped()).toMatchObject({ by: 'k1' });
    await one.stop('k2', { endRunning: true });
    await vi.waitUntil(() => endCalls.mock.calls.length === 2, WITHIN);
    await one.resume();
    await reserve(other, 'd');
    await one.stop('k2', { endRunning: true });
    await vi.waitUntil(() => endCalls.mock.calls.length === 3, WITHIN);
    killSwitch.close();
    killSwitch.close();
  });
});
