import Database from 'better-sqlite3';
import { errorOf, ParleyError } from '../base/errors.js';

/**
 * The error for a missing binary of better-sqlite3, or one for another Node.js.
 * @returns null = the error has another cause
 */
export function sqliteFault(error: unknown): ParleyError | null {
  const { message } = errorOf(error);
  const code = error instanceof Error && 'code' in error ? error.code : null;
  const isMissing = message.startsWith('Could not locate the bindings file');
  if (!isMissing && code !== 'ERR_DLOPEN_FAILED') return null;
  const [line = ''] = message.split('\n');
  const node = `Node.js ${process.versions.node} on ${process.platform}-${process.arch}`;
  const reason = isMissing ? `there is none for ${node}` : `the one that is there does not load in ${node} (${line})`;
  return new ParleyError('SQLITE_MISSING', { reason }, { cause: error });
}

/** Checks that better-sqlite3 loads. @throws ParleyError SQLITE_MISSING */
export function checkSqlite(): void {
  try {
    new Database(':memory:').close();
  } catch (error) {
    throw sqliteFault(error) ?? error;
  }
}

/**
 * The error for a full disk or a broken database file.
 * @param path of the database
 * @returns null = the error has another cause
 */
export function storageFault(error: unknown, path: string): ParleyError | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return new ParleyError('DISK_FULL', {}, { cause: error });
  if (!/^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) return null;
  const reason = `${errorOf(error).message}; restore a backup, or move the file away to start with a new one`;
  return new ParleyError('DATABASE_UNUSABLE', { path, reason }, { cause: error });
}
