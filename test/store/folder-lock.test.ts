import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderLock, openOwnDatabase } from '../../src/store/folder-lock.js';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-lock-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

describe('FolderLock', () => {
  it('gives a folder to one at a time', () => {
    const first = new FolderLock(dataDir);
    expect(() => new FolderLock(dataDir)).toThrow(
      expect.objectContaining({ code: 'DATA_FOLDER_IN_USE', message: expect.stringContaining(dataDir) as string }),
    );
    first.release();
    first.release();
    new FolderLock(dataDir).release();
  });

  it('says so where there can be none', () => {
    writeFileSync(join(dataDir, 'file'), '');
    expect(() => new FolderLock(join(dataDir, 'file', 'below'))).toThrow(
      expect.objectContaining({ code: 'FILE_NOT_WRITABLE' }),
    );
  });
});

describe('openOwnDatabase', () => {
  it('lets go of the folder where the database cannot be opened', () => {
    writeFileSync(join(dataDir, 'parley.db'), 'this is no database, and long enough to be seen as none '.repeat(20));
    expect(() => openOwnDatabase(dataDir)).toThrow(expect.objectContaining({ code: 'DATABASE_UNUSABLE' }));
    new FolderLock(dataDir).release();
  });
});
