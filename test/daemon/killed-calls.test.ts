import Database from 'better-sqlite3';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { delay } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import { databaseFile } from '../../src/store/database.js';
import { httpServer } from '../net/local-server.js';
import { PRIVATE_KEY } from './house.js';
import { Served } from './served.js';

const NOBODY_HOME = '+12025550108';
const KEY = { 'idempotency-key': 'once' };

let served: Served | null = null;
afterEach(() => served?.close());

async function ask(method: string, path: string, body?: unknown, more: Record<string, string> = {}) {
  const type = body !== undefined && { 'content-type': 'application/json' };
  const response = await fetch(`${served?.address ?? ''}${path}`, {
    method,
    headers: { authorization: PRIVATE_KEY, ...type, ...more },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('calls of a daemon that is killed', () => {
  it('are closed and reported by the next one, and not dialled again', { timeout: 120_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-killed-'));
    const reported: Record<string, unknown>[] = [];
    const server = await httpServer((_request, response, body) => {
      reported.push(JSON.parse(body) as Record<string, unknown>);
      response.writeHead(204).end();
    });
    const file = join(dataDir, 'config.json');
    writeFileSync(
      file,
      JSON.stringify({ callWebhook: { url: `${server.origin}/calls` }, calls: { perDestinationPerMinute: 9 } }),
    );
    const env = { PARLEY_CONFIG: file };
    served = await Served.start(env, dataDir);
    await served.until('/healthz');
    const { body: phone } = await ask('POST', '/phones/purchase', {});
    const call = {
      from_phone: phone['id'],
      to_phone: NOBODY_HOME,
      metadata: { a: 1 },
      agent_config: { prompt: 'Hi', llm: { model: 'scripted' } },
    };
    // The first one rings, the second has just been taken: its row is there, whatever it has come to.
    const rung = await ask('POST', '/start_outbound_call', call);
    expect(rung.status).toBe(200);
    const taken = await ask('POST', '/start_outbound_call', call, KEY);
    await served.close();

    served = await Served.start(env, dataDir);
    await served.until('/readyz');
    for (const { body } of [rung, taken]) {
      const { body: item } = await ask('GET', `/call-logs/${String(body['session_id'])}`);
      expect(item).toMatchObject({ call_id: body['call_id'], call_status: 'error' });
      expect(item['error_message']).toContain('The daemon stopped');
    }
    const again = await ask('POST', '/start_outbound_call', call, KEY);
    expect([again.status, again.body]).toEqual([200, taken.body]);
    expect((await ask('GET', '/call-logs')).body['histories']).toHaveLength(2);
    expect((await ask('GET', '/calls/guards')).body).toMatchObject({ concurrent: { used: 0 } });
    const clock = new RealClock();
    while (reported.length < 2 && clock.nowMs() < 20_000) await delay(clock, 20);
    expect(reported.map(({ type }) => type)).toEqual(['call.ended', 'call.ended']);
    expect(new Set(reported.map(({ data }) => (data as { session_id: string }).session_id))).toEqual(
      new Set([rung, taken].map(({ body }) => body['session_id'])),
    );
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('are finished by the next one: log, functions once, webhook', { timeout: 180_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-killed-'));
    const clock = new RealClock();
    const seen: { path: string; id: unknown; body: Record<string, unknown> }[] = [];
    const server = await httpServer((request, response, body) => {
      const path = request.url ?? '';
      seen.push({ path, id: request.headers['webhook-id'], body: JSON.parse(body) as Record<string, unknown> });
      if (path !== '/slow') response.writeHead(200).end('{"kept": true}'); // the other one is not answered
    });
    const arrived = async (path: string, count: number): Promise<typeof seen> => {
      const until = clock.nowMs() + 60_000;
      const found = (): typeof seen => seen.filter((one) => one.path === path);
      while (found().length < count && clock.nowMs() < until) await delay(clock, 20);
      return found();
    };
    const file = join(dataDir, 'config.json');
    writeFileSync(file, JSON.stringify({ allowUrls: [server.origin] }));
    const start = async (): Promise<void> => {
      served = await Served.start({ PARLEY_CONFIG: file }, dataDir);
      await served.until('/readyz');
    };
    const after = (name: string, path: string) => ({
      name,
      description: 'Keeps.',
      params: [],
      webhook: server.origin + path,
      run_after_call: true,
      timeout: 60,
    });
    await start();
    const config = {
      prompt: 'Sell bread.',
      first_message: 'Hello.',
      llm: { model: 'scripted' },
      session_data_webhook: `${server.origin}/ended`,
      call_settings: { enable_recording: true },
      tools: [after('keep', '/quick'), after('file', '/slow')],
    };
    const script = { rules: [{ when: 'bread', say: 'We have bread.' }] };
    const { body: agent } = await ask('POST', '/agents', { name: 'Baker', config, script });
    if (served === null) throw new Error('the daemon is not there');
    const client = served.connect();
    await client.initiate({ agent: { agent_id: agent['id'] }, metadata: { crm: 'C-7' } });
    const ready = await client.inbox.find(({ method }) => method === 'onready');
    const { session_id: id } = ready['payload'] as { session_id: string };
    const traced = async (what: string): Promise<void> => {
      const path = join(dataDir, 'traces', `${id}.jsonl`);
      const until = clock.nowMs() + 60_000;
      const isThere = (): boolean => existsSync(path) && readFileSync(path, 'utf8').includes(what);
      while (!isThere() && clock.nowMs() < until) await delay(clock, 20);
    };
    await traced('"utterance.finished"');
    await client.send({ method: 'text', data: 'Do you have bread?' });
    await traced('We have bread');
    await served?.close();
    expect(seen).toEqual([]);

    // The next one runs both functions, and dies while one of them waits.
    await start();
    const { body: item } = await ask('GET', `/call-logs/${id}`);
    expect(item).toMatchObject({ call_status: 'error', metadata: { crm: 'C-7' }, agent_id: agent['id'] });
    expect(item['error_message']).toContain('The daemon stopped');
    expect(item['duration']).toBeGreaterThan(0.5);
    const said = (JSON.parse(item['chat'] as string) as { content: string }[]).map(({ content }) => content);
    expect(said.slice(0, 2)).toEqual(['Hello.', 'Do you have bread?']);
    expect(item['cost_breakdown']).toMatchObject([{ type: 'stt' }, { type: 'llm' }, { type: 'tts' }]);
    expect(item['recording']).not.toBeNull();
    await Promise.all([arrived('/quick', 1), arrived('/slow', 1)]);
    const database = new Database(databaseFile(dataDir), { readonly: true });
    const kept = database.prepare('SELECT COUNT(*) FROM after_call_runs WHERE run IS NOT NULL').pluck();
    while (kept.get() === 0 && clock.nowMs() < 90_000) await delay(clock, 20);
    database.close();
    expect(seen[0]?.body).toMatchObject({ session_id: id });
    expect(seen.filter(({ path }) => path === '/ended')).toEqual([]);
    await served?.close();

    // The third one runs neither again, and sends the webhook.
    await start();
    const [ended] = await arrived('/ended', 1);
    expect(ended?.body).toMatchObject({ session_id: id, chat: item['chat'], duration: item['duration'] });
    const calls = ended?.body['function_calls'] as { name: string; result: string }[];
    expect(Object.fromEntries(calls.map(({ name, result }) => [name, result]))).toEqual({
      file: expect.stringContaining('The daemon stopped while the function ran') as string,
      keep: expect.stringContaining('kept') as string,
    });
    expect((await ask('GET', `/call-logs/${id}`)).body).toMatchObject({ function_calls: calls });
    const { body: deliveries } = await ask('GET', `/webhooks/deliveries?session_id=${id}`);
    expect(deliveries).toMatchObject({ deliveries: [{ id: ended?.id, state: 'delivered' }] });
    expect(seen.map(({ path }) => path).toSorted()).toEqual(['/ended', '/quick', '/slow']);
    await served?.close();
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
});
