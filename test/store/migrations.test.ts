import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseFile, MIGRATIONS, openDatabase, SCHEMA_VERSION } from '../../src/store/database.js';
import type { SqlValue } from '../../src/store/sql/statement.js';
import { backends, type TestDatabase } from './support/backends.js';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-migrations-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

interface Column {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

/** A database as the first `version` steps have left it, with a row or two in every table that they made. */
function databaseAt(version: number): Map<string, number> {
  const database = new Database(databaseFile(dataDir));
  for (const step of MIGRATIONS.slice(0, version)) database.exec(step);
  database.pragma(`user_version = ${String(version)}`);
  const counts = new Map<string, number>();
  for (const table of tablesOf(database)) {
    for (const seed of [1, 2]) insert(database, table, seed);
    counts.set(table, countOf(database, table));
  }
  database.close();
  return counts;
}

function tablesOf(database: Database.Database): string[] {
  return (
    database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
      .all() as { name: string }[]
  ).map(({ name }) => name);
}

function countOf(database: Database.Database, table: string): number {
  return (database.prepare(`SELECT COUNT(*) AS count FROM ${table}`).get() as { count: number }).count;
}

interface MadeRow {
  names: string;
  values: SqlValue[];
}

/** A row of values that the table's columns and checks take. Rows of one seed refer to each other. */
function rowOf(database: Database.Database, table: string, seed: number): MadeRow {
  const columns = database.prepare(`PRAGMA table_xinfo(${table})`).all() as (Column & { hidden: number })[];
  const sql = (database.prepare('SELECT sql FROM sqlite_master WHERE name = ?').get(table) as { sql: string }).sql;
  const usable = columns.filter(({ hidden }) => hidden === 0);
  const values = usable.map(({ name, type }) => {
    const allowed = new RegExp(`\\b${name}\\s[^,]*?CHECK \\(${name} IN \\('([^']*)'`).exec(sql)?.[1];
    if (allowed !== undefined) return allowed;
    if (type === 'INTEGER' || type === 'REAL')
      return new RegExp(`CHECK \\(${name} (?:= 1|IN \\(0, 1\\))`).test(sql) ? 1 : seed;
    if (type === 'BLOB') return Buffer.from(`${table} ${String(seed)}`);
    return /config|item|messages|metadata|overrides|tags|headers|records/.test(name)
      ? '{}'
      : `+1202555010${String(seed)}`;
  });
  return { names: usable.map(({ name }) => `"${name}"`).join(', '), values };
}

function insert(database: Database.Database, table: string, seed: number): void {
  const { names, values } = rowOf(database, table, seed);
  database
    .prepare(`INSERT OR IGNORE INTO ${table} (${names}) VALUES (${values.map(() => '?').join(', ')})`)
    .run(values);
}

function schemaOf(database: Database.Database): unknown[] {
  return database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name').all();
}

describe('the migrations', () => {
  it.each(Array.from({ length: MIGRATIONS.length + 1 }, (_, version) => version))(
    'take a database of version %i to this one, with every row that it had',
    (version) => {
      const before = databaseAt(version);
      const database = openDatabase(dataDir);
      expect(database.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION);
      expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
      const there = new Set(tablesOf(database));
      for (const [table, rows] of before) {
        expect(rows, table).toBeGreaterThan(0); // some tables have one row at most
        if (there.has(table)) expect({ table, rows: countOf(database, table) }).toEqual({ table, rows });
      }
      const migrated = schemaOf(database);
      database.close();
      const fresh = openDatabase(mkdtempSync(join(dataDir, 'fresh-')));
      expect(migrated).toEqual(schemaOf(fresh));
      fresh.close();
    },
  );

  it('refuse a database of a later parley, and leave it alone', () => {
    databaseAt(MIGRATIONS.length);
    const database = new Database(databaseFile(dataDir));
    database.pragma(`user_version = ${String(SCHEMA_VERSION + 1)}`);
    database.close();
    expect(() => openDatabase(dataDir)).toThrow(/it has schema \d+, this version of parley knows \d+/);
  });

  it('do a step whole or not at all', () => {
    databaseAt(1);
    const database = new Database(databaseFile(dataDir));
    database.exec('CREATE TABLE phones (in_the_way TEXT)');
    database.close();
    expect(() => openDatabase(dataDir)).toThrow('already exists');
    const after = new Database(databaseFile(dataDir));
    expect(after.pragma('user_version', { simple: true })).toBe(1);
    expect(tablesOf(after)).toEqual(['keys', 'phones']);
    after.close();
  });
});

describe.each(backends)('nodes of the release before, in $name', ({ open }) => {
  let opened: TestDatabase;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.remove());

  it('write and read every table of their schema while this release has updated it', async () => {
    const before = new Database(':memory:');
    for (const step of MIGRATIONS.slice(0, -1)) before.exec(step);
    const { database } = opened;
    for (const table of tablesOf(before)) {
      const { names, values } = rowOf(before, table, 1);
      const marks = values.map(() => '?').join(', ');
      await database.run({ text: `INSERT INTO ${table} (${names}) VALUES (${marks}) ON CONFLICT DO NOTHING`, values });
      const rows = await database.all({ text: `SELECT ${names} FROM ${table}`, values: [] });
      expect(rows.length, table).toBeGreaterThan(0);
    }
    before.close();
  });
});
