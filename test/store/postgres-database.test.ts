import Database from 'better-sqlite3';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/store/database.js';
import { PostgresDatabase } from '../../src/store/postgres/postgres-database.js';
import { POSTGRES_SCHEMA_VERSION } from '../../src/store/postgres/schema.js';
import { run, sql } from '../../src/store/sql/statement.js';
import { isPostgresInstalled, openPostgres, postgresUrl } from './support/backends.js';

it('has the same schema version on both databases', () => {
  expect(POSTGRES_SCHEMA_VERSION).toBe(SCHEMA_VERSION);
});

describe.skipIf(!isPostgresInstalled)('PostgreSQL', () => {
  let url: string;
  let remove: () => Promise<void>;
  let database: PostgresDatabase;

  beforeAll(async () => {
    ({ url, remove } = await postgresUrl());
    database = await openPostgres(url);
    await database.run(sql`CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, count BIGINT)`);
  });

  afterEach(() => database.run(sql`DELETE FROM things`));

  afterAll(async () => {
    await database.close();
    await remove();
  });

  it('has the tables and columns of a data folder', async () => {
    const folder = new Database(':memory:');
    for (const step of MIGRATIONS) folder.exec(step);
    const wanted = folder
      .prepare<unknown[], string>(
        `SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY 1`,
      )
      .pluck()
      .all();
    folder.close();
    const rows = await database.all<{ name: string }>(
      sql`SELECT table_name || '.' || column_name AS name FROM information_schema.columns
          WHERE table_schema = 'public' AND column_name <> 'rowid' AND table_name NOT IN
              ('things', 'parley_schema', 'changes', 'secret_keys', 'session_token_uses', 'waiting_writes', 'migration')
            AND table_name NOT LIKE 'knowledge_%'`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual([...wanted].sort());
  });

  it('runs statements, and says how many rows they changed', async () => {
    expect(
      await database.run(sql`INSERT INTO things (id, name) VALUES (${1}, ${"Rob'); DROP TABLE things"}), (2, 'b')`),
    ).toBe(2);
    expect(await database.first(sql`SELECT id, name FROM things WHERE id = ${1}`)).toEqual({
      id: 1,
      name: "Rob'); DROP TABLE things",
    });
    expect(await database.run(sql`UPDATE things SET name = name || '!' RETURNING id`)).toBe(2);
    expect(await database.first(sql`SELECT 1 FROM things WHERE id = 9`)).toBeNull();
    expect(await database.all(sql`SELECT ${new Uint8Array([1, 255])} = '\\x01ff'::bytea AS same`)).toEqual([
      { same: true },
    ]);
    await expect(database.run(sql`INSERT INTO things (id, name) VALUES (1, 'c')`)).rejects.toThrow('duplicate key');
  });

  it('does all of a transaction or nothing, and goes on with the connection', async () => {
    const broken = database.transaction(function* () {
      yield* run(sql`INSERT INTO things (id, name) VALUES (1, 'a')`);
      throw new Error('changed my mind');
    });
    await expect(broken).rejects.toThrow('changed my mind');
    const repeated = database.transaction(function* () {
      yield* run(sql`INSERT INTO things (id, name) VALUES (1, 'a')`);
      yield* run(sql`INSERT INTO things (id, name) VALUES (1, 'b')`);
    });
    await expect(repeated).rejects.toThrow('duplicate key');
    expect(await database.all(sql`SELECT * FROM things`)).toEqual([]);
  });

  it('runs transactions with one lock one after the other', async () => {
    await database.run(sql`INSERT INTO things (id, name, count) VALUES (1, 'a', 0)`);
    const add = (): Promise<number> =>
      database.transaction(function* () {
        const { rows } = yield sql`SELECT count FROM things WHERE id = 1`;
        const [{ count }] = rows as [{ count: number }];
        return yield* run(sql`UPDATE things SET count = ${count + 1} WHERE id = 1`);
      }, 'things');
    await Promise.all(Array.from({ length: 40 }, add));
    expect(await database.first(sql`SELECT count FROM things WHERE id = 1`)).toEqual({ count: 40 });
  });

  it('runs a transaction again that was in a deadlock', async () => {
    await database.run(sql`INSERT INTO things (id, name, count) VALUES (1, 'a', 0), (2, 'b', 0)`);
    const add = (first: number, second: number): Promise<void> =>
      database.transaction(function* () {
        yield* run(sql`UPDATE things SET count = count + 1 WHERE id = ${first}`);
        yield sql`SELECT pg_sleep(0.05)`;
        yield* run(sql`UPDATE things SET count = count + 1 WHERE id = ${second}`);
      });
    await Promise.all([add(1, 2), add(2, 1)]);
    expect(await database.all(sql`SELECT count FROM things`)).toEqual([{ count: 2 }, { count: 2 }]);
  });

  it('takes a new connection for one that is lost between two statements', async () => {
    const lost = database.transaction(function* () {
      yield* run(sql`INSERT INTO things (id, name) VALUES (1, 'a')`);
      yield sql`SELECT pg_terminate_backend(pg_backend_pid())`;
    });
    await expect(lost).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE', retryable: true });
    expect(await database.all(sql`SELECT * FROM things`)).toEqual([]);
  });

  it('ends a statement that takes too long', async () => {
    const hasty = new PostgresDatabase({ url, poolSize: 1, statementTimeoutMs: 50, onError: () => undefined });
    await expect(hasty.run(sql`SELECT pg_sleep(5)`)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    expect(await hasty.first(sql`SELECT 1 AS one`)).toEqual({ one: 1 });
    await hasty.close();
    await hasty.close();
  });

  it('names a server that it cannot reach or use', async () => {
    const options = { poolSize: 1, statementTimeoutMs: 1_000, onError: (): void => undefined };
    const at = (change: (url: URL) => void): string => {
      const other = new URL(url);
      change(other);
      return other.href;
    };
    await expect(PostgresDatabase.open({ ...options, url: at((to) => (to.port = '1')) })).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
    });
    await expect(PostgresDatabase.open({ ...options, url: at((to) => (to.pathname = 'none')) })).rejects.toMatchObject({
      code: 'DATABASE_UNUSABLE',
      message: expect.stringContaining('"none" does not exist') as string,
    });
  });
});

describe.skipIf(!isPostgresInstalled)('the schema on PostgreSQL', () => {
  let url: string;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    ({ url, remove } = await postgresUrl());
  });

  afterAll(() => remove());

  async function query(text: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(text);
    await client.end();
    return rows;
  }

  it('is created once by nodes that start at the same time', async () => {
    const nodes = await Promise.all(Array.from({ length: 4 }, () => openPostgres(url)));
    for (const node of nodes) await node.close();
    expect(await query('SELECT * FROM parley_schema')).toEqual([
      { version: String(SCHEMA_VERSION), readable_from: expect.any(String) as string },
    ]);
  });

  it('of the next release is used as long as that release says so, else refused', async () => {
    const later = SCHEMA_VERSION + 1;
    await query(`UPDATE parley_schema SET version = ${String(later)}, readable_from = ${String(SCHEMA_VERSION)}`);
    await (await openPostgres(url)).close();
    expect(await query('SELECT version FROM parley_schema')).toEqual([{ version: String(later) }]);
    await query(`UPDATE parley_schema SET readable_from = ${String(later)}`);
    await expect(openPostgres(url)).rejects.toMatchObject({
      code: 'DATABASE_UNUSABLE',
      message: expect.stringContaining(`it has schema ${String(later)}`) as string,
    });
  });
});
