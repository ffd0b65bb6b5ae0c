import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkPostgres } from '../../src/cli/doctor/postgres.js';
import type { Check } from '../../src/cli/doctor/check.js';
import { nowUnixMs } from '../../src/base/real-clock.js';
import { isPostgresInstalled, openPostgres, postgresUrl } from '../store/support/backends.js';

describe.runIf(isPostgresInstalled)('parley doctor on PostgreSQL', () => {
  let url: string;
  let remove: () => Promise<void>;

  beforeEach(async () => {
    ({ url, remove } = await postgresUrl());
  });
  afterEach(() => remove());

  const check = (databaseUrl = url, now = nowUnixMs): Promise<Check[]> => checkPostgres({ databaseUrl }, now);
  const faults = (checks: readonly Check[]): string[] =>
    checks.flatMap(({ level, text }) => (level === 'ok' ? [] : text));

  async function query(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(text);
    await client.end();
  }

  it('has nothing to say of a data folder', async () => {
    expect(await checkPostgres({ databaseUrl: null }, nowUnixMs)).toEqual([]);
  });

  it('finds a new database and one in use in order, and changes neither', async () => {
    const before = await check();
    expect(faults(before)).toEqual([]);
    expect(before.map(({ text }) => text)).toContain('the first node that starts will create its tables');
    await (await openPostgres(url)).close();
    const after = await check();
    expect(faults(after)).toEqual([]);
    const texts = after.map(({ text }) => text);
    expect(texts[0]).toMatch(/^reached: PostgreSQL \d+/);
    expect(texts).toEqual(expect.arrayContaining([expect.stringMatching(/^schema \d+$/) as string]));
    expect(texts).toEqual(expect.arrayContaining([expect.stringMatching(/enough for \d+ nodes/) as string]));
  });

  it('says why a database cannot be reached or used', async () => {
    const nowhere = new URL(url);
    nowhere.port = '9';
    expect(await check(nowhere.href)).toMatchObject([
      { level: 'problem', text: expect.stringContaining('cannot be reached') as string },
    ]);
    const missing = new URL(url);
    missing.pathname = '/none';
    expect(await check(missing.href)).toMatchObject([
      { level: 'problem', text: expect.stringContaining('none') as string },
    ]);
  });

  it('finds another schema, half a copy, missing rights and a clock that is wrong', async () => {
    await (await openPostgres(url)).close();
    await query(`UPDATE parley_schema SET version = 16`);
    expect(faults(await check())).toEqual([expect.stringMatching(/^schema 16, this release has/)]);
    await query(`UPDATE parley_schema SET version = 99, readable_from = 17;
      INSERT INTO migration (name, source, state, copied) VALUES ('calls', 'x', 'copying', 0)`);
    expect(faults(await check())).toEqual([
      expect.stringMatching(/^schema 99, this release has/),
      expect.stringContaining('copied into it only in part'),
    ]);
    await query(`UPDATE parley_schema SET readable_from = 99`);
    expect(faults(await check())).toEqual([expect.stringContaining('a later version of parley')]);
    expect(faults(await check(url, () => nowUnixMs() - 60_000))).toContainEqual(
      expect.stringMatching(/^the clock of this machine is (?:59|60)\d{3} ms behind the server's$/),
    );
  });

  it('finds a user without rights, and too many nodes', async () => {
    await (await openPostgres(url)).close();
    const name = `reader_${new URL(url).pathname.slice(-8)}`;
    await query(`CREATE ROLE ${name} LOGIN; GRANT SELECT ON parley_schema, migration, nodes TO ${name};
      INSERT INTO nodes (id, address, version, capacity, sessions, draining, started_us, heartbeat_us,
          secret_key_id, signing_key_id)
        SELECT n::text, '', '1', 1, 0, 0, 1, 1, '', '' FROM generate_series(1, 50) AS n`);
    const reader = new URL(url);
    reader.username = name;
    const found = faults(await check(reader.href));
    expect(found).toEqual([
      'the user may not create tables',
      expect.stringContaining('the user may not write the table'),
      expect.stringMatching(/50 run$/),
    ]);
    await query(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
  });
});
