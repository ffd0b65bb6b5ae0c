import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Callers, type Told } from './callers.js';
import { PRIVATE_KEY } from './house.js';

const ANN = '+12025550101';
const BUSY = '+12025550107';

let callers: Callers;

beforeEach(async () => {
  callers = await Callers.open();
});

afterEach(async () => {
  await callers.close();
  expect(callers.house.faults).toEqual([]);
});

/** Events of a stream until one is so. */
async function until(stream: AsyncGenerator<Told>, isIt: (reported: Told) => boolean): Promise<Told[]> {
  const found: Told[] = [];
  for await (const reported of stream) {
    found.push(reported);
    if (isIt(reported)) break;
  }
  return found;
}

const ended = ({ event, data }: Told): boolean => event === 'status' && data['ended'] === true;

describe('GET /events', () => {
  it('tells of all calls as it happens, and goes on where a client was', { timeout: 40_000 }, async () => {
    const all = until(callers.events('/events'), ended);
    const { session_id: id } = await callers.started(BUSY);
    const seen = await all;
    expect(seen.map(({ data }) => data['call_status'])).toEqual([
      'registered',
      'queued',
      'dispatching',
      'initiated',
      'busy',
    ]);
    expect(seen[0]?.data).toMatchObject({ session_id: id, to: BUSY, agent_id: 'baker', direction: 'outbound' });
    const ids = seen.map((reported) => reported.id ?? 0);
    expect(ids).toEqual(ids.map((_, at) => (ids[0] ?? 0) + at));
    const again = await until(callers.events('/events', { 'last-event-id': String(ids[1]) }), ended);
    expect(again).toEqual(seen.slice(2));
    const [gap] = await until(callers.events('/events', { 'last-event-id': '1' }), () => true);
    expect(gap?.event).toBe('gap');
    for (const last of ['x', '-1', '99999999999999999']) {
      expect((await callers.ask('GET', '/events', undefined, { 'last-event-id': last })).status).toBe(422);
    }
  });

  it('needs a private key, and there is an end to how many watch', async () => {
    expect((await callers.house.request('/events')).status).toBe(401);
    const leave = new AbortController();
    const headers = { authorization: PRIVATE_KEY };
    const watching = Array.from({ length: 100 }, () =>
      callers.house.request('/events', { headers, signal: leave.signal }),
    );
    await Promise.all(watching);
    expect(await callers.ask('GET', '/events')).toMatchObject({ status: 429, retryAfter: '10' });
    leave.abort();
  });

  it('is closed with the daemon', async () => {
    const stream = await callers.house.request('/events', { headers: { authorization: PRIVATE_KEY } });
    const text = stream.text();
    await callers.reopen();
    expect(await text).not.toContain('event:');
  });
});

describe('GET /calls/{session_id}/events', () => {
  it('tells what both say, how long answers took and how it ended', { timeout: 60_000 }, async () => {
    const { session_id: id } = await callers.started(ANN);
    const seen = await until(callers.events(`/calls/${id}/events`), ({ event }) => event === 'metrics');
    expect(seen.filter(({ event }) => event === 'transcript').map(({ data }) => data)).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ role: 'agent', text: 'Hello.', is_final: true }),
        expect.objectContaining({ role: 'user', is_final: true, session_id: id }),
      ]) as unknown[],
    );
    expect(Object.keys(seen.at(-1)?.data ?? {})).toContain('utterance_latency');
    await callers.ask('POST', `/sessions/${id}/terminate`);
    const rest = await until(
      callers.events(`/calls/${id}/events`, { 'last-event-id': String(seen.at(-1)?.id) }),
      () => false,
    );
    expect(rest.at(-1)?.data).toMatchObject({ call_status: 'api-ended', ended: true });
    expect(rest[0]?.id).toBeGreaterThan(seen.at(-1)?.id ?? 0);
    expect((await callers.ask('GET', '/calls/nobody/events')).status).toBe(404);
  });
});
