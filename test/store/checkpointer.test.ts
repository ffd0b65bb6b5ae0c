import type Database from 'better-sqlite3';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { Checkpointer } from '../../src/store/checkpointer.js';
import { databaseFile, openDatabase } from '../../src/store/database.js';

const SOON = { timeout: 10_000, interval: 10 };
let dataDir: string;
let database: Database.Database;
let checkpointer: Checkpointer;
let written: number;
const errors: Error[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-checkpoint-'));
  database = openDatabase(dataDir);
  database.exec('CREATE TABLE filler (text)');
  written = 0;
  errors.length = 0;
  checkpointer = new Checkpointer({
    database,
    clock: new RealClock(),
    aboveBytes: 400_000,
    everyMs: 5,
    onCheckpoint: (pages) => (written += pages),
    onError: (error) => void errors.push(error),
  });
});
afterEach(async () => {
  await checkpointer.close();
  database.close();
  rmSync(dataDir, { recursive: true });
});

const ownPages = (): unknown => database.pragma('wal_autocheckpoint', { simple: true });
const fill = (rows: number): void => {
  const insert = database.prepare('INSERT INTO filler VALUES (?)');
  for (let row = 0; row < rows; row++) insert.run('x'.repeat(3000));
};
/** Looks without a checkpoint (sqlite.org/pragma.html#pragma_wal_checkpoint, NOOP). */
const pagesToWriteBack = (): number => {
  const [found] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }];
  return found.log - found.checkpointed;
};
const logBytes = (): number => statSync(`${databaseFile(dataDir)}-wal`).size;

describe('Checkpointer', () => {
  it('writes the log back, while the connection leaves off, and keeps it small', async () => {
    checkpointer.start();
    await vi.waitFor(() => expect(ownPages()).toBe(0), SOON);
    for (let round = 0; round < 10; round++) {
      fill(120);
      // Only a log that is written back whole begins anew.
      await vi.waitFor(() => expect(pagesToWriteBack()).toBe(0), SOON);
    }
    expect(written).toBeGreaterThan(1200);
    expect(logBytes()).toBeLessThan(2_500_000);
    expect(database.prepare('SELECT COUNT(*) FROM filler').pluck().get()).toBe(1200);
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(errors).toEqual([]);
  });

  it('gives the connection its own checkpoints back when it is closed, twice if need be', async () => {
    checkpointer.start();
    await vi.waitFor(() => expect(ownPages()).toBe(0), SOON);
    await Promise.all([checkpointer.close(), checkpointer.close()]);
    expect(ownPages()).toBe(1000);
    checkpointer.start();
    expect(ownPages()).toBe(1000);
  });

  it('tells of a thread that fails, and the connection goes on as it would without one', async () => {
    const gone = new Checkpointer({
      database: { name: join(dataDir, 'none'), open: false } as Database.Database,
      clock: new RealClock(),
      onError: (error) => void errors.push(error),
    });
    gone.start();
    await vi.waitFor(() => expect(errors).toHaveLength(1), SOON);
    expect(ownPages()).toBe(1000);
    await gone.close();
  });
});
