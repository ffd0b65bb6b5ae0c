import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ParleyError } from '../../src/base/errors.js';
import { RealClock } from '../../src/base/real-clock.js';
import { sql, type SqlDatabase, type Statement } from '../../src/store/sql/statement.js';
import { WatchedDatabase } from '../../src/store/sql/watched-database.js';
import { sqlite, type TestDatabase } from './support/backends.js';

let opened: TestDatabase;
let isCut: boolean;
let changes: boolean[];
let asked: string[];
let watched: WatchedDatabase;

beforeEach(async () => {
  opened = await sqlite.open();
  isCut = false;
  changes = [];
  asked = [];
  const behind = Object.assign(Object.create(opened.database) as SqlDatabase, {
    dialect: opened.database.dialect,
    first: async (statement: Statement) => {
      asked.push(statement.text);
      if (isCut) throw new ParleyError('DATABASE_UNREACHABLE', { reason: 'cut' });
      if (statement.text.includes('slow')) throw new ParleyError('DATABASE_UNREACHABLE', { reason: 'too slow' });
      return opened.database.first(statement);
    },
    close: () => opened.database.close(),
  });
  watched = new WatchedDatabase(behind, {
    clock: new RealClock(),
    onChange: (isReachable) => changes.push(isReachable),
  });
});

afterEach(async () => {
  await watched.close();
  await opened.remove();
});

const ask = (what = 'it'): Promise<unknown> => watched.first({ text: `SELECT 1 AS ${what}`, values: [] });

describe('a database that is watched', () => {
  it('fails at once while it cannot be reached, and works when it is back', async () => {
    expect(await ask()).toEqual({ it: 1 });
    isCut = true;
    await expect(ask()).rejects.toThrow('cut');
    await vi.waitUntil(() => watched.fault !== null);
    const before = asked.length;
    await expect(watched.run(sql`DELETE FROM calls`)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    expect(asked.slice(before)).not.toContain('DELETE FROM calls');
    isCut = false;
    await vi.waitUntil(() => watched.fault === null);
    expect(await ask()).toEqual({ it: 1 });
    expect(changes).toEqual([false, true]);
  });

  it('is not lost because one statement takes too long', async () => {
    await expect(ask('slow')).rejects.toThrow('too slow');
    await vi.waitUntil(() => asked.includes('SELECT 1 AS one'));
    expect(await ask()).toEqual({ it: 1 });
    expect([watched.fault, changes]).toEqual([null, []]);
  });

  it('ends while it is tried again', async () => {
    isCut = true;
    await expect(ask()).rejects.toThrow('cut');
    await vi.waitUntil(() => watched.fault !== null);
    await watched.close();
    expect(changes).toEqual([false]);
  });
});
