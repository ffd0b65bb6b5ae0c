import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { FolderLock } from '../../src/store/folder-lock.js';
import { NodeStore } from '../../src/store/nodes.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { openSecretBox, signingKeyId } from '../../src/store/secret-keys.js';
import { sql, type SqlDatabase } from '../../src/store/sql/statement.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { isPostgresInstalled, openPostgres, postgresUrl } from '../store/support/backends.js';
import { type Ran, parley } from './support.js';

const PURPOSE = 'phones.agent_config_override';
const [KEY_A, KEY_B] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const [A, B] = [KEY_A.toString('base64'), KEY_B.toString('base64')];

let dataDir: string;
beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'parley-rotate-')), 'data');
});
afterEach(() => rmSync(join(dataDir, '..'), { recursive: true, force: true }));

const rotate = (env: Record<string, string> = {}, signal = new AbortController().signal): Promise<Ran> =>
  parley(['keys', 'rotate'], { env: { PARLEY_DATA_DIR: dataDir, ...env }, signal });
/** Adds numbers with encrypted overrides. */
const fill = async (database: SqlDatabase, box: SecretBox, count: number): Promise<void> => {
  const rows = Array.from(
    { length: count },
    (_, at) => sql`(${`+${String(at)}`}, 'sip', 'active',
    ${box.seal(`override ${String(at)}`, PURPOSE)}, 1)`,
  );
  const all = rows.reduce((one, next) => sql`${one}, ${next}`);
  await database.run(
    sql`INSERT INTO phones (number, carrier, status, agent_config_override, created_at) VALUES ${all}`,
  );
};
const overrides = async (database: SqlDatabase, box: SecretBox): Promise<string[]> => {
  const rows = await database.all<{ sealed: string }>(sql`SELECT agent_config_override AS sealed FROM phones`);
  return rows.map(({ sealed }) => box.open(sealed, PURPOSE)).sort();
};
const expected = (count: number): string[] => Array.from({ length: count }, (_, at) => `override ${String(at)}`).sort();

describe('parley keys rotate on a data folder', () => {
  const keyFile = (): string => join(dataDir, 'secret.key');
  const inFolder = async <T>(work: (database: SqlDatabase) => Promise<T>): Promise<T> => {
    const database = new SqliteDatabase(openDatabase(dataDir));
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  };
  const open = (database: SqlDatabase, secretKey: string | null = null): Promise<SecretBox> =>
    openSecretBox({ database, nowUnixMs: () => 0 }, { dataDir, secretKey, oldSecretKeys: [] });

  it('makes a new key and encrypts everything with it', async () => {
    await inFolder(async (database) => fill(database, await open(database), 1_200));
    const before = readFileSync(keyFile(), 'utf8');
    expect(await rotate()).toMatchObject({ code: 0, err: expect.stringContaining('1200 texts') as string });
    const after = readFileSync(keyFile(), 'utf8');
    expect(after).toMatch(/^\S{44}\n$/);
    expect(after).not.toBe(before);
    const box = new SecretBox(Buffer.from(after, 'base64')); // the old key is not necessary
    expect(await inFolder((database) => overrides(database, box))).toEqual(expected(1_200));
  });

  it('goes on where it was interrupted', async () => {
    await inFolder(async (database) => fill(database, await open(database), 3));
    expect((await rotate({}, AbortSignal.abort())).code).not.toBe(0);
    expect(readFileSync(keyFile(), 'utf8').split('\n')).toHaveLength(3); // both keys are there
    expect(await inFolder(async (database) => overrides(database, await open(database)))).toEqual(expected(3));
    expect((await rotate()).code).toBe(0);
    expect(readFileSync(keyFile(), 'utf8').split('\n')).toHaveLength(2);
    expect(await inFolder(async (database) => overrides(database, await open(database)))).toEqual(expected(3));
  });

  it('waits for no daemon: one that runs has the old key', async () => {
    await inFolder(async (database) => fill(database, await open(database), 1));
    const key = readFileSync(keyFile(), 'utf8');
    const lock = new FolderLock(dataDir);
    expect(await rotate()).toMatchObject({ code: 1, err: expect.stringContaining('DATA_FOLDER_IN_USE') as string });
    lock.release();
    expect(readFileSync(keyFile(), 'utf8')).toBe(key);
  });

  it("goes over to the operator's key, also while a daemon runs with both", async () => {
    await inFolder(async (database) => fill(database, await open(database, A), 3));
    const lock = new FolderLock(dataDir);
    expect((await rotate({ PARLEY_SECRET_KEY: B, PARLEY_OLD_SECRET_KEYS: A })).code).toBe(0);
    lock.release();
    expect(await inFolder((database) => overrides(database, new SecretBox(KEY_B)))).toEqual(expected(3));
    expect(existsSync(keyFile())).toBe(false);
  });

  it('says what is wrong', async () => {
    expect((await rotate()).err).toContain('no database in the data folder');
    await inFolder(async (database) => fill(database, await open(database, A), 1));
    writeFileSync(keyFile(), `${B}\n`);
    expect(await rotate()).toMatchObject({ code: 1, err: expect.stringContaining('another key') as string });
    expect((await parley(['keys', 'rotate', 'now'])).code).toBe(2);
  });
});

describe.skipIf(!isPostgresInstalled)('parley keys rotate on PostgreSQL', () => {
  it('encrypts everything with the new key while a node uses the database, and retires the old one', async () => {
    const { url, remove } = await postgresUrl();
    const database = await openPostgres(url);
    const settings = { dataDir: '/nowhere', secretKey: A, oldSecretKeys: [] as string[] };
    const use = { database, nowUnixMs: () => 0 };
    const env = { PARLEY_DATABASE_URL: url, PARLEY_SIGNING_KEY: A };
    try {
      await fill(database, await openSecretBox(use, settings), 700);
      expect(await rotate({ ...env, PARLEY_SECRET_KEY: B })).toMatchObject({
        code: 1,
        err: expect.stringContaining('other nodes use') as string,
      });
      const node = await openSecretBox(use, { ...settings, secretKey: B, oldSecretKeys: [A] });
      const ran = await rotate({ ...env, PARLEY_SECRET_KEY: B, PARLEY_OLD_SECRET_KEYS: A });
      expect(ran).toMatchObject({ code: 0, err: expect.stringContaining('700 texts') as string });
      expect(ran.err).toContain(`Remove ${new SecretBox(KEY_A).keyId} from PARLEY_OLD_SECRET_KEYS`);
      expect(await overrides(database, node)).toEqual(expected(700));
      expect(await overrides(database, new SecretBox(KEY_B))).toEqual(expected(700));
      await openSecretBox(use, { ...settings, secretKey: B });
      await expect(openSecretBox(use, { ...settings, oldSecretKeys: [B] })).rejects.toThrow('has retired it');
      const again = await rotate({ ...env, PARLEY_SECRET_KEY: B });
      expect(again).toMatchObject({ code: 0, err: expect.stringContaining('0 texts') as string });
      const list = await parley(['keys', 'list', '--json'], { env: { PARLEY_DATABASE_URL: url } });
      expect(list.out).toBe('[]\n');
    } finally {
      await database.close();
      await remove();
    }
  });

  it('changes nothing while a node uses another key, and names it', async () => {
    const { url, remove } = await postgresUrl();
    const database = await openPostgres(url);
    const env = { PARLEY_DATABASE_URL: url, PARLEY_SIGNING_KEY: B, PARLEY_SECRET_KEY: B, PARLEY_OLD_SECRET_KEYS: A };
    const old = new SecretBox(KEY_A);
    const keys = { secret: old.keyId, signing: signingKeyId(KEY_B) };
    const report = {
      id: 'one',
      address: 'http://10.0.0.1:8080',
      version: '1',
      capacity: 1,
      sessions: 0,
      draining: false,
    };
    try {
      await fill(database, old, 2);
      const nodes = new NodeStore(database);
      await nodes.join(report, keys);
      expect(await rotate(env)).toMatchObject({
        code: 1,
        err: expect.stringContaining('the node one at http://10.0.0.1:8080 uses another') as string,
      });
      expect(await overrides(database, old)).toEqual(expected(2));
      await nodes.remove('one');
      await nodes.join({ ...report, id: 'two' }, { ...keys, secret: new SecretBox(KEY_B).keyId });
      expect((await rotate(env)).code).toBe(0);
      expect(await overrides(database, new SecretBox(KEY_B))).toEqual(expected(2));
    } finally {
      await database.close();
      await remove();
    }
  });
});
