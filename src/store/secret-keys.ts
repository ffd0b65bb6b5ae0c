import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ParleyError, reasonOf } from '../base/errors.js';
import { secretKeyBytes } from '../base/secret.js';
import type { Settings } from '../settings/settings.js';
import { useKeys } from './keys-in-use.js';
import { isAnythingSealed, resealAll } from './sealed-columns.js';
import { SecretBox } from './secret-box.js';
import type { SqlDatabase } from './sql/statement.js';

/** A file in the data folder with one key per line. The first one is in use. */
const SECRET_FILE = 'secret.key';
/** A file in the data folder with the bytes of a key. */
const SIGNING_FILE = 'signing.key';
const KEY_BYTES = 32;

type SecretKeySettings = Pick<Settings, 'dataDir' | 'secretKey' | 'oldSecretKeys'>;
type SigningKeySettings = Pick<Settings, 'dataDir' | 'signingKey' | 'oldSigningKeys'>;

/** Keys of which the first one is in use. */
export type Keys = readonly [Buffer, ...Buffer[]];

/** What this process and the database have in common. @param nowUnixMs of this process */
interface KeyUse {
  database: SqlDatabase;
  nowUnixMs: () => number;
}

/**
 * The box for encrypted columns. On SQLite, it uses the operator's key, or else the data folder's, which the first start
 * creates, and seals again what is plain text or sealed with another known key (`oldSecretKeys`, the folder's). On
 * PostgreSQL, the operator gives all nodes the same key.
 * @throws ParleyError FILE_NOT_READABLE, FILE_NOT_WRITABLE for the key file, SECRETS_UNREADABLE if no key fits,
 *   CONFIG_INVALID or SECRETS_DIFFER for a node without the database's key
 */
export async function openSecretBox(use: KeyUse, settings: SecretKeySettings): Promise<SecretBox> {
  const { database } = use;
  if (database.dialect === 'postgres') {
    const box = boxOf(keysOfNode('secret', settings.secretKey, settings.oldSecretKeys));
    await useKeys(database, 'secret', { current: box.keyId, known: box.knownIds }, use.nowUnixMs());
    return box;
  }
  const path = secretKeyFile(settings.dataDir);
  const known = secretKeysOf(settings);
  const [current] = known;
  if (current === undefined && (await database.transaction(isAnythingSealed))) {
    const reason = 'it is missing, and PARLEY_SECRET_KEY is not set either';
    throw new ParleyError('FILE_NOT_READABLE', { path, reason });
  }
  const box = current === undefined ? new SecretBox(newSecretKey(path)) : new SecretBox(current, known.slice(1));
  await database.transaction(() => resealAll(box));
  return box;
}

/** All keys that are known for a data folder, the current one first; [] = there is none yet. @throws ParleyError FILE_NOT_READABLE */
export function secretKeysOf({ dataDir, secretKey, oldSecretKeys }: SecretKeySettings): Buffer[] {
  const own = secretKey === null ? [] : [secretKey];
  return [
    ...own.map((text) => keyOf(text, 'PARLEY_SECRET_KEY')),
    ...readSecretKeys(secretKeyFile(dataDir)),
    ...oldSecretKeys.map((text) => keyOf(text, 'PARLEY_OLD_SECRET_KEYS')),
  ];
}

export function secretKeyFile(dataDir: string): string {
  return join(dataDir, SECRET_FILE);
}

/**
 * The keys that sign: the first one signs, all verify. On SQLite without `signingKey`, the data folder's, which the first
 * start creates: without its file, all earlier signatures are invalid.
 * @throws ParleyError CONFIG_INVALID or SECRETS_DIFFER for a node without the database's key; what the file system refuses
 */
export async function openSigningKeys(use: KeyUse, settings: SigningKeySettings): Promise<Keys> {
  const { dataDir, signingKey, oldSigningKeys } = settings;
  const old = oldSigningKeys.map((text) => keyOf(text, 'PARLEY_OLD_SIGNING_KEYS'));
  if (use.database.dialect === 'postgres') {
    const keys = keysOfNode('signing', signingKey, oldSigningKeys);
    const [current, ...others] = keys.map(signingKeyId);
    await useKeys(use.database, 'signing', { current: current ?? '', known: others }, use.nowUnixMs());
    return keys;
  }
  const path = join(dataDir, SIGNING_FILE);
  if (signingKey === null) return [readSigningKey(path) ?? newSigningKey(path), ...old];
  const inFile = readSigningKey(path);
  return [keyOf(signingKey, 'PARLEY_SIGNING_KEY'), ...(inFile === null ? [] : [inFile]), ...old];
}

/** Identifies a signing key without revealing any part of it. */
export function signingKeyId(key: Buffer): string {
  return createHash('sha256').update('parley signing key id').update(key).digest('hex').slice(0, 8);
}

/** The keys of a node. Keys that it made itself would differ from the other nodes'. @throws ParleyError CONFIG_INVALID */
function keysOfNode(purpose: 'secret' | 'signing', key: string | null, old: readonly string[]): Keys {
  const name = purpose.toUpperCase();
  if (key === null) {
    const how = `give all nodes the same one, such as \`openssl rand -base64 32\` prints, in the variable or in a file that PARLEY_${name}_KEY_FILE names`;
    throw new ParleyError('CONFIG_INVALID', {
      reason: `PARLEY_${name}_KEY is not set, and PARLEY_DATABASE_URL is: ${how}`,
    });
  }
  return [keyOf(key, `PARLEY_${name}_KEY`), ...old.map((text) => keyOf(text, `PARLEY_OLD_${name}_KEYS`))];
}

function boxOf([current, ...old]: Keys): SecretBox {
  return new SecretBox(current, old);
}

function keyOf(text: string, where: string): Buffer {
  const key = secretKeyBytes(text);
  if (key === null)
    throw new ParleyError('FILE_NOT_READABLE', { path: where, reason: 'one of its lines is not a key' });
  return key;
}

/** [] = there is no file. */
export function readSecretKeys(path: string): Buffer[] {
  const bytes = readIfThere(path);
  if (bytes === null) return [];
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim());
  const keys = lines.filter((line) => line !== '').map((line) => keyOf(line, path));
  if (keys.length === 0) throw new ParleyError('FILE_NOT_READABLE', { path, reason: 'it holds no key' });
  return keys;
}

/** Creates a key and flushes it to the disk before its first use. */
function newSecretKey(path: string): Buffer {
  const key = randomBytes(KEY_BYTES);
  writeSecretKeys(path, [key]);
  return key;
}

/** Replaces the file: it has the old content or the new one, whatever happens. @throws ParleyError FILE_NOT_WRITABLE */
export function writeSecretKeys(path: string, keys: readonly Buffer[]): void {
  try {
    const fresh = `${path}.new`;
    const file = openSync(fresh, 'w', 0o600);
    writeSync(file, keys.map((key) => `${key.toString('base64')}\n`).join(''));
    fsyncSync(file);
    closeSync(file);
    renameSync(fresh, path);
    const folder = openSync(dirname(path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}

function newSigningKey(path: string): Buffer {
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(fresh, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' });
  try {
    linkSync(fresh, path); // atomic, and never replaces an existing key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
  const key = readSigningKey(path);
  if (key === null) {
    throw new Error(`${path} is no key of ${String(KEY_BYTES)} bytes; remove it to have a new one made`);
  }
  return key;
}

/** Null = there is none. */
function readSigningKey(path: string): Buffer | null {
  const key = readIfThere(path);
  return key?.length === KEY_BYTES ? key : null;
}

/** @throws ParleyError FILE_NOT_READABLE */
function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}
