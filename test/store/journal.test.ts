import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ParleyError } from '../../src/base/errors.js';
import { RealClock } from '../../src/base/real-clock.js';
import { Journal, type JournalOptions } from '../../src/store/journal.js';
import { run, sql, type SqlDatabase } from '../../src/store/sql/statement.js';
import { isPostgresInstalled, postgres, type TestDatabase } from './support/backends.js';

let folder: string;
let opened: TestDatabase;
let isCut: boolean;
let cutAfterCommit: boolean;
let nowMs: number;
let errors: Error[];
const journals: Journal[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-journal-'));
  isCut = false;
  cutAfterCommit = false;
  nowMs = 1_000_000;
  errors = [];
  opened = await postgres.open();
  await opened.database.run(sql`CREATE TABLE done (what TEXT, ago BIGINT, at BIGINT GENERATED ALWAYS AS IDENTITY)`);
});

afterEach(async () => {
  for (const journal of journals.splice(0)) await journal.close();
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

/** A process with a journal. Its write fails for good if it is "refused". */
async function process(options: Partial<JournalOptions> = {}) {
  const journal = await Journal.open({
    database: behindLine(opened.database),
    path: join(folder, 'journal'),
    maxBytes: 100_000,
    clock: new RealClock(),
    nowUnixMs: () => nowMs,
    onError: (error) => errors.push(error),
    ...options,
  });
  journals.push(journal);
  const write = journal.operation('note', function* (what: string, agoUs) {
    if (what === 'refused') throw new Error('the database refuses it');
    yield* run(sql`INSERT INTO done (what, ago) VALUES (${what}, ${agoUs})`);
    return what;
  });
  return { journal, write };
}

const done = async (): Promise<string[]> =>
  (await opened.database.all<{ what: string }>(sql`SELECT what FROM done ORDER BY at`)).map(({ what }) => what);

const clear = (journal: Journal): Promise<unknown> => vi.waitUntil(() => journal.waiting === 0, { timeout: 10_000 });

describe.skipIf(!isPostgresInstalled)('a journal', () => {
  it('has nothing to do while the database is there', async () => {
    const { journal, write } = await process();
    await journal.start();
    expect(await write('a')).toEqual({ result: 'a' });
    await expect(write('refused')).rejects.toThrow('refuses');
    expect([await done(), journal.waiting, statSync(join(folder, 'journal')).size]).toEqual([['a'], 0, 0]);
  });

  it('keeps what cannot be written, and does it in its order when the database is back', async () => {
    const { journal, write } = await process();
    await journal.start();
    await write('a');
    isCut = true;
    expect(await Promise.all([write('b'), write('c'), write('d')])).toEqual([null, null, null]);
    expect(journal.waiting).toBe(3);
    expect(statSync(join(folder, 'journal')).mode & 0o777).toBe(0o600);
    nowMs += 2_500;
    isCut = false;
    expect(await write('e')).toBeNull(); // not before the others
    await clear(journal);
    expect(await done()).toEqual(['a', 'b', 'c', 'd', 'e']);
    const [row] = await opened.database.all<{ ago: number }>(sql`SELECT ago FROM done WHERE what = 'c'`);
    expect(row?.ago).toBe(2_500_000);
    await vi.waitUntil(() => statSync(join(folder, 'journal')).size === 0);
    await vi.waitUntil(async () => (await write('f')) !== null);
    expect(await opened.database.all(sql`SELECT * FROM journals`)).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('is done by the next process, once, also where this one died between the commit and the end', async () => {
    const first = await process();
    await first.journal.start();
    isCut = true;
    for (const what of ['a', 'b', 'c']) await first.write(what);
    const file = readFileSync(join(folder, 'journal'), 'utf8');
    isCut = false;
    cutAfterCommit = true;
    await vi.waitUntil(async () => (await done()).length === 1);
    isCut = true;
    await first.journal.close();
    expect(readFileSync(join(folder, 'journal'), 'utf8')).toBe(file);
    appendFileSync(join(folder, 'journal'), '{"seq":4,"name":"note","da'); // as after a power failure
    [isCut, cutAfterCommit] = [false, false];
    const second = await process();
    expect(second.journal.waiting).toBe(3);
    await second.journal.start();
    expect(await done()).toEqual(['a', 'b', 'c']);
    expect(second.journal.waiting).toBe(0);
    expect(await second.write('d')).toEqual({ result: 'd' });
  });

  it('does not wait for the database at the start', async () => {
    const first = await process();
    isCut = true;
    await first.write('a');
    await first.journal.close();
    const second = await process();
    await second.journal.start();
    expect([second.journal.waiting, await done()]).toEqual([1, []]);
    isCut = false;
    await clear(second.journal);
    expect(await done()).toEqual(['a']);
  });

  it('goes on after a write that the database refuses', async () => {
    const { journal, write } = await process();
    await journal.start();
    isCut = true;
    for (const what of ['a', 'refused', 'b']) await write(what);
    isCut = false;
    await clear(journal);
    expect([await done(), journal.dropped, errors.length]).toEqual([['a', 'b'], 1, 1]);
  });

  it('has a limit, and says what is lost beyond it', async () => {
    const { journal, write } = await process({ maxBytes: 1_000 });
    isCut = true;
    await write('x'.repeat(500));
    expect([journal.isFull, journal.dropped]).toEqual([false, 0]);
    await write('x'.repeat(300));
    expect(journal.isFull).toBe(true);
    await expect(write('x'.repeat(300))).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    expect([journal.waiting, journal.dropped, errors.length]).toEqual([2, 1, 1]);
  });
});
