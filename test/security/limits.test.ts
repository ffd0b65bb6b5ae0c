/** Limits of calls, sessions, chats and spending hold to the call where 200 requests come at once. */
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { type Answer, Callers } from '../daemon/callers.js';
import { type Client, PRIVATE_KEY } from '../daemon/house.js';

const COUNT = 200;
/** Rings for ever. */
const NOBODY_HOME = '+12025550108';

let callers: Callers;
afterEach(async () => {
  await callers.close();
  expect(callers.house.faults).toEqual([]);
});

const times = <T>(make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: COUNT }, (_each, n) => make(n)));

/** How many were taken; the others were refused with 429 or 503. */
function taken(answers: readonly Answer[]): number {
  const statuses = new Set(answers.map(({ status }) => status));
  expect([...statuses].filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  return answers.filter(({ status }) => status === 200).length;
}

async function used(): Promise<Record<string, { used: number; limit: number }>> {
  const { body } = await callers.ask('GET', '/calls/guards');
  return body as Record<string, { used: number; limit: number }>;
}

describe('200 calls that are asked for at once', () => {
  it.each([
    ['at once', { concurrent: 7 }, 7],
    ['a minute', { perMinute: 7 }, 7],
    ['to one number a minute', { perDestinationPerMinute: 7 }, 7],
    ['to one number a day', { perDestinationPerDay: 7 }, 7],
    // Each reserves as long as it may last.
    ['for so many minutes a day', { minutesPerDay: 15, maxDurationS: 120 }, 7],
  ])('are taken as far as may be placed %s', async (_what, guards, allowed) => {
    callers = await Callers.open({ ringS: 180, ...guards });
    expect(taken(await times(() => callers.start(NOBODY_HOME)))).toBe(allowed);
    expect((await used())['concurrent']).toMatchObject({ used: allowed });
    expect(taken([await callers.start(NOBODY_HOME)])).toBe(0);
  });

  it('are one call where they have one idempotency key', async () => {
    callers = await Callers.open({ ringS: 180 });
    const answers = await times(() => callers.start(NOBODY_HOME, {}, { 'idempotency-key': 'one' }));
    expect(new Set(answers.map(({ body }) => body['call_id'])).size).toBe(1);
    expect((await used())['concurrent']).toMatchObject({ used: 1 });
  });

  it('are taken as far as there is room for sessions', async () => {
    callers = await Callers.open({ ringS: 180 }, { limits: { ...DEFAULT_SETTINGS.limits, sessions: 5 } });
    expect(taken(await times(() => callers.start(NOBODY_HOME)))).toBe(5);
  });

  it('are all refused from the moment that calls are stopped', async () => {
    callers = await Callers.open({ ringS: 180 });
    const [stopped, ...answers] = await Promise.all([
      callers.ask('POST', '/calls/stop', {}),
      ...Array.from({ length: COUNT }, () => callers.start(NOBODY_HOME)),
    ]);
    expect(stopped.status).toBe(200);
    for (const { status } of answers) expect([200, 409, 429, 503]).toContain(status);
    expect((await callers.start(NOBODY_HOME)).status).not.toBe(200);
  });
});

describe('200 sessions that are asked for at once', () => {
  it('are as many as there is room for, over the talk socket', async () => {
    const limits = { ...DEFAULT_SETTINGS.limits, sessions: 5, socketsPerAddress: 1_000, requestsPerMinute: 1e5 };
    callers = await Callers.open({}, { limits });
    const { house } = callers;
    let most = 0;
    const begin = async (client: Client): Promise<string> => {
      await client.initiate();
      const { method } = await client.inbox.find((message) =>
        ['onready', 'onerror'].includes(String(message['method'])),
      );
      most = Math.max(most, house.engine.sessions.size);
      return String(method);
    };
    const methods = await times(() => begin(house.connect()));
    expect(methods.filter((method) => method === 'onready')).toHaveLength(5);
    expect(most).toBe(5);
  });

  it('are as many chats as there is room for', async () => {
    callers = await Callers.open({}, { limits: { ...DEFAULT_SETTINGS.limits, sessions: 5, requestsPerMinute: 1e5 } });
    let running = 0;
    let most = 0;
    const statuses = await times(async () => {
      const response = await callers.house.request('/chat/completions', {
        method: 'POST',
        headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ agent: { agent_id: 'baker' }, messages: [{ role: 'user', content: 'Bread?' }] }),
      });
      if (response.status === 200) most = Math.max(most, ++running);
      await response.text();
      if (response.status === 200) running--;
      return response.status;
    });
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
    expect(most).toBeLessThanOrEqual(5);
  });

  it('mint as many tokens as the rate allows, and each token opens one session', async () => {
    const limits = { ...DEFAULT_SETTINGS.limits, sessions: 50, socketsPerAddress: 1_000, requestsPerMinute: 1e5 };
    callers = await Callers.open({}, { limits });
    const { house } = callers;
    const { token } = await house.token();
    const methods = await times(async () => {
      const client = house.connect();
      await client.initiate({ public_key: token });
      const found = await client.inbox.find(({ method }) => ['onready', 'onerror'].includes(String(method)));
      return String(found['method']);
    });
    expect(methods.filter((method) => method === 'onready')).toHaveLength(1);
  });
});
