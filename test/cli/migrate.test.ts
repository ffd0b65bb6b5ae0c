import Database from 'better-sqlite3';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs } from '../../src/base/real-clock.js';
import { packageFile } from '../../src/package-files.js';
import { MIGRATIONS, openDatabase } from '../../src/store/database.js';
import { FolderLock } from '../../src/store/folder-lock.js';
import { KnowledgeBase } from '../../src/store/knowledge.js';
import { openSecretBox } from '../../src/store/secret-keys.js';
import { PostgresLiveTables } from '../../src/store/postgres/postgres-live-tables.js';
import { NO_CHANGES } from '../../src/store/sql/changes.js';
import { sql } from '../../src/store/sql/statement.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../src/store/sqlite/sqlite-live-tables.js';
import { isPostgresInstalled, openPostgres, postgresUrl } from '../store/support/backends.js';
import { contentOf, fillFolder, SECRET_KEY, SIGNING_KEY, storesOf } from '../store/support/filled-folder.js';
import { parley, type Ran } from './support.js';

const BIN = fileURLToPath(packageFile('bin/parley.js'));
const KEYS = { PARLEY_SECRET_KEY: SECRET_KEY, PARLEY_SIGNING_KEY: SIGNING_KEY };

describe.runIf(isPostgresInstalled)('parley migrate', { timeout: 60_000 }, () => {
  let dataDir: string;
  let target: { url: string; remove: () => Promise<void> };

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-migrate-'));
    target = await postgresUrl();
  });
  afterEach(async () => {
    await target.remove();
    rmSync(dataDir, { recursive: true });
  });

  const migrate = (...more: string[]): Promise<Ran> =>
    parley(['migrate', '--from', dataDir, '--to', target.url, ...more], { env: KEYS });

  it('copies all tables as they are', async () => {
    await fillFolder(dataDir);
    const before = await folderContent(dataDir);
    const { code, out, err } = await migrate('--json');
    expect([code, err]).toEqual([0, expect.stringContaining('calls: 1200 rows copied')]);
    const { rows, moved } = JSON.parse(out) as { rows: Record<string, number>; moved: string[] };
    expect(Object.entries(rows).filter(([, count]) => count === 0)).toEqual([]);
    expect(rows).toMatchObject({ calls: 1200, campaign_records: 699, campaign_counts: 4, knowledge_files: 2 });
    expect(moved).toEqual(['knowledge.db.moved', 'parley.db.moved']);

    const database = await openPostgres(target.url);
    const settings = { dataDir, secretKey: SECRET_KEY, oldSecretKeys: [] };
    const box = await openSecretBox({ database, nowUnixMs }, settings);
    const stores = await storesOf(database, new PostgresLiveTables(database, NO_CHANGES), box);
    expect(await contentOf(stores)).toEqual(before);
    // New rows get numbers behind the copied ones.
    const added = await database.first(sql`INSERT INTO campaign_rejections (campaign_id, phone, metadata, reason)
      VALUES ('bread', 'y', '{}', 'none') RETURNING seq`);
    expect(added).toEqual({ seq: 5 });
    await database.close();
    const knowledge = new KnowledgeBase({ databaseUrl: target.url });
    const [passage] = await knowledge.search({
      text: 'Wann sind die Offnungszeiten?',
      fileIds: await knowledge.filesOf('baker'),
      language: 'de',
      limit: 1,
      signal: new AbortController().signal,
    });
    expect(passage).toMatchObject({ fileId: 'hours', heading: 'Öffnungszeiten' });
    await knowledge.close();

    expect(await migrate()).toMatchObject({ code: 1, err: expect.stringContaining('copied already') as string });
  });

  it('goes on after it was killed at any point', async () => {
    await fillFolder(dataDir, 6000);
    const states: string[] = [];
    for (const afterLine of [0, 3, 9, 20]) {
      const child = run(dataDir, target.url);
      await linesOf(child, afterLine);
      child.kill('SIGKILL');
      await once(child, 'exit');
      states.push(await stateOf(target.url));
      if (states.at(-1) === 'partly copied') {
        await expect(openPostgres(target.url)).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE' });
      }
    }
    expect(states).toContain('partly copied');
    const { code, out } = await migrate('--json');
    expect(code).toBe(0);
    expect((JSON.parse(out) as { rows: object }).rows).toMatchObject({ calls: 6000, campaign_records: 699 });
  });

  it('finishes when it was killed between the new names', async () => {
    await fillFolder(dataDir, 5);
    const copy = join(dataDir, 'copy');
    mkdirSync(copy);
    for (const name of ['parley.db', 'knowledge.db']) copyFileSync(join(dataDir, name), join(copy, name));
    expect(await migrate()).toMatchObject({ code: 0 });
    copyFileSync(join(copy, 'parley.db'), join(dataDir, 'parley.db'));
    expect(await migrate()).toMatchObject({ code: 0 });
    expect(
      readdirSync(dataDir)
        .filter((name) => name.includes('.db'))
        .toSorted(),
    ).toEqual(['knowledge.db.moved', 'parley.db.moved']);
  });

  it('refuses a folder that a daemon uses, or that has no data, and an address that is none', async () => {
    expect(await migrate()).toMatchObject({ code: 1, err: expect.stringContaining('holds no data') as string });
    await fillFolder(dataDir, 5);
    const lock = new FolderLock(dataDir);
    expect(await migrate()).toMatchObject({ code: 1, err: expect.stringContaining('DATA_FOLDER_IN_USE') as string });
    lock.release();
    expect(await parley(['migrate', '--from', dataDir, '--to', 'mysql://a'])).toMatchObject({ code: 2 });
    expect(await parley(['migrate', '--from', dataDir])).toMatchObject({ code: 2 });
  });

  it('refuses a database with other data, and says where', async () => {
    await fillFolder(dataDir, 5);
    const database = await openPostgres(target.url);
    await database.run(sql`INSERT INTO do_not_call (number, source, created_at) VALUES ('+1', 'rule', 1)`);
    expect(await migrate()).toMatchObject({ code: 1, err: expect.stringContaining('do_not_call') as string });
    await database.run(sql`DELETE FROM do_not_call`);
    await database.close();
    expect(await migrate()).toMatchObject({ code: 0 });
    const other = mkdtempSync(join(tmpdir(), 'parley-migrate-'));
    await fillFolder(other, 5);
    const second = await parley(['migrate', '--from', other, '--to', target.url], { env: KEYS });
    expect(second).toMatchObject({ code: 1, err: expect.stringContaining('another data folder') as string });
    rmSync(other, { recursive: true });
  });

  it('finds a row that differs', async () => {
    await fillFolder(dataDir, 5);
    const controller = new AbortController();
    const interrupted = await parley(['migrate', '--from', dataDir, '--to', target.url], {
      env: KEYS,
      signal: controller.signal,
      onOutput: (text) => {
        if (text.includes('calls: 5 rows copied')) controller.abort(new Error('SIGINT'));
      },
    });
    expect(interrupted.code).toBe(130);
    const file = new Database(join(dataDir, 'parley.db'));
    file.prepare(`UPDATE calls SET status = 'error' WHERE session_id = 's2'`).run();
    file.close();
    expect(await migrate()).toMatchObject({
      code: 1,
      err: expect.stringContaining('the table calls differs') as string,
    });
    expect(existsSync(join(dataDir, 'parley.db'))).toBe(true);
  });

  it('copies a folder of an earlier release, and leaves it as it is', async () => {
    const path = join(dataDir, 'parley.db');
    const old = new Database(path);
    for (const step of MIGRATIONS.slice(0, 16)) old.exec(step);
    old.pragma('user_version = 16');
    old.exec(`INSERT INTO do_not_call VALUES ('+12025550177', 'operator', NULL, 4)`);
    old.exec(`INSERT INTO dials (session_id, to_phone, at_us, reserved_s) VALUES ('cut-off', '+12025550178', 1, 60)`);
    old.close();
    copyFileSync(path, join(dataDir, 'before'));
    expect(await migrate()).toMatchObject({ code: 0 });
    const moved = new Database(`${path}.moved`, { readonly: true });
    expect(moved.pragma('user_version', { simple: true })).toBe(16);
    moved.close();
    const database = await openPostgres(target.url);
    expect(await database.all(sql`SELECT number FROM do_not_call`)).toEqual([{ number: '+12025550177' }]);
    // A node that is gone: the first one to start ends what it has left.
    expect(await database.all(sql`SELECT node_id FROM dials`)).toEqual([{ node_id: 'earlier-release' }]);
    await database.close();
  });

  it('lets no node use other keys than the folder had', async () => {
    await fillFolder(dataDir, 5);
    expect(await migrate()).toMatchObject({ code: 0 });
    const database = await openPostgres(target.url);
    const other = { dataDir, secretKey: Buffer.alloc(32, 9).toString('base64'), oldSecretKeys: [] };
    await expect(openSecretBox({ database, nowUnixMs }, other)).rejects.toMatchObject({ code: 'SECRETS_DIFFER' });
    await database.close();
  });
});

async function stateOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found = await client.query<{ has: boolean }>(`SELECT to_regclass('migration') IS NOT NULL AS has`);
  const states = found.rows[0]?.has
    ? (await client.query<{ state: string }>('SELECT DISTINCT state FROM migration')).rows.map(({ state }) => state)
    : [];
  await client.end();
  return states.length > 1 || states.includes('copied') ? 'partly copied' : (states[0] ?? 'not begun');
}

async function folderContent(dataDir: string): Promise<unknown> {
  const file = openDatabase(dataDir);
  const database = new SqliteDatabase(file);
  const box = await openSecretBox({ database, nowUnixMs }, { dataDir, secretKey: SECRET_KEY, oldSecretKeys: [] });
  const content = await contentOf(await storesOf(database, new SqliteLiveTables(file), box));
  await database.close();
  return JSON.parse(JSON.stringify(content).replaceAll(String.raw`\u0000`, '\uFFFD'));
}

function run(dataDir: string, url: string): ChildProcess {
  return spawn(process.execPath, [BIN, 'migrate', '--from', dataDir, '--to', url], {
    env: { PATH: process.env['PATH'], OLLAMA_HOST: 'http://127.0.0.1:9', ...KEYS },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** Resolves after so many lines of its error output, or its end. */
async function linesOf(child: ChildProcess, count: number): Promise<void> {
  let lines = 0;
  const ended = once(child, 'exit');
  for (;;) {
    if (lines >= count && count > 0) return;
    const more = child.stderr === null ? ended : once(child.stderr, 'data');
    const [data] = (await Promise.race([ended, more])) as [Buffer | number | null];
    if (!(data instanceof Buffer)) return;
    lines += data.toString().split('\n').length - 1;
    if (count === 0) return;
  }
}
