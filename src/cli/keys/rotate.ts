import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { ParleyError } from '../../base/errors.js';
import { nowUnixMs } from '../../base/real-clock.js';
import type { Settings } from '../../settings/settings.js';
import { databaseFile } from '../../store/database.js';
import { FolderLock } from '../../store/folder-lock.js';
import { retireKeys } from '../../store/keys-in-use.js';
import { type KeyIds, NodeStore } from '../../store/nodes.js';
import { reencrypt } from '../../store/sealed-columns.js';
import { SecretBox } from '../../store/secret-box.js';
import {
  openSecretBox,
  openSigningKeys,
  readSecretKeys,
  secretKeyFile,
  secretKeysOf,
  signingKeyId,
  writeSecretKeys,
} from '../../store/secret-keys.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { openCommandDatabase } from '../shared/command-database.js';
import type { CommandIo } from '../shared/command.js';

const KEY_BYTES = 32;

/** What was done. */
interface Rotation {
  /** The id of the current key. */
  key: string;
  /** Texts that were encrypted anew. */
  encrypted: number;
  /** Ids of keys that are needed no more. */
  retired: readonly string[];
}

/**
 * Encrypts everything stored with the current secret key, and retires the others. A key in the data folder is replaced
 * by a new one first. It can be called again after a fault.
 * @throws ParleyError DATA_FOLDER_IN_USE if a daemon runs with the key of the folder, SECRETS_DIFFER if a node runs with
 *   another key, SECRETS_UNREADABLE, DATABASE_…
 */
export async function rotateKeys(settings: Settings, io: CommandIo, json: boolean): Promise<number> {
  const { dataDir, databaseUrl, secretKey } = settings;
  if (databaseUrl === null && !existsSync(databaseFile(dataDir))) {
    throw new ParleyError('NOT_FOUND', { what: 'database in the data folder', id: dataDir });
  }
  // A daemon has read the key of the folder at its start.
  const isOfFolder = databaseUrl === null && secretKey === null;
  const lock = isOfFolder ? new FolderLock(dataDir) : null;
  try {
    const { database, close } = await openCommandDatabase(settings);
    try {
      const done = isOfFolder ? await ofFolder(database, settings, io) : await ofSettings(database, settings, io);
      if (json) io.stdout.write(`${JSON.stringify(done)}\n`);
      else io.stderr.write(`${sentences(done, settings)}\n`);
      return 0;
    } finally {
      await close();
    }
  } finally {
    lock?.release();
  }
}

/** Replaces the first key of the folder's file. More than one are there if an earlier attempt was interrupted. */
async function ofFolder(database: SqlDatabase, settings: Settings, io: CommandIo): Promise<Rotation> {
  const path = secretKeyFile(settings.dataDir);
  const inFile = readSecretKeys(path);
  // From now on, both are known: whatever happens, everything can be decrypted.
  if (inFile.length <= 1) writeSecretKeys(path, [randomBytes(KEY_BYTES), ...inFile]);
  const [current, ...old] = secretKeysOf(settings);
  if (current === undefined) throw new ParleyError('FILE_NOT_READABLE', { path, reason: 'it holds no key' });
  const box = new SecretBox(current, old);
  const encrypted = await allOf(database, box, io);
  writeSecretKeys(path, [current]);
  return { key: box.keyId, encrypted, retired: box.knownIds.filter((id) => id !== box.keyId) };
}

/** Goes over to the operator's key from those in `oldSecretKeys`, and from the data folder's. */
async function ofSettings(database: SqlDatabase, settings: Settings, io: CommandIo): Promise<Rotation> {
  const use = { database, nowUnixMs };
  if (database.dialect === 'sqlite') {
    const [current, ...old] = secretKeysOf(settings);
    if (current === undefined) throw new Error('there is no key');
    const box = new SecretBox(current, old);
    return { key: box.keyId, encrypted: await allOf(database, box, io), retired: [] };
  }
  const box = await openSecretBox(use, settings);
  const [signing] = await openSigningKeys(use, settings);
  const keys = { secret: box.keyId, signing: signingKeyId(signing) };
  await noOtherKeys(database, keys);
  const encrypted = await allOf(database, box, io);
  await retireKeys(database, 'signing', keys.signing, nowUnixMs());
  const retired = await retireKeys(database, 'secret', box.keyId, nowUnixMs());
  // A node may have started with an old key before it was retired.
  await noOtherKeys(database, keys);
  return { key: box.keyId, encrypted: encrypted + (await allOf(database, box, io)), retired };
}

/** @throws ParleyError SECRETS_DIFFER if a node would go on to encrypt or sign with a key that is to be retired */
async function noOtherKeys(database: SqlDatabase, keys: KeyIds): Promise<void> {
  const node = await new NodeStore(database).withOtherKey(keys);
  if (node === null) return;
  const who = node.address === '' ? node.id : `${node.id} at ${node.address}`;
  const reason = `the node ${who} uses another secret or signing key; restart it with the new ones, and rotate again`;
  throw new ParleyError('SECRETS_DIFFER', { what: 'a running node', reason });
}

function allOf(database: SqlDatabase, box: SecretBox, { signal, stderr }: CommandIo): Promise<number> {
  const onProgress = ({ table }: { table: string }, count: number): void => {
    if (stderr.isTTY === true) stderr.write(`\r\x1b[K${String(count)} texts encrypted, in ${table}`);
  };
  return reencrypt(database, box, { signal, onProgress }).finally(() => {
    if (stderr.isTTY === true) stderr.write('\r\x1b[K');
  });
}

function sentences({ key, encrypted, retired }: Rotation, { databaseUrl, secretKey, dataDir }: Settings): string {
  const what = `${String(encrypted)} texts were encrypted anew; all are encrypted with the key ${key}`;
  if (databaseUrl === null && secretKey === null) {
    return `${what} in ${secretKeyFile(dataDir)}. Backups of before need the key that was there`;
  }
  if (retired.length > 0) return `${what}. Remove ${retired.join(', ')} from PARLEY_OLD_SECRET_KEYS on all nodes`;
  return `${what}. docs/keys.md has the steps to another one`;
}
