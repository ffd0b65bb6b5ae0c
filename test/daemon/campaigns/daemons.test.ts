import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { isPostgresInstalled, postgresUrl } from '../../store/support/backends.js';
import { Callers } from '../callers.js';
import { House, PRIVATE_KEY } from '../house.js';

/** Numbers that nobody has: calls to them fail at once. */
const PEOPLE = Array.from({ length: 12 }, (_, index) => `+1415555${String(2000 + index)}`);
const ALWAYS = { start: '00:00', end: '24:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] };
const WITHIN = { timeout: 20_000, interval: 20 };

describe.skipIf(!isPostgresInstalled)('campaigns of two daemons on one database', () => {
  let remove: () => Promise<void>;
  let callers: Callers;
  let other: House;

  beforeEach(async () => {
    const { url, remove: drop } = await postgresUrl();
    remove = drop;
    const [secretKey, signingKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
    const shared = { databaseUrl: url, secretKey, signingKey };
    const calls = { ...DEFAULT_SETTINGS.calls, concurrent: 100, perMinute: 10_000 };
    callers = await Callers.open(calls, shared);
    other = await House.open({ ...shared, calls, limits: { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 1e5 } });
    await Promise.all([callers.house.daemon.warmUp(), other.daemon.warmUp()]);
  });
  afterEach(async () => {
    await other.close();
    await callers.close();
    await remove();
    expect([...callers.house.faults, ...other.faults]).toEqual([]);
  });

  /** A campaign of all people. Returns its path. */
  const campaign = async (perMinute: number): Promise<string> => {
    const { body } = await callers.ask('POST', '/campaigns', { name: 'Autumn' });
    const path = `/campaigns/${String(body['id'])}`;
    const schedule = { calling_hours: ALWAYS, calls_per_minute: perMinute, max_concurrent_calls: 4 };
    await callers.ask('POST', `${path}/schedule`, { ...schedule, retries: { failed: [] } });
    await callers.ask('POST', `${path}/set_caller`, { phone: callers.ours });
    const records = PEOPLE.map((phone) => ({ phone }));
    expect((await callers.ask('POST', `${path}/records`, records)).body).toEqual({ success: true });
    return path;
  };
  const toOther = async (method: string, path: string): Promise<Record<string, unknown>> => {
    const response = await other.request(path, { method, headers: { authorization: PRIVATE_KEY } });
    return (await response.json()) as Record<string, unknown>;
  };

  it('call everybody once, and tell of it on both', async () => {
    const path = await campaign(1200);
    expect(await toOther('POST', `${path}/start`)).toMatchObject({ status: 'started' });
    let last: Record<string, unknown> = {};
    for await (const { data } of callers.events(`${path}/progress`)) last = data;
    expect(last).toMatchObject({ status: 'finished', total: PEOPLE.length, failed: PEOPLE.length, calls: 0 });
    const log = await toOther('GET', `/call-logs?campaign_id=${path.split('/').at(-1) ?? ''}&limit=100`);
    const called = (log['histories'] as { voip: { to: string } }[]).map(({ voip }) => voip.to);
    expect(called.toSorted()).toEqual(PEOPLE);
  }, 60_000);

  it('are stopped on both by either', async () => {
    const path = await campaign(60);
    await callers.ask('POST', `${path}/start`);
    const tried = async (): Promise<number> => {
      const { records } = await toOther('GET', `${path}/records`);
      return (records as { attempts: number }[]).filter(({ attempts }) => attempts > 0).length;
    };
    await vi.waitUntil(async () => (await tried()) > 1, WITHIN);
    expect(await toOther('POST', `${path}/stop`)).toMatchObject({ status: 'paused' });
    const before = await tried();
    expect(before).toBeLessThan(PEOPLE.length);
    // A campaign that runs would finish.
    await callers.ask('POST', `${path}/schedule`, { calls_per_minute: 60_000 });
    await callers.ask('PUT', `${path}/info`, { name: 'Winter' });
    expect(await tried()).toBe(before);
    expect((await callers.ask('GET', `${path}/info`)).body).toMatchObject({ status: 'paused', name: 'Winter' });
  }, 60_000);
});
