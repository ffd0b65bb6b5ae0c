import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ParleyError } from '../../src/base/errors.js';
import { RealClock } from '../../src/base/real-clock.js';
import { WaitingWrites, type WaitingWritesOptions } from '../../src/store/waiting-writes.js';
import { run, sql, type SqlDatabase } from '../../src/store/sql/statement.js';
import { isPostgresInstalled, postgres, type TestDatabase } from './support/backends.js';

let folder: string;
let opened: TestDatabase;
let isCut: boolean;
let cutAfterCommit: boolean;
let nowMs: number;
let errors: Error[];
const all: WaitingWrites[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-writes-'));
  isCut = false;
  cutAfterCommit = false;
  nowMs = 1_000_000;
  errors = [];
  opened = await postgres.open();
  await opened.database.run(sql`CREATE TABLE done (what TEXT, ago BIGINT, at BIGINT GENERATED ALWAYS AS IDENTITY)`);
});

afterEach(async () => {
  for (const writes of all.splice(0)) await writes.close();
  await opened.remove();
  rmSync(folder, { recursive: true });
});

/** The database behind a line that can be cut. */
function behindLine(database: SqlDatabase): SqlDatabase {
  return Object.assign(Object.create(database) as SqlDatabase, {
    dialect: database.dialect,
    run: (statement: Parameters<SqlDatabase['run']>[0]) => database.run(statement),
    transaction: async (...args: Parameters<SqlDatabase['transaction']>) => {
      if (isCut) throw new ParleyError('DATABASE_UNREACHABLE', { reason: 'cut' });
      const result = await database.transaction(...args);
      if (cutAfterCommit) throw new ParleyError('DATABASE_UNREACHABLE', { reason: 'cut after the commit' });
      return result;
    },
  });
}

/** A process with a writes. Its write fails for good if it is "refused". */
async function process(options: Partial<WaitingWritesOptions> = {}) {
  const writes = await WaitingWrites.open({
    database: behindLine(opened.database),
    path: join(folder, 'writes'),
    maxBytes: 100_000,
    clock: new RealClock(),
    nowUnixMs: () => nowMs,
    onError: (error) => errors.push(error),
    ...options,
  });
  all.push(writes);
  const write = writes.operation('note', function* (what: string, agoUs) {
    if (what === 'refused') throw new Error('the database refuses it');
    yield* run(sql`INSERT INTO done (what, ago) VALUES (${what}, ${agoUs})`);
    return what;
  });
  return { writes, write };
}

const done = async (): Promise<string[]> =>
  (await opened.database.all<{ what: string }>(sql`SELECT what FROM done ORDER BY at`)).map(({ what }) => what);

const clear = (writes: WaitingWrites): Promise<unknown> =>
  vi.waitUntil(() => writes.waiting === 0, { timeout: 10_000 });

describe.skipIf(!isPostgresInstalled)('a writes', () => {
  it('has nothing to do while the database is there', async () => {
    const { writes, write } = await process();
    await writes.start();
    expect(await write('a')).toEqual({ result: 'a' });
    await expect(write('refused')).rejects.toThrow('refuses');
    expect([await done(), writes.waiting, statSync(join(folder, 'writes')).size]).toEqual([['a'], 0, 0]);
  });

  it('keeps what cannot be written, and does it in its order when the database is back', async () => {
    const { writes, write } = await process();
    await writes.start();
    await write('a');
    isCut = true;
    expect(await Promise.all([write('b'), write('c'), write('d')])).toEqual([null, null, null]);
    expect(writes.waiting).toBe(3);
    expect(statSync(join(folder, 'writes')).mode & 0o777).toBe(0o600);
    nowMs += 2_500;
    isCut = false;
    expect(await write('e')).toBeNull(); // not before the others
    await clear(writes);
    expect(await done()).toEqual(['a', 'b', 'c', 'd', 'e']);
    const [row] = await opened.database.all<{ ago: number }>(sql`SELECT ago FROM done WHERE what = 'c'`);
    expect(row?.ago).toBe(2_500_000);
    await vi.waitUntil(() => statSync(join(folder, 'writes')).size === 0);
    await vi.waitUntil(async () => (await write('f')) !== null);
    expect(await opened.database.all(sql`SELECT * FROM waiting_writes`)).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('is done by the next process, once, also where this one died between the commit and the end', async () => {
    const first = await process();
    await first.writes.start();
    isCut = true;
    for (const what of ['a', 'b', 'c']) await first.write(what);
    const file = readFileSync(join(folder, 'writes'), 'utf8');
    isCut = false;
    cutAfterCommit = true;
    await vi.waitUntil(async () => (await done()).length === 1);
    isCut = true;
    await first.writes.close();
    expect(readFileSync(join(folder, 'writes'), 'utf8')).toBe(file);
    appendFileSync(join(folder, 'writes'), '{"seq":4,"name":"note","da'); // as after a power failure
    [isCut, cutAfterCommit] = [false, false];
    const second = await process();
    expect(second.writes.waiting).toBe(3);
    await second.writes.start();
    expect(await done()).toEqual(['a', 'b', 'c']);
    expect(second.writes.waiting).toBe(0);
    expect(await second.write('d')).toEqual({ result: 'd' });
  });

  it('does not wait for the database at the start', async () => {
    const first = await process();
    isCut = true;
    await first.write('a');
    await first.writes.close();
    const second = await process();
    await second.writes.start();
    expect([second.writes.waiting, await done()]).toEqual([1, []]);
    isCut = false;
    await clear(second.writes);
    expect(await done()).toEqual(['a']);
  });

  it('goes on after a write that the database refuses', async () => {
    const { writes, write } = await process();
    await writes.start();
    isCut = true;
    for (const what of ['a', 'refused', 'b']) await write(what);
    isCut = false;
    await clear(writes);
    expect([await done(), writes.dropped, errors.length]).toEqual([['a', 'b'], 1, 1]);
  });

  it('has a limit, and says what is lost beyond it', async () => {
    const { writes, write } = await process({ maxBytes: 1_000 });
    isCut = true;
    await write('x'.repeat(500));
    expect([writes.isFull, writes.dropped]).toEqual([false, 0]);
    await write('x'.repeat(300));
    expect(writes.isFull).toBe(true);
    await expect(write('x'.repeat(300))).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    expect([writes.waiting, writes.dropped, errors.length]).toEqual([2, 1, 1]);
  });
});
