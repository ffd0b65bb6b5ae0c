import Database from 'better-sqlite3';
import { join } from 'node:path';
import type { AgentConfig } from '../../../src/agent/agent.js';
import { KnowledgeBase } from '../../../src/store/knowledge.js';
import { openDatabase } from '../../../src/store/database.js';
import { AgentStore, LIVE_AT_ONCE } from '../../../src/store/agents.js';
import { DoNotCallStore } from '../../../src/store/do-not-call.js';
import { EvalRunStore } from '../../../src/store/eval-runs.js';
import { EvalSuiteStore } from '../../../src/store/eval-suites.js';
import { KeyStore } from '../../../src/store/keys.js';
import { StoredMemories } from '../../../src/store/memory.js';
import { PhoneStore } from '../../../src/store/phones.js';
import { openSecretBox, openSigningKeys } from '../../../src/store/secret-keys.js';
import { SessionStore } from '../../../src/store/sessions.js';
import { VoiceStore } from '../../../src/store/voices.js';
import type { SecretBox } from '../../../src/store/secret-box.js';
import type { LiveTables } from '../../../src/store/sql/live-table.js';
import type { SqlDatabase } from '../../../src/store/sql/statement.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../../src/store/sqlite/sqlite-live-tables.js';

export const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
export const SIGNING_KEY = Buffer.alloc(32, 8).toString('base64');
const NOW_MS = 1_800_000_000_000;
const nowUnixMs = (): number => NOW_MS;

/** Rows that only SQL can make without a daemon. */
const ROWS = `
  INSERT INTO calls (ts_us, session_id, call_id, channel, direction, agent_id, status, ended_us, recording, item, node_id)
    WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < :calls)
    SELECT 1800000000000000 + value, 's' || value, 'c' || value, 'phone', 'inbound', 'baker', 'user-ended',
      1800000001000000 + value, NULL, '{"text":"Grüße, 東京 ' || value || ' \\u0000"}', NULL
    FROM n;
  INSERT INTO call_numbers (number, reversed) VALUES ('+12025550101', '10105552021+');
  INSERT INTO dials (session_id, to_phone, at_us, reserved_s, answered_us, ended_us)
    VALUES ('s1', '+12025550101', 1, 0.1, NULL, 3);
  INSERT INTO idempotent_calls (client, key, fingerprint, session_id, call_id, at_us)
    VALUES ('key', 'k', 'f', 's1', 'c1', 5);
  INSERT INTO calls_stopped (only, at_us, by) VALUES (1, 9, 'Ann');
  INSERT INTO campaigns (id, name, status, caller, include_metadata_in_prompt, overrides, reason, last_call_ms, created_at)
    VALUES ('bread', 'Bread', 'started', NULL, 1, '{}', NULL, 1800000000000.5, 7);
  INSERT INTO campaign_records (seq, campaign_id, phone, metadata, place, status, calling, attempts, retried)
    WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 700)
    SELECT value, 'bread', '+1202' || value, '{}', 'US', iif(value % 3 = 0, 'finished', 'not_started'), 0, 0, '[]'
    FROM n;
  UPDATE campaign_records SET status = 'failed', due_ms = 1.25 WHERE seq = 5;
  DELETE FROM campaign_records WHERE seq = 700;
  INSERT INTO campaign_rejections (seq, campaign_id, phone, metadata, reason) VALUES (4, 'bread', 'x', '{}', 'no number');
  INSERT INTO campaign_uploads (id, campaign_id, until_us) VALUES ('upload', 'bread', 5);
  INSERT INTO after_call_runs (session_id, tool) VALUES ('s1', 'mail');
  INSERT INTO registered_calls (call_id, session_id, way, registration, expires_us)
    VALUES ('c9', 's9', 'talk', 'v1.SEALED', 8);
  INSERT INTO file_deletions (key, ts_us, done) VALUES ('recordings/a.wav', 3, 0);
  INSERT INTO unfinished_sessions (session_id, record) VALUES ('s3', 'v1.SEALED');
  INSERT INTO webhook_deliveries (id, session_id, url, headers, body, created_unix_ms, attempts, due_unix_ms)
    VALUES ('w1', 's1', 'v1.SEALED', 'v1.SEALED', 'body', 1.5, 2, 3.5);
  INSERT INTO nodes (id, address, version, capacity, sessions, draining, started_us, heartbeat_us, secret_key_id,
      signing_key_id)
    VALUES ('gone', '', '1', 1, 0, 0, 1, 1, 'a', 'b');
  INSERT INTO step_figures (agent_id, day, step, next, count, ms) VALUES ('baker', 20000, 'order', '', 3, 4500);
  INSERT INTO mcp_authorizations (server, record) VALUES ('stock', 'v1.SEALED');
  INSERT INTO agent_publications (id, agent_id, action, status, version, details, created_us)
    VALUES ('p1', 'baker', 'publish', 'done', 1, '{}', 1);`;

export interface FilledFolder {
  dataDir: string;
  /** The first private key. */
  key: string;
}

/** Fills all tables of a data folder. */
export async function fillFolder(dataDir: string, calls = 1200): Promise<FilledFolder> {
  const file = openDatabase(dataDir);
  const database = new SqliteDatabase(file);
  const settings = { dataDir, secretKey: SECRET_KEY, oldSecretKeys: [] };
  const box = await openSecretBox({ database, nowUnixMs }, settings);
  await openSigningKeys({ database, nowUnixMs }, { dataDir, signingKey: SIGNING_KEY, oldSigningKeys: [] });
  const stores = await storesOf(database, new SqliteLiveTables(file), box);
  const { key } = await stores.keys.create('private', 'first\0key');
  await stores.keys.create('public', 'page', { agents: ['baker'], origins: ['https://shop.example'] });
  const config = { prompt: 'Brot.' } as AgentConfig;
  const own = { createdAt: 5, changedBy: null, draft: null, publishing: LIVE_AT_ONCE, revision: 0 };
  await stores.agents.add({ ...own, id: 'baker', name: 'Bäcker', config, version: 1 }, null);
  await stores.phones.add({
    number: '+12025550199',
    carrier: 'twilio',
    status: 'active',
    agentId: 'baker',
    agentVersion: 1,
    queue: { limit: 3 },
    agentConfigOverride: config,
    tags: ['a'],
    address: null,
    createdAt: 3,
  });
  const voice = { provider: 'espeak', voiceId: 'v', baseVoiceId: 'b', name: 'V', model: null, language: null };
  await stores.voices.put({ ...voice, settings: { speed: 1.5 }, category: null, multiplier: 1.1, createdAt: 2 });
  await stores.doNotCall.add({ number: '+12025550177', source: 'model', sessionId: 's1', createdAt: 5 });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const identifiers = new Map([['customer', '7']]);
  await stores.sessions.keep({ sessionId: 's1', agentId: 'baker', endedUnixMs: NOW_MS, identifiers, messages });
  await stores.memories.keep({ sessionId: 's1', agentId: 'baker', user: '+1202', text: 'rye\0', unixMs: NOW_MS });
  const suite = { id: 'suite', agentId: 'baker', version: 1, name: 'Bread', text: 't', suite: '{}', changedBy: null };
  await stores.evalSuites.add({ ...suite, createdAt: 1, changedAt: 1 });
  const asked = { suiteId: 'suite', suiteVersion: 1, agentId: 'baker', agentVersion: 1, request: '{}', createdMs: 1 };
  await stores.evalRuns.add({ ...asked, id: 'run', webhook: { url: 'https://a.example/', headers: {} } }, 9);
  file.exec(ROWS.replace(':calls', String(calls)).replaceAll('v1.SEALED', box.seal('{}', 'test')));
  file.exec(`INSERT INTO eval_calls (session_id, run_id, call) VALUES ('e1', 'run', '{}')`);
  await database.close();
  await fillKnowledge(dataDir);
  return { dataDir, key };
}

async function fillKnowledge(dataDir: string): Promise<void> {
  const path = join(dataDir, 'knowledge.db');
  const knowledge = new KnowledgeBase({ path });
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  await knowledge.add({
    id: 'hours',
    name: 'hours.md',
    source: bytes('# Öffnungszeiten\nVon neun bis fünf.\n# 東京\n営業時間'),
  });
  await knowledge.add({ id: 'dogs', name: 'dogs.txt', source: bytes('Dogs are welcome.') });
  await knowledge.setAgentFiles('baker', ['hours']);
  await knowledge.close();
  const database = new Database(path);
  const vector = Buffer.from(Float32Array.from([0.1, -1e-7, 0.99]).buffer);
  database.prepare(`INSERT INTO vectors SELECT id, 'small', ? FROM passages`).run(vector);
  database.prepare(`INSERT INTO files VALUES ('half', 'half.txt', NULL, 'text/plain', 1, 1, 0)`).run();
  database.close();
}

export interface FolderStores {
  keys: KeyStore;
  agents: AgentStore;
  phones: PhoneStore;
  voices: VoiceStore;
  doNotCall: DoNotCallStore;
  sessions: SessionStore;
  memories: StoredMemories;
  evalSuites: EvalSuiteStore;
  evalRuns: EvalRunStore;
}

export async function storesOf(database: SqlDatabase, tables: LiveTables, box: SecretBox): Promise<FolderStores> {
  return {
    keys: await KeyStore.open(database, tables, nowUnixMs),
    agents: await AgentStore.open(database, tables, box),
    phones: await PhoneStore.open(database, tables, box),
    voices: await VoiceStore.open(database, tables),
    doNotCall: new DoNotCallStore(database),
    sessions: new SessionStore(database),
    memories: new StoredMemories({ database, retentionDays: 365, nowUnixMs }),
    evalSuites: new EvalSuiteStore(database),
    evalRuns: new EvalRunStore(database, box),
  };
}

/** Everything that the stores show. */
export async function contentOf(stores: FolderStores): Promise<unknown> {
  const all = { suiteId: null, agentId: null, status: null, beforeSeq: null, limit: 100 };
  return {
    keys: stores.keys.list(),
    agents: stores.agents.all(),
    versions: await stores.agents.versions('baker', { limit: 9, before: 9 }),
    phones: stores.phones.list(),
    voices: stores.voices.list(),
    doNotCall: await stores.doNotCall.list(),
    session: await stores.sessions.byId('s1', 'baker'),
    latest: await stores.sessions.latest('customer', '7', 'baker'),
    memories: await stores.memories.list({}),
    suites: await stores.evalSuites.list(null),
    runs: await stores.evalRuns.list(all),
    calls: await stores.evalRuns.callsOf('run'),
  };
}
