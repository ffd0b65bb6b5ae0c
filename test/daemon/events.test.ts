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

  it.each(['/events', '/calls/live/events'])('needs a private key, and not too many watch: %s', async (path) => {
    expect((await callers.house.request(path)).status).toBe(401);
    const leave = new AbortController();
    const init = { headers: { authorization: PRIVATE_KEY }, signal: leave.signal };
    await Promise.all(Array.from({ length: 100 }, () => callers.house.request(path, init)));
    expect(await callers.ask('GET', path)).toMatchObject({ status: 429, retryAfter: '10' });
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
    const live = until(callers.events('/calls/live/events'), ({ event }) => event === 'ended');
    const { session_id: id } = await callers.started(ANN);
    const seen = await until(callers.events(`/calls/${id}/events`), ({ event }) => event === 'metrics');
    expect(seen.filter(({ event }) => event === 'transcript').map(({ data }) => data)).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ role: 'agent', text: 'Hello.', is_final: true }),
        expect.objectContaining({ role: 'user', is_final: true, session_id: id }),
      ]) as unknown[],
    );
    expect(Object.keys(seen.at(-1)?.data ?? {})).toContain('utterance_latency');
    const { body } = await callers.ask('GET', '/calls/live');
    const said = expect.any(String) as string;
    expect(body).toMatchObject({
      calls: [{ session_id: id, call_status: 'in-progress', to: ANN, live: { user_said: said, agent_said: said } }],
    });
    await callers.ask('POST', `/sessions/${id}/terminate`);
    const changes = await live;
    expect(changes[0]).toMatchObject({ event: 'calls', data: { calls: [] } });
    expect(changes.at(-1)).toMatchObject({ event: 'ended', data: { session_id: id } });
    const states = changes.flatMap(({ data }) => (data['live'] as { state: string } | undefined)?.state ?? []);
    expect(states).toEqual(expect.arrayContaining(['ringing', 'user_speaking', 'agent_speaking']));
    expect((await callers.ask('GET', '/calls/live')).body).toEqual({ calls: [] });
    const rest = await until(
      callers.events(`/calls/${id}/events`, { 'last-event-id': String(seen.at(-1)?.id) }),
      () => false,
    );
    expect(rest.at(-1)?.data).toMatchObject({ call_status: 'api-ended', ended: true });
    expect(rest[0]?.id).toBeGreaterThan(seen.at(-1)?.id ?? 0);
    expect((await callers.ask('GET', '/calls/nobody/events')).status).toBe(404);
  });
});
