import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, realpath, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { inspectModel, type ModelOrigin, ORIGIN_FILE, readOrigin } from '../../providers/local/inspect-model.js';
import type { LocalModel } from '../../providers/local/model-facts.js';
import { FileLock } from '../../store/file-lock.js';
import { download, fetchText, megabytes, mirrored, sha256Of } from './download.js';
import type { KnownFile, KnownModel } from './known-models.js';
import { tryModel } from './trial.js';

const NO_BZIP2 = 'bzip2 is not installed';

/**
 * Unpacks a `tar.bz2` with the system's `tar` into an empty folder.
 * @param signal cancels it
 * @returns the folder with the files: the archive's top folder, if it has one
 * @throws ParleyError MODEL_UNUSABLE, FILE_NOT_WRITABLE; the signal's reason
 */
export async function unpack(archive: string, folder: string, name: string, signal: AbortSignal): Promise<string> {
  const child = spawn('tar', ['-xjf', archive, '-C', folder, '--no-same-owner', '--no-same-permissions'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
  });
  let errors = '';
  child.stderr?.on('data', (data: Buffer) => (errors = (errors + data.toString('utf8')).slice(-1000)));
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(/Cannot exec|not found/u.test(errors) ? NO_BZIP2 : faultIn(errors));
  } catch (error) {
    signal.throwIfAborted();
    if (/Wrote only|No space left|quota exceeded/iu.test(errors)) {
      throw new ParleyError('FILE_NOT_WRITABLE', { path: folder, reason: 'the disk is full' }, { cause: error });
    }
    const isMissing = (error as { code?: unknown }).code === 'ENOENT' || reasonOf(error) === NO_BZIP2;
    const reason = isMissing
      ? 'unpacking needs tar and bzip2 (Debian: apt-get install bzip2)'
      : `it cannot be unpacked: ${reasonOf(error)}`;
    throw new ParleyError('MODEL_UNUSABLE', { model: name, reason }, { cause: error });
  }
  await refuseOthers(folder, name);
  const [only, ...others] = await readdir(folder);
  const inner = join(folder, only ?? '');
  return only !== undefined && others.length === 0 && (await lstat(inner)).isDirectory() ? inner : folder;
}

/** The first line that is not just a notice. */
function faultIn(errors: string): string {
  const lines = errors.trim().split('\n');
  return lines.find((line) => !line.includes('Removing leading')) ?? lines[0] ?? '';
}

/** Rejects links that leave the folder, which could expose other files, and pipes, which would block. */
async function refuseOthers(folder: string, name: string): Promise<void> {
  const root = await realpath(folder);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() || entry.isDirectory()) continue;
    if (!entry.isSymbolicLink()) {
      throw new ParleyError('MODEL_UNUSABLE', {
        model: name,
        reason: `its entry ${entry.name} is neither a file nor a folder`,
      });
    }
    const to = await realpath(join(entry.parentPath, entry.name)).catch(() => '');
    if (to.startsWith(root + sep)) continue;
    throw new ParleyError('MODEL_UNUSABLE', { model: name, reason: `its link ${entry.name} leaves the archive` });
  }
}

export interface InstallOptions {
  name: string;
  known: KnownModel;
  /** The folder of all models. */
  folder: string;
  mirror: string | null;
  /** A status line: a download starts, a checksum matches. */
  onNote: (text: string) => void;
  onProgress: (file: string, bytes: number, totalBytes: number | null) => void;
  signal: AbortSignal;
  /** See DownloadOptions. */
  stallMs?: number | undefined;
}

/** Names with a leading dot are not models. */
const STAGING = '.pull';
const CHECKSUMS = 'checksum.txt';

/**
 * Downloads a model, verifies it, unpacks it, test-loads it, and only then moves it into place, so that a partial model
 * never appears. An interrupted download is kept and resumed.
 * @throws ParleyError MODEL_NOT_HAD, MODEL_CHECKSUM_WRONG, MODEL_UNUSABLE, FILE_NOT_WRITABLE; the signal's reason
 */
export async function install(options: InstallOptions): Promise<LocalModel> {
  const { name, folder } = options;
  const lock = await lockOf(join(folder, STAGING), name);
  try {
    return await installed(options, join(folder, STAGING, name));
  } finally {
    lock.release();
  }
}

async function installed(options: InstallOptions, staging: string): Promise<LocalModel> {
  const { name, known, folder, onNote, signal } = options;
  const made = join(staging, 'model', name);
  const before = await readOrigin(join(folder, name));
  await prepare(staging);
  await refuseFullDisk(options);
  const files: ModelOrigin['files'] = [];
  await mkdir(made, { recursive: true });
  for (const file of known.files) {
    const path = join(staging, basename(new URL(file.url).pathname));
    const { sha256, checked } = await fetched(file, path, options, before);
    files.push({ url: file.url, sha256, checked });
    if (file.as === 'tar.bz2') {
      onNote(`unpacking ${basename(path)}`);
      await rm(made, { recursive: true });
      const unpacking = join(staging, 'unpacking');
      await mkdir(unpacking);
      await rename(await unpack(path, unpacking, name, signal), made);
      await rm(path);
    } else {
      await rename(path, join(made, file.as));
    }
  }
  const origin: ModelOrigin = {
    name,
    licence: known.licence,
    files,
    languages: known.languages === null ? null : [...known.languages],
  };
  await writeFile(join(made, ORIGIN_FILE), `${JSON.stringify(origin, null, 2)}\n`);
  const model = await inspectModel(made);
  onNote((await tryModel(model, signal)).line);
  const place = join(folder, name);
  if (existsSync(place)) await rename(place, join(staging, 'old'));
  await rename(made, place);
  await rm(staging, { recursive: true });
  return { ...model, path: place };
}

/** Locks the model against other processes that would write the same files, until release or the end of this process. */
async function lockOf(folder: string, name: string): Promise<FileLock> {
  let lock: FileLock | null;
  try {
    await mkdir(folder, { recursive: true });
    lock = FileLock.take(join(folder, `${name}.lock`));
  } catch (error) {
    throw new ParleyError('FILE_NOT_WRITABLE', { path: folder, reason: reasonOf(error) }, { cause: error });
  }
  if (lock !== null) return lock;
  throw new ParleyError('MODEL_NOT_HAD', { model: name, reason: 'another process is downloading it' });
}

async function fetched(
  { url }: KnownFile,
  path: string,
  options: InstallOptions,
  before: ModelOrigin | null,
): Promise<{ sha256: string; checked: 'published' | 'recorded' }> {
  const { name, mirror, signal, onNote, onProgress, stallMs } = options;
  const file = basename(path);
  const shared = { name, mirror, signal, stallMs };
  onNote(`downloading ${mirrored(url, mirror)}`);
  const listed = await listedChecksum(url, shared);
  // A complete download from an attempt that was interrupted while unpacking.
  if (listed !== null && existsSync(path) && (await sha256Of(path)) === listed) {
    return { sha256: listed, checked: 'published' };
  }
  const { bytes, sha256, publishedSha256 } = await download(url, {
    ...shared,
    path,
    onProgress: (done, total) => onProgress(file, done, total),
  });
  const published = listed ?? publishedSha256;
  const recorded = before?.files.find((one) => one.url === url)?.sha256 ?? null;
  const expected = published ?? recorded;
  const publisher = mirror === null ? 'its publisher' : 'the mirror';
  if (expected !== null && expected !== sha256) {
    await rm(path);
    const source = published === null ? 'the earlier download' : publisher;
    throw new ParleyError('MODEL_CHECKSUM_WRONG', { file, found: sha256, expected, source });
  }
  const check = published === null ? 'recorded; the publisher lists no checksum' : `matches ${publisher}`;
  onNote(`${file}: ${megabytes(bytes)}, SHA-256 ${sha256}, ${check}`);
  return { sha256, checked: published === null ? 'recorded' : 'published' };
}

/** The checksum in the release's list, which only k2-fsa publishes. */
async function listedChecksum(
  url: string,
  options: Pick<InstallOptions, 'name' | 'mirror' | 'signal' | 'stallMs'>,
): Promise<string | null> {
  if (!/\/releases\/download\/[^/]+\/[^/]+$/u.test(url)) return null;
  const list = await fetchText(new URL(CHECKSUMS, url).href, options);
  const file = basename(new URL(url).pathname);
  const line = list?.split('\n').find((one) => one.split(/[\s*]+/u).includes(file));
  return /\b[0-9a-f]{64}\b/iu.exec(line ?? '')?.[0].toLowerCase() ?? null;
}

/** Removes what an earlier attempt left, except for the download. */
async function prepare(staging: string): Promise<void> {
  try {
    await mkdir(staging, { recursive: true });
    for (const name of ['model', 'unpacking', 'old']) await rm(join(staging, name), { recursive: true, force: true });
  } catch (error) {
    throw new ParleyError('FILE_NOT_WRITABLE', { path: staging, reason: reasonOf(error) }, { cause: error });
  }
}

/** Minimum space for an archive and its content. */
async function refuseFullDisk({ name, known: { megabytes: size }, folder }: InstallOptions): Promise<void> {
  if (size === null) return;
  const { bavail, bsize } = await statfs(folder);
  const needed = 2.5 * 1e6 * size;
  if (bavail * bsize > needed) return;
  const reason = `it needs ${megabytes(needed)} in ${folder}, but only ${megabytes(bavail * bsize)} are free`;
  throw new ParleyError('MODEL_NOT_HAD', { model: name, reason });
}
