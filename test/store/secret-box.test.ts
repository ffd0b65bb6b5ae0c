import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/agent/agent.js';
import { AgentStore } from '../../src/store/agents.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../src/store/sqlite/sqlite-live-tables.js';
import { openDatabase } from '../../src/store/database.js';
import { SecretBox, openSecretBox } from '../../src/store/secret-box.js';

const KEY_A = Buffer.alloc(32, 1);
const KEY_B = Buffer.alloc(32, 2);

describe('SecretBox', () => {
  it('opens what it has sealed, each time sealed differently', () => {
    const box = new SecretBox(KEY_A);
    const sealed = box.seal('grüße', 'column');
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+$/);
    expect(sealed).not.toBe(box.seal('grüße', 'column'));
    expect(box.open(sealed, 'column')).toBe('grüße');
    expect(box.open('{"never":"sealed"}', 'column')).toBe('{"never":"sealed"}');
  });

  it('opens what an earlier key has sealed, and seals with the current one', () => {
    const sealed = new SecretBox(KEY_A).seal('x', 'column');
    const box = new SecretBox(KEY_B, [KEY_A]);
    expect(box.open(sealed, 'column')).toBe('x');
    expect(sealed.startsWith(box.prefix)).toBe(false);
    expect(box.seal('x', 'column').startsWith(box.prefix)).toBe(true);
  });

  it('opens nothing that was changed, is for another purpose, another key or another version', () => {
    const box = new SecretBox(KEY_A);
    const sealed = box.seal('secret', 'column');
    const flipped = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    for (const [text, purpose, reason] of [
      [flipped, 'column', 'it has been changed'],
      [sealed.slice(0, 20), 'column', 'it has been changed'],
      [sealed, 'other', 'it has been changed'],
      [new SecretBox(KEY_B).seal('x', 'column'), 'column', 'another key'],
      [sealed.replace('v1', 'v2'), 'column', 'a later version'],
    ] as const) {
      expect(() => box.open(text, purpose), text).toThrow(reason);
    }
    expect(() => new SecretBox(Buffer.alloc(31))).toThrow(RangeError);
  });
});

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
  const open = (secretKey: string | null = null, oldSecretKeys: string[] = []): SecretBox =>
    openSecretBox(database, { dataDir, secretKey, oldSecretKeys });
  const openAgents = (box: SecretBox): Promise<AgentStore> =>
    AgentStore.open(new SqliteDatabase(database), new SqliteLiveTables(database), box);
  const keep = async (box: SecretBox, id = 'a'): Promise<boolean> =>
    (await openAgents(box)).add({
      id,
      name: 'A',
      config: CONFIG,
      createdAt: 0,
      version: 1,
      changedBy: null,
    });
  const configs = async (box: SecretBox): Promise<AgentConfig[]> =>
    (await openAgents(box)).all().map(({ config }) => config);
  const file = (): string => join(dataDir, 'secret.key');

  it('is made once, for its owner only', async () => {
    await keep(open());
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const key = readFileSync(file(), 'utf8');
    expect(await configs(open())).toEqual([CONFIG]);
    expect(readFileSync(file(), 'utf8')).toBe(key);
  });

  it("may be the operator's, in base64 or hexadecimal, and then there is no file", async () => {
    await keep(open(KEY_A.toString('base64')));
    expect(await configs(open(KEY_A.toString('hex')))).toEqual([CONFIG]);
    expect(await configs(open(KEY_A.toString('base64url')))).toEqual([CONFIG]);
    expect(existsSync(file())).toBe(false);
  });

  it('changes: what the old one has encrypted is encrypted anew, from the file, the environment or a second line', async () => {
    await keep(open());
    open(KEY_A.toString('base64')); // from the file to the environment
    rmSync(file());
    expect(await configs(open(KEY_A.toString('base64')))).toEqual([CONFIG]);
    open(KEY_B.toString('base64'), [KEY_A.toString('base64')]);
    expect(await configs(open(KEY_B.toString('base64')))).toEqual([CONFIG]);
    writeFileSync(file(), `${KEY_A.toString('base64')}\n${KEY_B.toString('base64')}\n`); // and back to the file
    open();
    writeFileSync(file(), KEY_A.toString('base64'));
    expect(await configs(open())).toEqual([CONFIG]);
  });

  it('encrypts what was stored before there was one', () => {
    database.exec(`INSERT INTO phones (number, carrier, status, agent_config_override, created_at)
      VALUES ('+12025550199', 'simulated', 'active', '{"prompt":"x"}', 0)`);
    const box = open();
    const sealed = database.prepare('SELECT agent_config_override FROM phones').pluck().get() as string;
    expect(sealed.startsWith(box.prefix)).toBe(true);
    expect(box.open(sealed, 'phones.agent_config_override')).toBe('{"prompt":"x"}');
  });

  it('that is lost, or none, is told of, and nothing is touched', async () => {
    await keep(open());
    const stored = database.prepare('SELECT config FROM agent_versions').pluck();
    const before = stored.get();
    rmSync(file());
    expect(() => open()).toThrow('it is missing, and PARLEY_SECRET_KEY is not set either');
    expect(existsSync(file())).toBe(false);
    expect(() => open(KEY_A.toString('base64'))).toThrow('another key');
    writeFileSync(file(), 'nonsense\n');
    expect(() => open()).toThrow(`Cannot read ${file()}`);
    writeFileSync(file(), '\n');
    expect(() => open()).toThrow('it holds no key');
    expect(stored.get()).toBe(before);
  });

  it('keeps a thousand versions of an agent', async () => {
    const store = await openAgents(open());
    const agent = { id: 'a', name: 'A', config: CONFIG, createdAt: 0, changedBy: 'Ann' };
    await store.add({ ...agent, version: 1 });
    for (let version = 2; version <= 1002; version++) await store.change({ ...agent, version }, version);
    const first = await store.versions('a', { limit: 1, before: 4 });
    expect(first.map(({ version, changedAt }) => [version, changedAt])).toEqual([[3, 3]]);
    expect(await store.versions('a', { limit: 5, before: 3 })).toEqual([]);
    expect(await store.remove('a')).toBeNull();
    expect(database.prepare('SELECT COUNT(*) FROM agent_versions').pluck().get()).toBe(0);
  });
});
