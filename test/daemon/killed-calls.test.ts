import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { delay } from '../../src/clock/clock.js';
import { RealClock } from '../../src/clock/real.js';
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
  it('are closed by the next one, told of, and not dialled again', { timeout: 120_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-killed-'));
    const told: Record<string, unknown>[] = [];
    const server = await httpServer((_request, response, body) => {
      told.push(JSON.parse(body) as Record<string, unknown>);
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
      ...{ from_phone: phone['id'], to_phone: NOBODY_HOME, metadata: { a: 1 } },
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
    while (told.length < 2 && clock.nowMs() < 20_000) await delay(clock, 20);
    expect(told.map(({ type }) => type)).toEqual(['call.ended', 'call.ended']);
    expect(new Set(told.map(({ data }) => (data as { session_id: string }).session_id))).toEqual(
      new Set([rung, taken].map(({ body }) => body['session_id'])),
    );
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
});
