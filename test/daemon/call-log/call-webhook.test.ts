import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs } from '../../../src/base/real-clock.js';
import { httpServer, type LocalServer } from '../../net/local-server.js';
import { Callers } from '../callers.js';

const ANN = '+12025550101';
const BUSY = '+12025550107';
const SECRET = `whsec_${Buffer.from('a key of twenty-four byte').toString('base64')}`;

interface Message {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

let server: LocalServer;
let callers: Callers;
let messages: Message[];
let ids: string[];
let status: number;
let waiting: (() => void)[];

beforeEach(async () => {
  messages = [];
  ids = [];
  status = 204;
  waiting = [];
  server = await httpServer((request, response, body) => {
    const headers = request.headers as Record<string, string>;
    messages.push(new Webhook(SECRET).verify(body, headers) as Message);
    ids.push(headers['webhook-id'] ?? '');
    expect(headers['x-tenant']).toBe('7');
    response.writeHead(status).end();
    for (const resolve of waiting.splice(0)) resolve();
  });
});

afterEach(async () => {
  await callers.close();
  await server.close();
});

const open = async (): Promise<void> => {
  callers = await Callers.open(
    {},
    { webhookSecret: SECRET, callWebhook: { url: `${server.origin}/calls?x=1`, headers: { 'x-tenant': '7' } } },
  );
  await callers.house.daemon.warmUp();
};

async function reported(times: number): Promise<void> {
  while (messages.length < times) await new Promise<void>((resolve) => waiting.push(resolve));
}

/** Messages of a session, once none of them waits for its reply any more. */
async function deliveries(query: string): Promise<Record<string, unknown>[]> {
  for (;;) {
    const { body } = await callers.ask('GET', `/webhooks/deliveries?${query}`);
    const found = body['deliveries'] as Record<string, unknown>[];
    if (found.length > 0 && found.every(({ state, attempts }) => state !== 'pending' || attempts !== 0)) return found;
  }
}

describe('the webhook of calls', { timeout: 30_000 }, () => {
  it('reports that a call starts and ends, in this order and signed', async () => {
    await open();
    const { session_id: id, call_id: callId } = await callers.started(ANN, { metadata: { order: 7 } });
    await callers.until(id, 'in-progress');
    await callers.ask('POST', `/sessions/${id}/terminate`);
    await reported(2);
    expect(messages.map(({ type }) => type)).toEqual(['call.started', 'call.ended']);
    const [started, ended] = messages;
    expect(started?.data).toMatchObject({ session_id: id, call_id: callId, call_status: 'in-progress' });
    expect(ended?.data).toMatchObject({ session_id: id, call_status: 'api-ended', metadata: { order: 7 } });
    expect(Date.parse(started?.timestamp ?? '')).toBeGreaterThan(nowUnixMs() - 60_000);
    expect(await deliveries(`session_id=${id}`)).toMatchObject([
      { id: ids[1], session_id: id, state: 'delivered', attempts: 1, error: null, next_attempt_at: null },
      { id: ids[0], state: 'delivered' },
    ]);
  });

  it('reports of an unanswered call only that it is over', async () => {
    await open();
    const { session_id: id } = await callers.started(BUSY);
    await reported(1);
    expect(messages).toMatchObject([{ type: 'call.ended', data: { session_id: id, call_status: 'busy' } }]);
  });

  it('is tried again later, also after a restart, and when somebody asks for it', async () => {
    await open();
    status = 500;
    const { session_id: id } = await callers.started(BUSY);
    await reported(1);
    const [failed] = await deliveries(`session_id=${id}`);
    expect(failed).toMatchObject({ state: 'pending', attempts: 1, error: 'it answered with status 500' });
    expect(failed?.['next_attempt_at']).toBeGreaterThan(nowUnixMs() / 1000);
    await callers.reopen();
    status = 204;
    await callers.house.daemon.warmUp();
    const resent = await callers.ask('POST', `/webhooks/deliveries/${ids[0] ?? ''}/resend`);
    expect(resent).toMatchObject({ status: 200, body: { id: ids[0], state: 'pending', attempts: 0 } });
    await reported(2);
    expect(ids[1]).toBe(ids[0]);
    expect(await deliveries('state=delivered')).toMatchObject([{ id: ids[0], attempts: 1 }]);
    await callers.ask('POST', `/webhooks/deliveries/${ids[0] ?? ''}/resend`);
    await reported(3);
    expect((await callers.ask('POST', '/webhooks/deliveries/msg_0/resend')).status).toBe(404);
  });

  it('reports nothing where there is none', async () => {
    callers = await Callers.open();
    const { session_id: id } = await callers.started(BUSY);
    await callers.statuses(id);
    expect(messages).toEqual([]);
    expect((await callers.ask('GET', '/webhooks/deliveries')).body).toEqual({ deliveries: [], next_cursor: 0 });
  });
});

describe('GET /webhooks/deliveries', { timeout: 30_000 }, () => {
  it('is read page by page', async () => {
    await open();
    const started = [await callers.started(BUSY), await callers.started(BUSY), await callers.started(BUSY)];
    await reported(3);
    const seen: unknown[] = [];
    let cursor = 0;
    do {
      const { body } = await callers.ask('GET', `/webhooks/deliveries?limit=2&cursor=${String(cursor)}`);
      seen.push(...(body['deliveries'] as { session_id: string }[]).map(({ session_id: id }) => id));
      cursor = Number(body['next_cursor']);
    } while (cursor !== 0);
    expect(new Set(seen)).toEqual(new Set(started.map(({ session_id: id }) => id)));
    expect(seen).toHaveLength(3);
    for (const query of ['limit=0', 'limit=x', 'state=lost', 'nonsense=1']) {
      expect((await callers.ask('GET', `/webhooks/deliveries?${query}`)).status).toBe(422);
    }
  });
});
