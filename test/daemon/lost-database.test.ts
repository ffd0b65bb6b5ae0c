import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { httpServer, type LocalServer } from '../net/local-server.js';
import { isPostgresInstalled } from '../store/support/backends.js';
import { PostgresCluster } from '../../scripts/postgres-cluster.mjs';
import { Callers } from './callers.js';
import type { Client } from './house.js';

const TALKER = '+12025550101';
const WAIT = { timeout: 30_000, interval: 50 };

let folder: string;
let serverFolder: string;
let cluster: PostgresCluster;
let receiver: LocalServer;
let messages: { type: string; sessionId: string }[];
let callers: Callers;

beforeAll(async () => {
  if (!isPostgresInstalled) return;
  folder = mkdtempSync(join(tmpdir(), 'parley-lost-'));
  serverFolder = mkdtempSync(join(tmpdir(), 'parley-server-')); // its owner is another user
  cluster = await PostgresCluster.start(serverFolder);
}, 60_000);

afterAll(() => {
  if (!isPostgresInstalled) return;
  cluster.crash();
  for (const path of [folder, serverFolder]) rmSync(path, { recursive: true, force: true });
});

beforeEach(async () => {
  if (!isPostgresInstalled) return;
  messages = [];
  receiver = await httpServer((_request, response, body) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { session_id: string } };
    messages.push({ type, sessionId: data.session_id });
    response.end();
  });
  const key = Buffer.alloc(32, 7).toString('base64');
  const dataDir = mkdtempSync(join(folder, 'data-'));
  const callWebhook = { url: `${receiver.origin}/calls` };
  callers = await Callers.open(
    {},
    { dataDir, callWebhook, databaseUrl: cluster.url, secretKey: key, signingKey: key, page: false },
  );
  await callers.house.daemon.warmUp();
}, 60_000);

afterEach(async () => {
  if (!isPostgresInstalled) return;
  await callers.close();
  await receiver.close();
});

const readiness = async (): Promise<unknown> => (await callers.house.ask('/readyz')).body;
const isReady = (): Promise<unknown> =>
  vi.waitUntil(async () => (await callers.house.ask('/readyz')).status === 200, WAIT);

async function metric(name: string): Promise<number> {
  const text = await (await callers.house.request('/metrics')).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** A conversation that has begun. */
async function talking(): Promise<{ client: Client; sessionId: string }> {
  const client = callers.house.connect();
  await client.initiate();
  const ready = (await client.inbox.find(({ method }) => method === 'onready')) as { payload: { session_id: string } };
  await client.inbox.find(({ method }) => method === 'onresponsetext');
  return { client, sessionId: ready.payload.session_id };
}

/** The server has gone, and the daemon has noticed. */
async function lost(): Promise<void> {
  cluster.crash();
  await vi.waitUntil(async () => {
    // The daemon notices at the latest when it polls for changes.
    return (await callers.house.ask('/readyz')).status === 503;
  }, WAIT);
}

describe.skipIf(!isPostgresInstalled)('a daemon whose PostgreSQL dies in the middle of calls', () => {
  it('goes on with them, refuses others, and has them whole in the log afterwards', { timeout: 120_000 }, async () => {
    const { client, sessionId } = await talking();
    const phone = await callers.started(TALKER);
    await callers.until(phone.session_id, 'in-progress');
    expect(await callers.logged(sessionId)).toMatchObject({ call_status: 'in-progress' });
    await lost();
    expect(await readiness()).toEqual({ status: 'database unreachable' });
    expect(await callers.start('+12025550102')).toMatchObject({ status: 503 });
    expect(await callers.house.connect().refused).toBe(503);
    // The conversation does not notice.
    await client.send({ method: 'text', data: 'Have you any bread?' });
    await client.inbox.find(({ method, data }) => method === 'onresponsetext' && data === 'We have bread.');
    client.socket.close();
    await callers.house.ended;
    await vi.waitUntil(async () => (await metric('parley_waiting_writes')) > 0, WAIT);
    expect(await metric('parley_database_reachable')).toBe(0);
    cluster.restart();
    await isReady();
    await vi.waitUntil(async () => (await metric('parley_waiting_writes')) === 0, WAIT);
    expect(await metric('parley_lost_writes_total')).toBe(0);
    const logged = await callers.logged(sessionId);
    expect(logged).toMatchObject({ call_status: 'user-ended' });
    expect(String(logged['chat'])).toContain('Have you any bread?');
    const { status } = await callers.ask('POST', `/sessions/${phone.session_id}/terminate`);
    expect(status).toBe(200);
    await vi.waitUntil(async () => (await callers.logged(phone.session_id))['call_status'] === 'api-ended', WAIT);
    await vi.waitUntil(() => messages.filter(({ type }) => type === 'call.ended').length === 2, WAIT);
    expect(messages.filter((message) => message.sessionId === sessionId).map(({ type }) => type)).toEqual([
      'call.started',
      'call.ended',
    ]);
    // The limits count again, and the slot of the call is free.
    await vi.waitUntil(async () => {
      const guards = (await callers.ask('GET', '/calls/guards')).body['concurrent'] as { used: number };
      return guards.used === 0;
    }, WAIT);
    expect((await callers.start('+12025550103')).status).toBe(200);
  });

  it('leaves to the next process what it could not write', { timeout: 120_000 }, async () => {
    const { client, sessionId } = await talking();
    await lost();
    client.socket.close();
    await callers.house.ended;
    await vi.waitUntil(async () => (await metric('parley_waiting_writes')) > 0, WAIT);
    await callers.house.daemon.close();
    expect(statSync(join(callers.house.dataDir, 'waiting-writes')).size).toBeGreaterThan(0);
    cluster.restart();
    await callers.reopen();
    expect(await callers.logged(sessionId)).toMatchObject({ call_status: 'user-ended' });
    expect(statSync(join(callers.house.dataDir, 'waiting-writes')).size).toBe(0);
    await callers.house.daemon.warmUp();
    await vi.waitUntil(() => messages.some(({ type }) => type === 'call.ended'), WAIT);
  });
});
