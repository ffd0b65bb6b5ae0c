import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs } from '../../src/base/real-clock.js';
import { StoredMemories } from '../../src/store/memory.js';
import { sql } from '../../src/store/sql/statement.js';
import { isPostgresInstalled, openPostgres, postgresUrl } from '../store/support/backends.js';
import { parley, type Ran } from './support.js';

describe.runIf(isPostgresInstalled)('commands with PARLEY_DATABASE_URL', () => {
  let url: string;
  let remove: () => Promise<void>;
  let dataDir: string;

  beforeEach(async () => {
    ({ url, remove } = await postgresUrl());
    dataDir = mkdtempSync(join(tmpdir(), 'parley-commands-'));
  });
  afterEach(async () => {
    await remove();
    rmSync(dataDir, { recursive: true });
  });

  const run = (...args: string[]): Promise<Ran> =>
    parley(args, { env: { PARLEY_DATA_DIR: dataDir, PARLEY_DATABASE_URL: url } });

  it('list, create and revoke keys', async () => {
    expect(await run('keys', 'list', '--json')).toMatchObject({ code: 0, out: '[]\n' });
    const created = JSON.parse((await run('keys', 'create', 'private', '--name', 'ci', '--json')).out) as {
      id: string;
    };
    expect((await run('keys', 'list')).out).toContain(created.id);
    expect(await run('keys', 'revoke', created.id)).toMatchObject({ code: 0 });
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('keep the do-not-call list and memories', async () => {
    expect(await run('do-not-call', 'add', '+12025550177')).toMatchObject({ code: 0 });
    expect((await run('do-not-call', 'list')).out).toContain('+12025550177');
    const database = await openPostgres(url);
    const memories = new StoredMemories({ database, retentionDays: 9, nowUnixMs });
    await memories.keep({ agentId: 'a', user: 'Ann', sessionId: 's', text: 'rye', unixMs: nowUnixMs() });
    await database.close();
    expect((await run('memories', 'list')).out).toContain('rye');
    expect(await run('memories', 'erase', '--user', 'Ann')).toMatchObject({ out: 'erased: 1\n' });
  });

  it('list and erase calls', async () => {
    expect(await run('calls', 'list', '--json')).toMatchObject({ code: 0 });
    const database = await openPostgres(url);
    await database.run(
      sql`INSERT INTO calls (ts_us, session_id, channel, direction, from_phone, status, ended_us, item)
          VALUES (1, 's1', 'phone', 'inbound', '+12025550101', 'user-ended', 2, '{}')`,
    );
    await database.close();
    expect((await run('calls', 'erase', '--phone', '+12025550101', '--json')).out).toContain('"calls":1');
  });

  it('back up the files of a node, and say where the data are', async () => {
    writeFileSync(join(dataDir, 'secret.key'), 'key');
    const file = join(dataDir, 'node.tar');
    const { code, out, err } = await run('backup', file);
    expect([code, out]).toEqual([0, 'secret.key  3 bytes\n']);
    expect(err).toContain('pg_dump');
    expect(await run('restore', file)).toMatchObject({ code: 0 });
  });

  it('refuse to put the databases of a folder beside it', async () => {
    const other = mkdtempSync(join(tmpdir(), 'parley-commands-'));
    const env = { PARLEY_DATA_DIR: other };
    await parley(['do-not-call', 'add', '+12025550177'], { env });
    await parley(['backup', join(other, 'all.tar')], { env });
    expect(await run('restore', join(other, 'all.tar'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('PARLEY_DATABASE_URL') as string,
    });
    rmSync(other, { recursive: true });
  });
});
