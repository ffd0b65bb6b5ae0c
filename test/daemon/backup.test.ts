import Database from 'better-sqlite3';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backUp } from '../../src/store/backup/backup.js';
import { openDatabase } from '../../src/store/database.js';
import { parley } from '../cli/support.js';
import { House, PRIVATE_KEY } from './house.js';

const HEADERS = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };

let folder: string;
let house: House | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-backup-'));
});

afterEach(async () => {
  await house?.close();
  house = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const run = (args: readonly string[], dataDir: string): ReturnType<typeof parley> =>
  parley([...args, '--data-dir', dataDir]);

function add(phone: string): Promise<{ status: number; body: unknown }> {
  if (house === undefined) throw new Error('no daemon');
  return house.ask('/do-not-call', { method: 'POST', headers: HEADERS, body: JSON.stringify({ phone }) });
}

/** Holds a conversation that ends at once. Returns its session id. */
async function talked(at: House): Promise<string> {
  const client = at.connect();
  await client.initiate();
  await client.inbox.find(({ data }) => data === 'Hello.');
  client.socket.close();
  await at.ended;
  const logged = async (): Promise<{ session_id: string; call_status: string } | undefined> => {
    const { body } = await at.ask('/call-logs', { headers: HEADERS });
    return (body as { histories: { session_id: string; call_status: string }[] }).histories[0];
  };
  await expect.poll(async () => (await logged())?.call_status).toBe('user-ended');
  return (await logged())?.session_id ?? '';
}

async function numbers(): Promise<string[]> {
  const { body } = await (house as House).ask('/do-not-call', { headers: HEADERS });
  return (body as { phone: string }[]).map(({ phone }) => phone);
}

describe('parley backup and parley restore', () => {
  it('take a running daemon to another folder: the same agents, keys and numbers', async () => {
    house = await House.open();
    await house.daemon.adopt();
    const made = await house.ask('/keys', {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ kind: 'private', name: 'second' }),
    });
    const { key } = made.body as { key: string };
    mkdirSync(join(house.dataDir, 'recordings'), { recursive: true });
    writeFileSync(join(house.dataDir, 'recordings', 'call.wav'), 'sound');
    const session = await talked(house);

    await add('+12025550100');
    const file = join(folder, 'parley.tar');
    // It writes on while the backup is made.
    const writes = Promise.all(Array.from({ length: 40 }, (_, at) => add(`+1202555${String(1000 + at)}`)));
    const made1 = await run(['backup', file, '--recordings'], house.dataDir);
    await writes;
    expect(made1).toMatchObject({ code: 0, err: '' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const listed = execFileSync('tar', ['-tf', file]).toString().split('\n');
    expect(listed).toEqual(expect.arrayContaining(['manifest.json', 'parley.db', 'secret.key', 'recordings/call.wav']));
    expect(readdirSync(folder)).toEqual(['parley.tar']);
    const taken = await run(['backup', file], house.dataDir);
    expect(taken).toMatchObject({ code: 1, err: expect.stringContaining('the file exists already') as string });

    const busy = await run(['restore', file], house.dataDir);
    expect(busy).toMatchObject({ code: 1, err: expect.stringContaining('DATA_FOLDER_IN_USE') as string });
    const before = await house.ask('/agents/baker', { headers: HEADERS });
    await house.close();

    const elsewhere = join(folder, 'elsewhere');
    const restored = await run(['restore', file], elsewhere);
    expect(restored).toMatchObject({ code: 0 });
    house = await House.open({ dataDir: elsewhere, apiKey: null });
    expect(house.daemon.newPrivateKey).toBeNull();
    expect(await numbers()).toContain('+12025550100');
    expect(await house.ask('/agents/baker', { headers: { authorization: key } })).toEqual(before);
    expect((await run(['calls', 'show', session], elsewhere)).out).toContain(join(elsewhere, 'traces'));
    expect(await parley(['replay', join(elsewhere, 'traces', `${session}.jsonl`)])).toMatchObject({ code: 0 });
    expect(readFileSync(join(elsewhere, 'recordings', 'call.wav'), 'utf8')).toBe('sound');
  });

  it('keep what was there, and pause campaigns that were calling', async () => {
    const dataDir = join(folder, 'data');
    const database = openDatabase(dataDir);
    const insert = database.prepare(
      `INSERT INTO campaigns (id, name, status, caller, include_metadata_in_prompt, overrides, created_at)
       VALUES (?, 'All', ?, '+12025550100', 0, '{}', 1)`,
    );
    insert.run('one', 'started');
    insert.run('two', 'idle');
    database.close();
    const file = join(folder, 'parley.tar');
    expect((await run(['backup', file, '--json'], dataDir)).code).toBe(0);
    const later = openDatabase(dataDir);
    later.exec("INSERT INTO do_not_call (number, source, created_at) VALUES ('+12025550199', 'operator', 1)");
    later.close();
    const { code, out } = await run(['restore', file, '--json'], dataDir);
    expect(code).toBe(0);
    const reported = JSON.parse(out) as { kept_aside: string; paused_campaigns: number };
    expect(reported.paused_campaigns).toBe(1);
    const rows = (path: string, sql: string): unknown[] => {
      const opened = new Database(path);
      const found = opened.prepare(sql).all();
      opened.close();
      return found;
    };
    expect(rows(join(reported.kept_aside, 'parley.db'), 'SELECT number FROM do_not_call')).toHaveLength(1);
    expect(rows(join(dataDir, 'parley.db'), 'SELECT number FROM do_not_call')).toHaveLength(0);
    expect(rows(join(dataDir, 'parley.db'), 'SELECT status FROM campaigns ORDER BY id')).toEqual([
      { status: 'paused' },
      { status: 'idle' },
    ]);
  });

  it('leave the keys out where they should', async () => {
    const dataDir = join(folder, 'data');
    openDatabase(dataDir).close();
    writeFileSync(join(dataDir, 'secret.key'), 'key');
    const file = join(folder, 'parley.tar');
    await run(['backup', file, '--without-keys'], dataDir);
    expect(execFileSync('tar', ['-tf', file]).toString()).not.toContain('secret.key');
    writeFileSync(join(dataDir, 'secret.key'), 'the key that stays');
    expect((await run(['restore', file], dataDir)).code).toBe(0);
    expect(readFileSync(join(dataDir, 'secret.key'), 'utf8')).toBe('the key that stays');
  });

  it('refuse what is no whole backup, and replace nothing then', async () => {
    const dataDir = join(folder, 'data');
    const database = openDatabase(dataDir);
    database.exec("INSERT INTO do_not_call (number, source, created_at) VALUES ('+12025550199', 'operator', 1)");
    database.close();
    const file = join(folder, 'parley.tar');
    await run(['backup', file], dataDir);
    const good = readFileSync(file);
    const mangled = {
      'cut short': good.subarray(0, good.length - 4096),
      empty: Buffer.alloc(0),
      'another kind of file': Buffer.from('PK\u0003\u0004'.padEnd(2000, 'x')),
      'a changed byte': Buffer.from(good),
      'of a later parley': await later(dataDir),
    };
    mangled['a changed byte'][good.length - 5000] = 255 - (good[good.length - 5000] ?? 0);
    for (const [name, content] of Object.entries(mangled)) {
      const bad = join(folder, `${name}.tar`);
      writeFileSync(bad, content);
      const { code, err } = await run(['restore', bad], dataDir);
      expect({ name, code }).toEqual({ name, code: 1 });
      expect(err, name).toContain('BACKUP_INVALID');
    }
    expect((await run(['restore', join(folder, 'none.tar')], dataDir)).err).toContain('FILE_NOT_READABLE');
    expect(readdirSync(dataDir).filter((name) => name.includes('restore'))).toEqual([]);
    const opened = openDatabase(dataDir);
    expect(opened.prepare('SELECT number FROM do_not_call').all()).toHaveLength(1);
    opened.close();
  });

  it('say so where there is nothing', async () => {
    const { code, err } = await run(['backup', join(folder, 'x.tar')], join(folder, 'nothing'));
    expect(code).toBe(1);
    expect(err).toContain('it holds no data of a daemon');
    expect(existsSync(join(folder, 'x.tar'))).toBe(false);
    expect((await parley(['backup'])).code).toBe(2);
    expect((await parley(['restore'])).code).toBe(2);
  });
});

/** A backup of a database whose schema is from the future. */
async function later(dataDir: string): Promise<Buffer> {
  const other = join(folder, 'later');
  mkdirSync(other);
  execFileSync('cp', [join(dataDir, 'parley.db'), other]);
  const database = new Database(join(other, 'parley.db'));
  database.pragma('user_version = 9999');
  database.close();
  await backUp({
    dataDir: other,
    withoutDatabases: false,
    to: join(other, 'b.tar'),
    recordings: false,
    keys: true,
    unixMs: 0,
  });
  return readFileSync(join(other, 'b.tar'));
}
