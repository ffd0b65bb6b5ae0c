import Database from 'better-sqlite3';
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { SCHEMA_VERSION } from '../../store/database.js';
import { type Check, hint, ok, problem } from './check.js';

const GB = 1e9;
/** An hour of a recorded call is 115 MB. */
const LOW_BYTES = GB;
const LOWEST_BYTES = GB / 10;

/** Checks the data folder: that it is writable, and its data intact. Changes nothing. */
export function checkDataFolder(dataDir: string): Check[] {
  if (!existsSync(dataDir)) {
    const above = existing(dirname(dataDir));
    return isWritable(above)
      ? [ok('data folder', `${dataDir} will be made at the first start`), checkSpace(above)]
      : [problem('data folder', `${dataDir} cannot be made: ${above} is not writable`, 'set PARLEY_DATA_DIR')];
  }
  if (!statSync(dataDir).isDirectory())
    return [problem('data folder', `${dataDir} is no folder`, 'set PARLEY_DATA_DIR')];
  if (!isWritable(dataDir)) {
    return [
      problem('data folder', `${dataDir} is not writable for this user`, `chown it to the user that runs parley`),
    ];
  }
  const isOpen = (statSync(dataDir).mode & 0o077) !== 0;
  const folder = isOpen
    ? hint('data folder', `others can look into ${dataDir}`, `chmod 700 ${dataDir}`)
    : ok('data folder', dataDir);
  return [
    folder,
    checkSpace(dataDir),
    ...['parley.db', 'knowledge.db'].flatMap((name) => checkDatabase(dataDir, name)),
  ];
}

function checkSpace(folder: string): Check {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const text = `${(free / GB).toFixed(1)} GB are free`;
  const help = 'make room: a recorded hour takes 115 MB';
  if (free < LOWEST_BYTES) return problem('disk', text, help);
  return free < LOW_BYTES ? hint('disk', text, help) : ok('disk', text);
}

function checkDatabase(dataDir: string, name: string): Check[] {
  const path = join(dataDir, name);
  if (!existsSync(path)) return [];
  const help = 'restore a backup: parley restore FILE';
  try {
    const database = new Database(path, { readonly: true, timeout: 2000 });
    try {
      const found = database.pragma('integrity_check', { simple: true });
      if (found !== 'ok') return [problem(name, `it is damaged: ${String(found)}`, help)];
      const version = database.pragma('user_version', { simple: true }) as number;
      return name === 'parley.db' && version > SCHEMA_VERSION
        ? [problem(name, `it is of a later parley (schema ${String(version)})`, 'install that version again')]
        : [ok(name, 'it is whole')];
    } finally {
      database.close();
    }
  } catch (error) {
    return [problem(name, `it cannot be read: ${reasonOf(error)}`, help)];
  }
}

function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
