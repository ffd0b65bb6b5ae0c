import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { Daemon } from '../../src/daemon/daemon.js';
import { Engine } from '../../src/engine/engine.js';
import { openDatabase } from '../../src/store/database.js';
import { KeyStore } from '../../src/store/keys.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../src/store/sqlite/sqlite-live-tables.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-keys-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Starts a daemon in the folder and ends it; returns the private key that it made. */
async function firstStart(settings: { apiKey?: string } = {}, dataDir = join(folder, 'data')): Promise<string | null> {
  const daemon = await Daemon.prepare({
    settings: { ...DEFAULT_SETTINGS, ...settings, dataDir },
    engine: new Engine(),
    agents: [],
  });
  await daemon.close();
  return daemon.newPrivateKey;
}

function everyByte(dataDir: string): string {
  return readdirSync(dataDir)
    .map((name) => readFileSync(join(dataDir, name), 'latin1'))
    .join('\n');
}

async function find(key: string): Promise<string | undefined> {
  const database = openDatabase(join(folder, 'data'));
  const keys = await KeyStore.open(new SqliteDatabase(database), new SqliteLiveTables(database), () => 0);
  const kind = keys.find(key)?.kind;
  database.close();
  return kind;
}

describe('keys', () => {
  it('are printed once, at the first start', async () => {
    const key = await firstStart();
    expect(key).toMatch(/^sk_.{43}$/);
    expect(await firstStart()).toBeNull();
    expect(await find(key ?? '')).toBe('private');
  });

  it('are not made where the operator has chosen one', async () => {
    expect(await firstStart({ apiKey: 'sk_of_mine' })).toBeNull();
    expect(await find('sk_of_mine')).toBe('private');
    expect(await find('sk_of_yours')).toBeUndefined();
  });

  it('of the environment follow it: another one takes the place of the first, and a revoked one is good again', async () => {
    await firstStart({ apiKey: 'sk_first' });
    await firstStart({ apiKey: 'sk_second' });
    expect([await find('sk_first'), await find('sk_second')]).toEqual([undefined, 'private']);
    await firstStart({ apiKey: 'sk_first' });
    expect([await find('sk_first'), await find('sk_second')]).toEqual(['private', undefined]);
    expect(await firstStart()).toBeNull(); // named no more, it stays
    expect(await find('sk_first')).toBe('private');
    await firstStart({ apiKey: 'sk_second' });
    expect([await find('sk_first'), await find('sk_second')]).toEqual(['private', 'private']);
  });

  it('lie in the database as hashes only', async () => {
    const key = (await firstStart()) ?? '';
    await firstStart({ apiKey: 'sk_chosen_by_the_operator' });
    const bytes = everyByte(join(folder, 'data'));
    expect(bytes).toContain('first key');
    expect(bytes).not.toContain(key);
    expect(bytes).not.toContain('sk_chosen_by_the_operator');
  });
});

describe('the data folder', () => {
  it('is made for its owner alone', async () => {
    await firstStart();
    expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
  });

  it('may be an older one that others can read: the database is not theirs', async () => {
    const shared = join(folder, 'shared');
    mkdirSync(shared, { mode: 0o755 });
    await firstStart({}, shared);
    expect(statSync(join(shared, 'parley.db')).mode & 0o777).toBe(0o600);
  });

  it('that belongs to a later version is refused', async () => {
    await firstStart();
    const database = openDatabase(join(folder, 'data'));
    database.pragma('user_version = 999');
    database.close();
    await expect(firstStart()).rejects.toThrow('999');
  });
});
