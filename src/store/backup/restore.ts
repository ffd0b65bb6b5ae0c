import Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { SCHEMA_VERSION } from '../database.js';
import { FolderLock } from '../folder-lock.js';
import { DATABASES, type Manifest, MANIFEST_NAME, manifestSchema } from './backup.js';
import { TarReader } from './tar.js';

export interface RestoreOptions {
  dataDir: string;
  /** Whether the data are in PostgreSQL. An archive with databases is refused then. */
  withoutDatabases: boolean;
  from: string;
  unixMs: number;
}

export interface Restored {
  manifest: Manifest;
  /** The folder with the previous content; null = there was none. */
  keptAside: string | null;
  /** The number of campaigns that were running when the backup was made. They are paused now. */
  pausedCampaigns: number;
}

const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

/**
 * Replaces the content of a data folder with a backup. It unpacks and checks everything before it replaces anything,
 * and keeps the previous content in a folder beside it.
 * @throws ParleyError DATA_FOLDER_IN_USE while a daemon runs on it, BACKUP_INVALID, FILE_NOT_READABLE, FILE_NOT_WRITABLE
 */
export async function restore({ dataDir, withoutDatabases, from, unixMs }: RestoreOptions): Promise<Restored> {
  const lock = new FolderLock(dataDir);
  let folder: string | null = null;
  try {
    folder = await mkdtemp(join(dataDir, '.restore-'));
    const manifest = await unpack(from, folder);
    if (withoutDatabases && manifest.files.some(({ name }) => DATABASES.some((one) => one === name))) {
      const reason = 'it has the databases of a data folder, and PARLEY_DATABASE_URL names another one';
      throw new ParleyError('BACKUP_INVALID', { path: from, reason });
    }
    const pausedCampaigns = check(manifest, folder, from);
    const keptAside = await replace(manifest, folder, join(dataDir, `before-restore-${stamp(unixMs)}`), dataDir);
    return { manifest, keptAside, pausedCampaigns };
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError('FILE_NOT_WRITABLE', { path: dataDir, reason: reasonOf(error) }, { cause: error });
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
    lock.release();
  }
}

/** Unpacks every file of the archive into `folder` and checks it against the manifest. */
async function unpack(from: string, folder: string): Promise<Manifest> {
  const archive = await open(from, 'r').catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path: from, reason: reasonOf(error) }, { cause: error });
  });
  try {
    const reader = new TarReader(archive);
    const first = await reader.next();
    if (first?.name !== MANIFEST_NAME || first.bytes > MAX_MANIFEST_BYTES)
      throw new Error('it is not a backup of parley');
    const chunks: Buffer[] = [];
    for await (const chunk of first.content) chunks.push(chunk);
    const manifest = manifestSchema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    const expected = new Map(manifest.files.map((file) => [file.name, file]));
    for (let entry = await reader.next(); entry !== null; entry = await reader.next()) {
      const file = expected.get(entry.name);
      if (file === undefined) throw new Error(`it holds ${entry.name}, which its list does not name`);
      if ((await write(join(folder, entry.name), entry.content)) !== file.sha256)
        throw new Error(`${entry.name} is damaged`);
      expected.delete(entry.name);
    }
    if (expected.size > 0) throw new Error(`${[...expected.keys()].join(', ')} is missing`);
    return manifest;
  } catch (error) {
    throw new ParleyError('BACKUP_INVALID', { path: from, reason: reasonOf(error) }, { cause: error });
  } finally {
    await archive.close();
  }
}

/** Returns the hash of the written bytes. */
async function write(path: string, content: AsyncIterable<Buffer>): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    for await (const chunk of content) {
      hash.update(chunk);
      await file.appendFile(chunk);
    }
    await file.sync();
    return hash.digest('hex');
  } finally {
    await file.close();
  }
}

/**
 * Checks that this version of parley can use the databases. Pauses running campaigns: the backup does not have the
 * calls that they placed after it. Returns the number of paused campaigns.
 */
function check({ files }: Manifest, folder: string, from: string): number {
  let paused = 0;
  for (const name of DATABASES) {
    if (!files.some((file) => file.name === name)) continue;
    const database = new Database(join(folder, name));
    try {
      const found = database.pragma('integrity_check', { simple: true });
      if (found !== 'ok') throw new Error(`${name} is damaged: ${String(found)}`);
      if (name !== 'parley.db') continue;
      const version = database.pragma('user_version', { simple: true }) as number;
      if (version > SCHEMA_VERSION) {
        throw new Error(`it has schema ${String(version)}, this version of parley knows ${String(SCHEMA_VERSION)}`);
      }
      paused = pauseCampaigns(database);
    } catch (error) {
      throw new ParleyError('BACKUP_INVALID', { path: from, reason: reasonOf(error) }, { cause: error });
    } finally {
      database.close();
    }
  }
  return paused;
}

function pauseCampaigns(database: Database.Database): number {
  const has = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'campaigns'").get();
  if (has === undefined) return 0;
  return database.prepare("UPDATE campaigns SET status = 'paused' WHERE status = 'started'").run().changes;
}

/** Moves the previous content aside and the new files into place. */
async function replace(manifest: Manifest, folder: string, aside: string, dataDir: string): Promise<string | null> {
  const names = manifest.files.map(({ name }) => name);
  // A `-wal` file of the previous database would corrupt the restored one.
  const old = new Set([...DATABASES.flatMap((name) => [name, `${name}-wal`, `${name}-shm`]), ...names]);
  const there = [...old].filter((name) => existsSync(join(dataDir, name)));
  for (const name of there) {
    await mkdir(dirname(join(aside, name)), { recursive: true, mode: 0o700 });
    await rename(join(dataDir, name), join(aside, name));
  }
  for (const name of names) {
    await mkdir(dirname(join(dataDir, name)), { recursive: true, mode: 0o700 });
    await rename(join(folder, name), join(dataDir, name));
  }
  return there.length === 0 ? null : aside;
}

/** A time as part of a file name. */
function stamp(unixMs: number): string {
  return new Date(unixMs).toISOString().replaceAll(':', '').replace(/\.\d+/, '');
}
