import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileDeletionStore } from '../../src/store/file-deletions.js';
import { sql } from '../../src/store/sql/statement.js';
import { backends, type TestDatabase } from './support/backends.js';

describe.each(backends)('file deletions in $name', ({ open }) => {
  let opened: TestDatabase;
  let deletions: FileDeletionStore;

  beforeEach(async () => {
    opened = await open();
    deletions = new FileDeletionStore(opened.database);
  });

  afterEach(() => opened.remove());

  it('are open until they are done, and known until they are purged', async () => {
    await deletions.add(['recordings/b.wav', 'traces/b.jsonl'], 20);
    await deletions.add(['recordings/a.wav'], 10);
    expect(await deletions.open(2)).toEqual(['recordings/a.wav', 'recordings/b.wav']);
    await deletions.done(['recordings/a.wav', 'recordings/b.wav']);
    expect(await deletions.open(10)).toEqual(['traces/b.jsonl']);
    expect([await deletions.has('recordings/a.wav'), await deletions.has('recordings/c.wav')]).toEqual([true, false]);
    expect(await deletions.purge(30)).toBe(2);
    expect([await deletions.has('recordings/a.wav'), await deletions.has('traces/b.jsonl')]).toEqual([false, true]);
  });

  it('can be asked for again', async () => {
    await deletions.add(['a'], 10);
    await deletions.done(['a']);
    await deletions.add(['a'], 20);
    expect(await deletions.open(10)).toEqual(['a']);
    expect(await deletions.purge(15)).toBe(0);
  });

  it('attaches a recording to a call that ended without it', async () => {
    const add = (id: string, endedUs: number | null, recording: string | null): Promise<number> =>
      opened.database.run(
        sql`INSERT INTO calls (session_id, ts_us, ended_us, status, recording, item, channel, direction)
            VALUES (${id}, ${Number(id.slice(1))}, ${endedUs}, ${'error'}, ${recording}, ${'{}'}, ${'talk'}, ${'inbound'})`,
      );
    await add('c1', 5, null);
    await add('c2', null, null);
    await add('c3', 5, 'recordings/other.wav');
    for (const [id, isAttached] of [
      ['c1', true],
      ['c2', false],
      ['c3', false],
      ['c4', false],
    ] as const) {
      expect([id, await deletions.attach(id, `recordings/${id}.wav`)]).toEqual([id, isAttached]);
    }
  });
});
