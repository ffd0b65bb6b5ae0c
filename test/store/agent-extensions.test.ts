import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AgentStore, LIVE_AT_ONCE } from '../../src/store/agents.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../src/store/sqlite/sqlite-live-tables.js';
import { databaseFile, MIGRATIONS, openDatabase } from '../../src/store/database.js';
import { SecretBox } from '../../src/store/secret-box.js';

/** The schema before agents had extensions. */
const BEFORE = MIGRATIONS.findIndex((step) => step.includes('ADD COLUMN extensions'));
const box = new SecretBox(Buffer.alloc(32, 7));
const seal = (config: object): string => box.seal(JSON.stringify(config), 'agent_versions.config');

const openAgents = (database: Database.Database): Promise<AgentStore> =>
  AgentStore.open(new SqliteDatabase(database), new SqliteLiveTables(database), box);

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-extensions-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

it('moves attended transfers of all versions of an older database to the extensions, once', async () => {
  expect(BEFORE).toBeGreaterThan(0);
  const old = new Database(databaseFile(dataDir));
  for (const step of MIGRATIONS.slice(0, BEFORE)) old.exec(step);
  old.pragma(`user_version = ${String(BEFORE)}`);
  old.exec("INSERT INTO agents (id, created_at, version) VALUES ('desk', 1, 3)");
  const add = old.prepare(
    "INSERT INTO agent_versions (agent_id, version, name, config, changed_at) VALUES ('desk', ?, 'Desk', ?, 1)",
  );
  const attended = { enabled: true, ring_timeout: 9 };
  add.run(1, seal({ prompt: 'One.' }));
  add.run(2, seal({ flow: { call_transfer: { phone: '+12025550123', attended: { enabled: false } } } }));
  // Never sealed, as the first releases stored it.
  add.run(3, JSON.stringify({ flow: { call_transfer: { phone: '+12025550123', attended } } }));
  old.close();

  for (const _start of ['first', 'second']) {
    const database = openDatabase(dataDir);
    const store = await openAgents(database);
    const flow = { call_transfer: { phone: '+12025550123' } };
    expect(store.all()).toMatchObject([{ id: 'desk', config: { flow }, extensions: { transfer: { attended } } }]);
    const [now, second, first] = await store.versions('desk', { limit: 10, before: 10 });
    expect(now?.config).toEqual({ flow });
    expect(second).toMatchObject({ config: { flow }, extensions: { transfer: { attended: { enabled: false } } } });
    expect(second?.config).toEqual({ flow });
    expect(first?.config).toEqual({ prompt: 'One.' });
    expect(first?.extensions).toBeNull();
    const columns = database.prepare('SELECT config, extensions FROM agent_versions').all() as Record<string, string>[];
    for (const { config, extensions } of columns) {
      expect(config?.startsWith(box.prefix)).toBe(true);
      expect(extensions?.startsWith(box.prefix)).toBe(true);
    }
    database.close();
  }
});

it('keeps the extensions of each version', async () => {
  const database = openDatabase(dataDir);
  const store = await openAgents(database);
  const content = { name: 'Desk', config: {} };
  const own = { id: 'desk', createdAt: 1, version: 1, changedBy: null, draft: null, revision: 0 };
  const agent = { ...content, ...own, publishing: LIVE_AT_ONCE };
  const extensions = { transfer: { attended: { enabled: true } } };
  await store.add({ ...agent, extensions }, null);
  const step = { content, note: null, live: 'new', draft: null, publishing: LIVE_AT_ONCE } as const;
  await store.take(agent, step, { by: null, at: 2 });
  const [now, before] = await (await openAgents(database)).versions('desk', { limit: 10, before: 10 });
  expect(now?.extensions).toBeNull();
  expect(before?.extensions).toEqual(extensions);
  database.close();
});
