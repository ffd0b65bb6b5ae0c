import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { RealClock, nowUnixMs } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { GuardedClient } from '../../src/net/guarded-client.js';
import { type Delivery, type OutboxStore, WebhookOutbox, MemoryOutboxStore } from '../../src/tools/outbox.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

const SECRET = `whsec_${Buffer.from('a key of twenty-four byte').toString('base64')}`;
const HOUR_MS = 3_600_000;

interface Seen {
  headers: Record<string, string>;
  body: string;
}

let server: LocalServer;
let client: GuardedClient;
let seen: Seen[];
let status: number | null;
let waiting: (() => void)[];
beforeEach(async () => {
  seen = [];
  status = 200;
  waiting = [];
  server = await httpServer((request, response, body) => {
    seen.push({ headers: request.headers as Record<string, string>, body });
    if (status !== null) response.writeHead(status).end();
    for (const resolve of waiting.splice(0)) resolve();
  });
  client = new GuardedClient({ clock: new RealClock(), allowUrls: [server.origin] });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

/** Resolves when the server has been asked so often. */
async function asked(times: number): Promise<void> {
  while (seen.length < times) await new Promise<void>((resolve) => waiting.push(resolve));
}

interface Made {
  outbox: WebhookOutbox;
  lost: string[];
  clock: VirtualClock;
  /** Lets an attempt that has been answered come to its end, then time pass. */
  pass: (ms: number) => Promise<void>;
}

const START_MS = nowUnixMs();

function make(store: OutboxStore = new MemoryOutboxStore(), secret: string | null = SECRET): Made {
  const clock = new VirtualClock();
  const lost: string[] = [];
  const outbox = new WebhookOutbox({
    store,
    client,
    clock,
    secret,
    nowUnixMs: () => START_MS + clock.nowMs(),
    onLost: ({ sessionId }, reason) => lost.push(`${sessionId}: ${reason}`),
  });
  const pass = async (ms: number): Promise<void> => {
    await settled(clock);
    await clock.advanceBy(ms);
  };
  return { outbox, lost, clock, pass };
}

/** An attempt has ended when the outbox waits for the next, or for nothing. */
async function settled(clock: VirtualClock): Promise<void> {
  for (let turns = 0; turns < 200 && clock.pending === 0; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const to = (path = '/hook'): { url: string; headers: Record<string, string> } => ({
  url: server.origin + path,
  headers: { 'x-key': 'k' },
});

describe('an outbox', () => {
  it('signs what it sends as Standard Webhooks asks for', async () => {
    const { outbox } = make();
    await outbox.send('s-1', to(), '{"a":"ü"}');
    await asked(1);
    await outbox.close();
    const { headers, body } = seen[0] as Seen;
    expect(new Webhook(SECRET).verify(body, headers)).toEqual({ a: 'ü' });
    expect(() => new Webhook(SECRET).verify(`${body} `, headers)).toThrow();
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-key': 'k' });
  });

  it('sends without a signature where there is no secret', async () => {
    const { outbox } = make(new MemoryOutboxStore(), null);
    await outbox.send('s-1', to(), '{}');
    await asked(1);
    await outbox.close();
    expect(
      Object.keys(seen[0]?.headers ?? {})
        .filter((name) => name.startsWith('webhook-'))
        .sort(),
    ).toEqual(['webhook-id', 'webhook-timestamp']);
  });

  it('tries again with the same id, ever less often, and gives up after a day', async () => {
    status = 500;
    const { outbox, lost, clock, pass } = make();
    await outbox.send('s-1', to(), '{}');
    await asked(1);
    await pass(4_999);
    expect(seen).toHaveLength(1);
    await pass(1);
    await asked(2);
    for (let times = 2; lost.length === 0; times++) {
      await settled(clock);
      if (clock.pending === 0) break;
      const before = clock.nowMs();
      await clock.runUntil(() => seen.length > times || clock.nowMs() > before + 12 * HOUR_MS, before + 12 * HOUR_MS);
      await asked(times + 1);
      for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(lost).toEqual(['s-1: it answered with status 500']);
    expect(seen).toHaveLength(11);
    expect(clock.nowMs() / HOUR_MS).toBeGreaterThan(24);
    expect(clock.nowMs() / HOUR_MS).toBeLessThan(28);
    expect(new Set(seen.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await outbox.close();
    expect(clock.pending).toBe(0);
  });

  it('keeps the order of one session, and does not let it wait for another', async () => {
    status = 503;
    const { outbox, pass } = make();
    await outbox.send('s-1', to(), '"first"');
    await asked(1);
    await outbox.send('s-1', to(), '"second"');
    await outbox.send('s-2', to(), '"other"');
    await asked(2);
    expect(seen.map(({ body }) => body)).toEqual(['"first"', '"other"']);
    status = 200;
    await pass(5_000);
    await asked(5 - 1);
    await outbox.close();
    const own = seen.map(({ body }) => body).filter((body) => body !== '"other"');
    expect(own).toEqual(['"first"', '"first"', '"second"']);
  });

  it.each<[string, () => { url: string; headers: Record<string, string> }, number]>([
    ['where the receiver is gone for good', () => to(), 1],
    ['where the address may not be called', () => ({ url: 'http://169.254.169.254/', headers: {} }), 0],
  ])('gives up at once %s', async (_name, address, times) => {
    status = 410;
    const { outbox, lost } = make();
    await outbox.send('s-1', address(), '{}');
    await asked(times);
    await outbox.close();
    expect(lost).toHaveLength(1);
    expect(seen).toHaveLength(times);
  });

  it('closes within five seconds though a receiver does not answer', async () => {
    status = null;
    const store = new MemoryOutboxStore();
    const { outbox, clock } = make(store);
    await outbox.send('s-1', to(), '{}');
    await asked(1);
    const closed = Promise.all([outbox.close(), outbox.close()]);
    await clock.advanceBy(5_000);
    await closed;
    expect(await store.due(Number.MAX_SAFE_INTEGER, 8, [])).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('goes on with what an earlier one left in its store', async () => {
    const store = new MemoryOutboxStore();
    const left: Delivery = { id: 'msg_1', sessionId: 's-1', ...to(), body: '{}', createdUnixMs: START_MS, attempts: 3 };
    await store.add(left);
    const { outbox } = make(store);
    await asked(1);
    await outbox.close();
    expect(seen[0]?.headers['webhook-id']).toBe('msg_1');
    expect(await store.nextDueUnixMs()).toBeNull();
  });
});
