import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { RealClock, nowUnixMs } from '../../../src/base/real-clock.js';
import type { AgentConfig } from '../../../src/agent/agent.js';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import { Stores } from '../../../src/daemon/stores.js';
import type { UnfinishedChat, UnfinishedSession } from '../../../src/engine/unfinished-session.js';
import { Queues } from '../../../src/base/queues.js';
import { openDatabase } from '../../../src/store/database.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../../src/store/sqlite/sqlite-live-tables.js';
import { DirectWrites } from '../../../src/store/writes.js';
import { httpServer, type LocalServer } from '../../net/local-server.js';
import { House } from '../house.js';

let dataDir: string;
let server: LocalServer;
let seen: { path: string; id: unknown; body: Record<string, unknown> }[];
let house: House | null;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-recovery-'));
  house = null;
  seen = [];
  server = await httpServer((request, response, body) => {
    const id = request.headers['webhook-id'];
    seen.push({ path: request.url ?? '', id, body: JSON.parse(body) as Record<string, unknown> });
    response.end('{"kept": true}');
  });
});
afterEach(async () => {
  await house?.close();
  await server.close();
});

const START_MS = 1_700_000_000_000;

/** What a process leaves that dies in a session: its row, and what is to come after it. */
async function leave(
  channel: 'talk' | 'chat',
  { agent = {}, chat = null, ran = [] }: { agent?: AgentConfig; chat?: UnfinishedChat | null; ran?: string[] },
): Promise<void> {
  const sqlite = openDatabase(dataDir);
  const database = new SqliteDatabase(sqlite);
  const clock = new RealClock();
  const settings = { ...DEFAULT_SETTINGS, dataDir };
  const stores = await Stores.open({
    settings,
    database,
    sqlite,
    tables: new SqliteLiveTables(sqlite),
    node: { id: 'earlier' },
    clock,
    nowUnixMs,
    queues: new Queues(),
    writes: new DirectWrites(database),
    onError: () => undefined,
  });
  const tool = { name: 'keep', description: 'Keeps.', webhook: `${server.origin}/keep`, run_after_call: true };
  const config: AgentConfig = { prompt: 'Sell.', llm: { model: 'scripted' }, tools: [tool], ...agent };
  const optOut = config.privacy_settings?.opt_out_data_collection === true;
  const session: UnfinishedSession = {
    sessionId: 's1',
    to: { url: `${server.origin}/ended`, headers: {} },
    script: null,
    chat,
    includeMetadataInPrompt: false,
    facts: {
      agentId: 'baker',
      agentConfig: config,
      callId: null,
      campaignId: null,
      phones: null,
      direction: 'inbound',
      startUnixMs: START_MS,
      metadata: { crm: 'C-7' },
      recordingUrl: null,
      optOut,
    },
  };
  await new CallLog({ database, store: stores.calls }).begin({
    sessionId: 's1',
    channel,
    agentId: 'baker',
    agentConfig: config,
    metadata: { crm: 'C-7' },
  });
  await stores.unfinished.put(session);
  for (const name of ran) await stores.unfinished.start('s1', name);
  await stores.close();
  await database.close();
}

/** A daemon on that folder, once it has sent the webhook. */
async function next(): Promise<Record<string, unknown>> {
  house = await House.open({ dataDir }, new RealClock(), undefined, { allowUrls: [server.origin] });
  await house.daemon.warmUp();
  const clock = new RealClock();
  const sent = () => seen.find(({ path }) => path === '/ended');
  while (sent() === undefined && clock.nowMs() < 30_000) await delay(clock, 10);
  return sent()?.body ?? {};
}

it('a chat whose end was under way is finished from what was said', async () => {
  const messages = [
    { role: 'user' as const, content: 'I want bread.' },
    { role: 'assistant' as const, content: 'You have it.' },
  ];
  await leave('chat', { chat: { messages, functionCalls: [], durationMs: 1200 } });
  const item = await next();
  expect(item).toMatchObject({ call_status: 'chat_completion', duration: 1.2, error_message: null });
  expect(JSON.parse(item['chat'] as string)).toEqual(messages);
  expect(item['function_calls']).toMatchObject([{ name: 'keep', run_after_call: true }]);
  expect(seen.map(({ path }) => path)).toEqual(['/keep', '/ended']);
});

it('a chat that was not answered says so', async () => {
  await leave('chat', { chat: { messages: [{ role: 'user', content: 'Bread?' }], functionCalls: [], durationMs: 0 } });
  expect(await next()).toMatchObject({ error_message: 'The daemon stopped before the answer was complete.' });
});

it('a session that opted out tells nothing of what was said, and its functions know nothing', async () => {
  await leave('talk', { agent: { privacy_settings: { opt_out_data_collection: true } } });
  const item = await next();
  expect(item).toMatchObject({ call_status: 'error', chat: '[]', recording: null });
  expect(item['function_calls']).toEqual([{ name: 'keep', params: {}, result: '', run_after_call: true }]);
  expect(seen[0]?.body).toEqual({ session_id: 's1' });
});

it('a function that was started runs no second time; the webhook has the same id after every death', async () => {
  await leave('talk', { ran: ['keep'] });
  const item = await next();
  expect(item['function_calls']).toMatchObject([
    { name: 'keep', result: expect.stringContaining('unknown') as string },
  ]);
  expect(seen.map(({ path }) => path)).toEqual(['/ended']);
  expect(seen[0]?.id).toMatch(/^msg_[0-9a-f]{32}$/);
});

it('an agent that can have no session any more runs nothing; its call is still reported', async () => {
  await leave('talk', { agent: { llm: { model: 'gone' } } });
  expect(await next()).toMatchObject({ call_status: 'error', function_calls: [] });
});
