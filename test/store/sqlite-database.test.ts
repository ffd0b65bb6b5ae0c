import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { run, sql } from '../../src/store/sql/statement.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';

const file = new Database(':memory:');
file.exec('CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT');
const database = new SqliteDatabase(file);
const names = async (): Promise<unknown[]> =>
  (await database.all<{ name: string }>(sql`SELECT name FROM things ORDER BY id`)).map(({ name }) => name);

afterEach(() => database.run(sql`DELETE FROM things`));

describe('statements', () => {
  it('take values as parameters and statements as parts', async () => {
    const columns = sql`id, name`;
    const wanted = sql`name = ${"Robert'); DROP TABLE things;--"}`;
    await database.run(sql`INSERT INTO things (${columns}) VALUES (${7}, ${"Robert'); DROP TABLE things;--"})`);
    const both = sql`SELECT ${columns} FROM things WHERE id = ${7} AND ${wanted}`;
    expect(both.text).toBe('SELECT id, name FROM things WHERE id = ? AND name = ?');
    expect(await database.first(both)).toEqual({ id: 7, name: "Robert'); DROP TABLE things;--" });
  });

  it('say how many rows they changed, with and without RETURNING', async () => {
    expect(await database.run(sql`INSERT INTO things (name) VALUES ('a'), ('b')`)).toBe(2);
    expect(await database.run(sql`UPDATE things SET name = name || '!' RETURNING id`)).toBe(2);
    expect(await database.first(sql`SELECT 1 FROM things WHERE name = 'a'`)).toBeNull();
  });

  it('take effect when they are called, and reject with their faults', async () => {
    const first = database.run(sql`INSERT INTO things (name) VALUES ('a')`);
    const again = database.run(sql`INSERT INTO things (name) VALUES ('a')`);
    const second = database.run(sql`INSERT INTO things (name) VALUES ('b')`);
    await expect(again).rejects.toThrow('UNIQUE');
    expect(await Promise.all([first, second])).toEqual([1, 1]);
    expect(await names()).toEqual(['a', 'b']);
  });
});

describe('a transaction', () => {
  it('is done whole before anything else, or not at all', async () => {
    const both = database.transaction(function* () {
      const changed = yield* run(sql`INSERT INTO things (name) VALUES ('a')`);
      return changed + (yield* run(sql`INSERT INTO things (name) VALUES ('b')`));
    });
    const after = names();
    expect([await both, await after]).toEqual([2, ['a', 'b']]);
    const broken = database.transaction(function* () {
      yield* run(sql`DELETE FROM things`);
      throw new Error('changed my mind');
    });
    await expect(broken).rejects.toThrow('changed my mind');
    expect(await names()).toEqual(['a', 'b']);
  });
});
