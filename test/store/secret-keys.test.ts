import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/agent/agent.js';
import { AgentStore, LIVE_AT_ONCE } from '../../src/store/agents.js';
import { openDatabase } from '../../src/store/database.js';
import { retireKeys } from '../../src/store/keys-in-use.js';
import { resealPage, SEALED_COLUMNS } from '../../src/store/sealed-columns.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { openSecretBox, openSigningKeys, signingKeyId } from '../../src/store/secret-keys.js';
import { sql, type SqlDatabase } from '../../src/store/sql/statement.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../src/store/sqlite/sqlite-live-tables.js';
import { backends, isPostgresInstalled, postgres, type TestDatabase } from './support/backends.js';

const KEY_A = Buffer.alloc(32, 1);
const KEY_B = Buffer.alloc(32, 2);
const KEY_C = Buffer.alloc(32, 3);
const nowUnixMs = (): number => 5_000;

describe('the key of a data folder', () => {
  let dataDir: string;
  let database: ReturnType<typeof openDatabase>;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-secret-'));
    database = openDatabase(dataDir);
  });
  afterEach(() => {
    database.close();
    rmSync(dataDir, { recursive: true });
  });

  const CONFIG: AgentConfig = { prompt: 'You sell bread.' };
  const OWN = { createdAt: 0, version: 1, changedBy: null, draft: null, publishing: LIVE_AT_ONCE, revision: 0 };
  const AGENT = { ...OWN, name: 'A', config: CONFIG };
  const open = (secretKey: string | null = null, oldSecretKeys: string[] = []): Promise<SecretBox> =>
    openSecretBox({ database: new SqliteDatabase(database), nowUnixMs }, { dataDir, secretKey, oldSecretKeys });
  const openAgents = (box: SecretBox): Promise<AgentStore> =>
    AgentStore.open(new SqliteDatabase(database), new SqliteLiveTables(database), box);
  const keep = async (box: SecretBox, id = 'a'): Promise<boolean> =>
    (await openAgents(box)).add({ ...AGENT, id }, null);
  const configs = async (box: SecretBox): Promise<AgentConfig[]> =>
    (await openAgents(box)).all().map(({ config }) => config);
  const file = (): string => join(dataDir, 'secret.key');

  it('is made once, for its owner only', async () => {
    await keep(await open());
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const key = readFileSync(file(), 'utf8');
    expect(await configs(await open())).toEqual([CONFIG]);
    expect(readFileSync(file(), 'utf8')).toBe(key);
  });

  it("may be the operator's, in base64 or hexadecimal, and then there is no file", async () => {
    await keep(await open(KEY_A.toString('base64')));
    expect(await configs(await open(KEY_A.toString('hex')))).toEqual([CONFIG]);
    expect(await configs(await open(KEY_A.toString('base64url')))).toEqual([CONFIG]);
    expect(existsSync(file())).toBe(false);
  });

  it('changes: what the old one has encrypted is encrypted anew, from the file, the environment or a second line', async () => {
    await keep(await open());
    await open(KEY_A.toString('base64')); // from the file to the environment
    rmSync(file());
    expect(await configs(await open(KEY_A.toString('base64')))).toEqual([CONFIG]);
    await open(KEY_B.toString('base64'), [KEY_A.toString('base64')]);
    expect(await configs(await open(KEY_B.toString('base64')))).toEqual([CONFIG]);
    writeFileSync(file(), `${KEY_A.toString('base64')}\n${KEY_B.toString('base64')}\n`); // and back to the file
    await open();
    writeFileSync(file(), KEY_A.toString('base64'));
    expect(await configs(await open())).toEqual([CONFIG]);
  });

  it('encrypts what was stored before there was one', async () => {
    database.exec(`INSERT INTO phones (number, carrier, status, agent_config_override, created_at)
      VALUES ('+12025550199', 'simulated', 'active', '{"prompt":"x"}', 0)`);
    const box = await open();
    const sealed = database.prepare('SELECT agent_config_override FROM phones').pluck().get() as string;
    expect(sealed.startsWith(box.prefix)).toBe(true);
    expect(box.open(sealed, 'phones.agent_config_override')).toBe('{"prompt":"x"}');
  });

  it('that is lost, or none, is told of, and nothing is touched', async () => {
    await keep(await open());
    const stored = database.prepare('SELECT config FROM agent_versions').pluck();
    const before = stored.get();
    rmSync(file());
    await expect(open()).rejects.toThrow('it is missing, and PARLEY_SECRET_KEY is not set either');
    expect(existsSync(file())).toBe(false);
    await expect(open(KEY_A.toString('base64'))).rejects.toThrow('another key');
    writeFileSync(file(), 'nonsense\n');
    await expect(open()).rejects.toThrow(`Cannot read ${file()}`);
    writeFileSync(file(), '\n');
    await expect(open()).rejects.toThrow('it holds no key');
    expect(stored.get()).toBe(before);
  });
});

describe('the signing key of a data folder', () => {
  let dataDir = '';
  const open = (signingKey: string | null = null, oldSigningKeys: string[] = []): Promise<readonly Buffer[]> =>
    openSigningKeys(
      { database: { dialect: 'sqlite' } as SqlDatabase, nowUnixMs },
      { dataDir, signingKey, oldSigningKeys },
    );
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-key-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('is made once, for its owner only, and stays', async () => {
    const [key] = await open();
    expect(key).toHaveLength(32);
    expect(await open()).toEqual([key]);
    expect(readdirSync(dataDir)).toEqual(['signing.key']);
    expect(statSync(join(dataDir, 'signing.key')).mode & 0o777).toBe(0o600);
  });

  it('is not replaced where the file is something else', async () => {
    writeFileSync(join(dataDir, 'signing.key'), 'short');
    await expect(open()).rejects.toThrow('no key of 32 bytes');
  });

  it("may be the operator's: then the file's and earlier ones still verify", async () => {
    const [file] = await open();
    expect(await open(KEY_A.toString('base64'), [KEY_B.toString('hex')])).toEqual([KEY_A, file, KEY_B]);
    rmSync(join(dataDir, 'signing.key'));
    expect(await open(KEY_A.toString('base64'))).toEqual([KEY_A]);
    expect(readdirSync(dataDir)).toEqual([]);
  });
});

describe.skipIf(!isPostgresInstalled)('the keys of nodes', () => {
  let test: TestDatabase;
  beforeEach(async () => {
    test = await postgres.open();
  });
  afterEach(() => test.remove());

  const text = (key: Buffer | null): string | null => key?.toString('base64') ?? null;
  const texts = (keys: readonly Buffer[]): string[] => keys.map((key) => key.toString('base64'));
  const secret = (current: Buffer | null, old: readonly Buffer[] = []): Promise<SecretBox> =>
    openSecretBox(
      { database: test.database, nowUnixMs },
      { dataDir: '/nowhere', secretKey: text(current), oldSecretKeys: texts(old) },
    );
  const signing = (current: Buffer | null, old: readonly Buffer[] = []): Promise<readonly Buffer[]> =>
    openSigningKeys(
      { database: test.database, nowUnixMs },
      { dataDir: '/nowhere', signingKey: text(current), oldSigningKeys: texts(old) },
    );

  it('must be given: a node makes none', async () => {
    await expect(secret(null)).rejects.toThrow(/PARLEY_SECRET_KEY is not set.*openssl rand -base64 32/);
    await expect(signing(null)).rejects.toThrow(/PARLEY_SIGNING_KEY is not set.*PARLEY_SIGNING_KEY_FILE/);
  });

  it('are the same on all', async () => {
    const { keyId } = await secret(KEY_A);
    await secret(KEY_A);
    await expect(secret(KEY_B)).rejects.toMatchObject({ code: 'SECRETS_DIFFER' });
    await expect(secret(KEY_B)).rejects.toThrow(`other nodes use ${keyId}`);
    await signing(KEY_A);
    await expect(signing(KEY_B)).rejects.toThrow(`other nodes use ${signingKeyId(KEY_A)}`);
  });

  it('are agreed on by nodes that start at the same time', async () => {
    const starts = await Promise.allSettled([secret(KEY_A), secret(KEY_B)]);
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('change one node after the other', async () => {
    const { keyId } = await secret(KEY_A);
    await secret(KEY_A, [KEY_B]); // all know the next one
    const { keyId: next } = await secret(KEY_B, [KEY_A]);
    await secret(KEY_A, [KEY_B]); // one that uses the old one starts again
    await expect(secret(KEY_A)).rejects.toThrow(`other nodes use ${next}`);
    await expect(secret(KEY_B)).rejects.toThrow(`other nodes use ${keyId}`); // rows of the old one may be left
    expect(await retireKeys(test.database, 'secret', next, nowUnixMs())).toEqual([keyId]);
    await secret(KEY_B);
    await expect(secret(KEY_A, [KEY_B])).rejects.toThrow('has retired it');
  });
});

describe.each(backends)('encrypted columns on $name', (backend) => {
  let test: TestDatabase;
  beforeEach(async () => {
    test = await backend.open();
  });
  afterEach(() => test.remove());

  it('are all known', async () => {
    const old = new SecretBox(KEY_A);
    const box = new SecretBox(KEY_B, [KEY_A]);
    const sealed = (purpose: string): string => old.seal(purpose, purpose);
    await fill(test.database, sealed);
    for (const column of SEALED_COLUMNS) {
      const purpose = `${column.table}.${column.column}`;
      const page = await test.database.transaction(() => resealPage(column, box, null, 10));
      expect({ purpose, count: page.count }).toEqual({ purpose, count: 1 });
      const again = await test.database.transaction(() => resealPage(column, box, null, 10));
      expect(again).toEqual({ count: 0, last: page.last });
      expect((await test.database.transaction(() => resealPage(column, box, page.last, 10))).last).toBeNull();
      const row = await test.database.first<{ text: string }>({
        text: `SELECT ${column.column} AS text FROM ${column.table} WHERE ${column.column} IS NOT NULL`,
        values: [],
      });
      expect(new SecretBox(KEY_B).open(row?.text ?? '', purpose)).toBe(purpose);
    }
  });

  it('are encrypted anew page by page, with rows that nobody can read as a fault', async () => {
    const old = new SecretBox(KEY_A);
    for (const number of ['+1', '+2', '+3', '+4', '+5']) {
      const override = number === '+2' ? null : old.seal(number, 'phones.agent_config_override');
      await test.database.run(sql`INSERT INTO phones (number, carrier, status, agent_config_override, created_at)
        VALUES (${number}, 'sip', 'active', ${override}, 1)`);
    }
    const column = SEALED_COLUMNS.find(({ table }) => table === 'phones');
    if (column === undefined) throw new Error('phones are not encrypted');
    const box = new SecretBox(KEY_B, [KEY_A]);
    const page = (after: readonly string[] | null): Promise<unknown> =>
      test.database.transaction(() => resealPage(column, box, after, 2));
    expect(await page(null)).toEqual({ count: 2, last: ['+3'] });
    expect(await page(['+3'])).toEqual({ count: 2, last: ['+5'] });
    expect(await page(['+5'])).toEqual({ count: 0, last: null });
    const strange = new SecretBox(KEY_C);
    await expect(test.database.transaction(() => resealPage(column, strange, null, 2))).rejects.toMatchObject({
      code: 'SECRETS_UNREADABLE',
    });
  });
});

/** A row in each table with encrypted columns. */
async function fill(database: SqlDatabase, sealed: (purpose: string) => string): Promise<void> {
  for (const statement of [
    sql`INSERT INTO agents (id, created_at, version) VALUES ('a', 1, 1)`,
    sql`INSERT INTO agent_versions (agent_id, version, name, config, extensions, changed_at)
      VALUES ('a', 1, 'a', ${sealed('agent_versions.config')}, ${sealed('agent_versions.extensions')}, 1)`,
    sql`INSERT INTO phones (number, carrier, status, agent_config_override, created_at)
      VALUES ('+1', 'sip', 'active', ${sealed('phones.agent_config_override')}, 1)`,
    sql`INSERT INTO webhook_deliveries (id, session_id, url, headers, body, created_unix_ms, attempts)
      VALUES ('a', 'a', ${sealed('webhook_deliveries.url')}, ${sealed('webhook_deliveries.headers')}, '', 1, 0)`,
    sql`INSERT INTO unfinished_sessions (session_id, record) VALUES ('a', ${sealed('unfinished_sessions.record')})`,
    sql`INSERT INTO after_call_runs (session_id, tool, run) VALUES ('a', 'a', ${sealed('after_call_runs.run')})`,
    sql`INSERT INTO registered_calls (call_id, session_id, way, registration, expires_us)
      VALUES ('a', 'a', 'talk', ${sealed('registered_calls.registration')}, 1)`,
    sql`INSERT INTO eval_suites (id, agent_id, version, created_at) VALUES ('a', 'a', 1, 1)`,
    sql`INSERT INTO eval_runs
        (id, suite_id, suite_version, agent_id, agent_version, status, request, progress, webhook, created_ms)
      VALUES ('a', 'a', 1, 'a', 1, 'done', '{}', '{}', ${sealed('eval_runs.webhook')}, 1)`,
    sql`INSERT INTO mcp_authorizations (server, record) VALUES ('a', ${sealed('mcp_authorizations.record')})`,
  ]) {
    await database.run(statement);
  }
}
