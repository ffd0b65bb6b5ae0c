import Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { copyFile, type FileHandle, link, mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import { packageVersion } from '../../package-files.js';
import { MAX_TAR_BYTES, TAR_END, tarHeader, tarPadding } from './tar.js';
import * as z from 'zod';

export interface BackupOptions {
  dataDir: string;
  /** Whether the data are in PostgreSQL: the folder has only keys and files of calls. */
  withoutDatabases: boolean;
  /** The file to write. It must not exist. */
  to: string;
  /** Include the recordings and traces of calls, not only their lists. */
  recordings: boolean;
  /** Include the keys for encryption and signing. */
  keys: boolean;
  unixMs: number;
}

/** All pages in one step: a copy in several steps starts over whenever a daemon writes in between. */
const ALL_PAGES = 0x7fff_ffff;

/**
 * Writes the content of a data folder into one file, also while a daemon uses the folder. Each database is a checked
 * snapshot. The file appears only when it is complete, and only its owner can read it.
 * @throws ParleyError FILE_NOT_READABLE, FILE_NOT_WRITABLE
 */
export async function backUp(options: BackupOptions): Promise<Manifest> {
  const { dataDir, withoutDatabases, to, recordings, keys, unixMs } = options;
  if (!withoutDatabases && !existsSync(join(dataDir, 'parley.db'))) {
    throw new ParleyError('FILE_NOT_READABLE', { path: dataDir, reason: 'it holds no data of a daemon' });
  }
  if (existsSync(to)) throw new ParleyError('FILE_NOT_WRITABLE', { path: to, reason: 'the file exists already' });
  const target = resolve(to);
  let folder: string | null = null;
  try {
    folder = await mkdtemp(join(dirname(target), '.parley-backup-'));
    const copies = folder;
    for (const name of withoutDatabases ? [] : DATABASES)
      if (existsSync(join(dataDir, name))) await snapshot(join(dataDir, name), join(copies, name));
    for (const name of KEY_FILES) {
      if (keys && existsSync(join(dataDir, name))) await copyFile(join(dataDir, name), join(copies, name));
    }
    const files = (await readdir(copies)).toSorted().map((name) => ({ name, path: join(copies, name) }));
    const lists = {
      recordings: await filesIn(join(dataDir, 'recordings')),
      traces: await filesIn(join(dataDir, 'traces')),
    };
    if (recordings) {
      for (const [name, list] of Object.entries(lists))
        files.push(...(await heldFiles(name, { from: join(dataDir, name), to: join(copies, name) }, list)));
    }
    const manifest: Manifest = {
      format: 'parley-backup',
      version: 1,
      parley: packageVersion(),
      created_at: unixSeconds(unixMs),
      files: await Promise.all(files.map(async ({ name, path }) => ({ name, ...(await digest(path)) }))),
      ...lists,
    };
    const part = join(copies, 'backup.part');
    await writeArchive(part, manifest, files);
    await rename(part, target);
    return manifest;
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError('FILE_NOT_WRITABLE', { path: to, reason: reasonOf(error) }, { cause: error });
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  }
}

/** Writes a snapshot of a database to one file. */
async function snapshot(from: string, to: string): Promise<void> {
  const source = new Database(from, { readonly: true, timeout: 10_000 });
  try {
    await source.backup(to, { progress: () => ALL_PAGES });
  } finally {
    source.close();
  }
  const copy = new Database(to);
  try {
    copy.pragma('journal_mode = DELETE');
    const found = copy.pragma('integrity_check', { simple: true });
    if (found !== 'ok')
      throw new ParleyError('FILE_NOT_READABLE', { path: from, reason: `it is damaged: ${String(found)}` });
  } finally {
    copy.close();
  }
}

interface ListedFile {
  name: string;
  bytes: number;
}

async function filesIn(folder: string): Promise<ListedFile[]> {
  const names = await readdir(folder).catch(() => []);
  const kept = names.filter((name) => /^[\w.-]{1,80}$/.test(name)).toSorted();
  const found = await Promise.all(kept.map((name) => stat(join(folder, name)).catch(unlessMissing)));
  return kept.flatMap((name, at) => (found[at] == null ? [] : [{ name, bytes: found[at].size }]));
}

/** Files of calls as links or copies, which stay when the daemon deletes one or moves it to the store for files. */
async function heldFiles(
  kind: string,
  { from, to }: { from: string; to: string },
  files: readonly ListedFile[],
): Promise<{ name: string; path: string }[]> {
  await mkdir(to);
  const held: { name: string; path: string }[] = [];
  for (const { name } of files) {
    const [source, path] = [join(from, name), join(to, name)];
    const isHeld = await link(source, path)
      .catch(() => copyFile(source, path)) // a file system without links, or another one
      .then(() => true, unlessMissing);
    if (isHeld !== null) held.push({ name: `${kind}/${name}`, path });
  }
  return held;
}

/** Null for a file that has been deleted meanwhile. */
function unlessMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}

async function digest(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

async function writeArchive(
  path: string,
  manifest: Manifest,
  files: readonly { name: string; path: string }[],
): Promise<void> {
  const archive = await open(path, 'wx', 0o600);
  try {
    const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
    await append(archive, { name: MANIFEST_NAME, bytes: text.length }, [text], manifest.created_at);
    for (const { name, path: from } of files) {
      const bytes = manifest.files.find((file) => file.name === name)?.bytes ?? 0;
      if (bytes > MAX_TAR_BYTES)
        throw new ParleyError('FILE_NOT_READABLE', { path: from, reason: 'it is larger than 8 GB' });
      await append(archive, { name, bytes }, bounded(from, bytes), manifest.created_at);
    }
    await archive.appendFile(TAR_END);
    await archive.sync();
  } finally {
    await archive.close();
  }
}

async function append(
  archive: FileHandle,
  entry: { name: string; bytes: number },
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
  mtimeS: number,
): Promise<void> {
  await archive.appendFile(tarHeader(entry, mtimeS));
  for await (const chunk of content) await archive.appendFile(chunk);
  await archive.appendFile(tarPadding(entry.bytes));
}

/** The first bytes of a file: a recording or a trace may grow meanwhile. */
function bounded(path: string, bytes: number): Iterable<Buffer> | AsyncIterable<Buffer> {
  return bytes === 0 ? [] : (createReadStream(path, { end: bytes - 1 }) as AsyncIterable<Buffer>);
}

const listedFile = z.strictObject({ name: z.string(), bytes: z.int().min(0) });

/** The first file of a backup. It lists the others, so that a restore checks them before it replaces anything. */
export const manifestSchema = z.strictObject({
  format: z.literal('parley-backup'),
  version: z.literal(1),
  /** The version of parley that made the backup. */
  parley: z.string(),
  created_at: z.int(),
  files: z.array(
    z.strictObject({
      name: z
        .string()
        .regex(/^(?:parley\.db|knowledge\.db|secret\.key|signing\.key|(?:recordings|traces)\/[\w.-]{1,80})$/),
      bytes: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
  /** All recordings of the data folder. `files` has them only if the backup includes them. */
  recordings: z.array(listedFile),
  /** As `recordings`. Archives of earlier versions have no traces. */
  traces: z.array(listedFile).default([]),
});

export type Manifest = z.infer<typeof manifestSchema>;

export const MANIFEST_NAME = 'manifest.json';

/** The databases of a data folder. */
export const DATABASES = ['parley.db', 'knowledge.db'] as const;
/** Keys that the daemon generated. Without them, nothing encrypted can be read and no signed link is valid. */
const KEY_FILES = ['secret.key', 'signing.key'] as const;
