import type Database from 'better-sqlite3';
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { secretKeyBytes } from '../base/secret.js';
import type { Settings } from '../settings/settings.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { SecretBox } from './secret-box.js';

/** A file in the data folder with one key per line. The first one is in use. */
const FILE_NAME = 'secret.key';

/** Encrypted columns. The name of each is its purpose. */
const SEALED_COLUMNS = [
  'agent_versions.config',
  'agent_versions.extensions',
  'eval_runs.webhook',
  'phones.agent_config_override',
  'webhook_deliveries.url',
  'webhook_deliveries.headers',
  'unfinished_sessions.record',
  'after_call_runs.run',
] as const;

/**
 * The box for encrypted columns. It uses the operator's key, or else the data folder's, which the first start creates.
 * It seals again what is plain text or sealed with another known key (`oldSecretKeys`, the folder's).
 * @throws ParleyError FILE_NOT_READABLE, FILE_NOT_WRITABLE for the key file, SECRETS_UNREADABLE if no key fits
 */
export function openSecretBox(
  database: Database.Database,
  { dataDir, secretKey, oldSecretKeys }: Pick<Settings, 'dataDir' | 'secretKey' | 'oldSecretKeys'>,
): SecretBox {
  const path = join(dataDir, FILE_NAME);
  const inFile = readKeys(path);
  const old = oldSecretKeys.map((text) => keyOf(text, 'PARLEY_OLD_SECRET_KEYS'));
  const own = secretKey === null ? [] : [keyOf(secretKey, 'PARLEY_SECRET_KEY')];
  const [current, ...others] = [...own, ...inFile];
  if (current === undefined && isAnythingSealed(database)) {
    throw new ParleyError('FILE_NOT_READABLE', {
      path,
      reason: 'it is missing, and PARLEY_SECRET_KEY is not set either',
    });
  }
  const box = new SecretBox(current ?? makeKey(path), [...others, ...old]);
  reseal(database, box);
  return box;
}

function keyOf(text: string, where: string): Buffer {
  const key = secretKeyBytes(text);
  if (key === null)
    throw new ParleyError('FILE_NOT_READABLE', { path: where, reason: 'one of its lines is not a key' });
  return key;
}

function readKeys(path: string): Buffer[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
  const lines = text.split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line !== '').map((line) => keyOf(line, path));
  if (keys.length === 0) throw new ParleyError('FILE_NOT_READABLE', { path, reason: 'it holds no key' });
  return keys;
}

/** Creates a key and flushes it to the disk before its first use. */
function makeKey(path: string): Buffer {
  const key = randomBytes(32);
  try {
    const fresh = `${path}.new`;
    const file = openSync(fresh, 'w', 0o600);
    writeSync(file, `${key.toString('base64')}\n`);
    fsyncSync(file);
    closeSync(file);
    renameSync(fresh, path);
    const folder = openSync(dirname(path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
  return key;
}

/** Whether the database holds encrypted texts, which a new key could not open. */
function isAnythingSealed(database: Database.Database): boolean {
  return SEALED_COLUMNS.some((place) => {
    const [table = '', column = ''] = place.split('.');
    return database.prepare(`SELECT 1 FROM ${table} WHERE ${column} GLOB 'v[0-9]*.*' LIMIT 1`).get() !== undefined;
  });
}

/** Seals with the current key all texts that other keys, or none, have sealed. */
function reseal(database: Database.Database, box: SecretBox): void {
  database.transaction(() => {
    for (const place of SEALED_COLUMNS) {
      const [table = '', column = ''] = place.split('.');
      const ids = database
        .prepare<unknown[], number>(`SELECT rowid FROM ${table} WHERE substr(${column}, 1, ?) <> ?`)
        .pluck()
        .all(box.prefix.length, box.prefix);
      const get = database.prepare<unknown[], string>(`SELECT ${column} FROM ${table} WHERE rowid = ?`).pluck();
      const set = database.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`);
      for (const id of ids) set.run(box.seal(box.open(get.get(id) ?? '', place), place), id);
    }
  })();
}
