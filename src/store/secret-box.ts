import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ParleyError, reasonOf } from '../base/errors.js';
import type Database from 'better-sqlite3';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { secretKeyBytes } from '../base/secret.js';
import type { Settings } from '../settings/settings.js';

/** Version of the format. A different encryption would get a new one. */
const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D, 8.2.2: random, 96 bits. */
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Identifies a key without revealing any part of it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('parley key id').update(key).digest('hex').slice(0, 8);
}

/**
 * Encrypts stored texts with AES-256-GCM. A sealed text is `v1.<key id>.<base64url of IV, tag and ciphertext>`. The key
 * id allows changes of the key. The purpose is authenticated: a text sealed for one column does not open for another.
 */
export class SecretBox {
  /** The prefix of all texts that the current key has sealed. */
  readonly prefix: string;
  readonly #current: Buffer;
  readonly #keys: ReadonlyMap<string, Buffer>;

  /** @param current 32 bytes @param old keys for opening only */
  constructor(current: Buffer, old: readonly Buffer[] = []) {
    if ([current, ...old].some(({ length }) => length !== KEY_BYTES)) throw new RangeError('A key must have 32 bytes');
    this.#current = current;
    this.#keys = new Map([...old, current].map((key) => [idOf(key), key]));
    this.prefix = `${VERSION}.${idOf(current)}.`;
  }

  seal(text: string, purpose: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#current, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(purpose));
    const secret = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return this.prefix + Buffer.concat([iv, cipher.getAuthTag(), secret]).toString('base64url');
  }

  /** The plain text. Returns a text that is not sealed unchanged. @throws ParleyError SECRETS_UNREADABLE */
  open(sealed: string, purpose: string): string {
    const parts = /^(v\d+)\.([0-9a-f]{8})\.([\w-]+)$/.exec(sealed);
    if (parts === null) return sealed;
    const [, version, keyId = '', body = ''] = parts;
    if (version !== VERSION) throw unreadable(purpose, 'a later version of parley has encrypted it');
    const key = this.#keys.get(keyId);
    if (key === undefined) throw unreadable(purpose, `it was encrypted with another key (${keyId})`);
    const bytes = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(purpose));
    try {
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch (error) {
      throw unreadable(purpose, 'it has been changed', error);
    }
  }
}

function unreadable(what: string, reason: string, cause?: unknown): ParleyError {
  return new ParleyError('SECRETS_UNREADABLE', { what, reason }, { cause });
}

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
