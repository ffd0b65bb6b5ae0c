import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, readdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { ParleyError, reasonOf } from '../../errors.js';

const NO_BZIP2 = 'there is no bzip2';

/**
 * Unpacks a `tar.bz2` with the machine's own `tar` into an empty folder.
 * @param signal ends it
 * @returns the folder of the files: the archive's own, where it has one
 * @throws ParleyError MODEL_UNUSABLE, FILE_NOT_WRITABLE; the signal's reason
 */
export async function unpack(archive: string, folder: string, name: string, signal: AbortSignal): Promise<string> {
  const child = spawn('tar', ['-xjf', archive, '-C', folder, '--no-same-owner', '--no-same-permissions'], {
    ...{ stdio: ['ignore', 'ignore', 'pipe'], signal },
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
  });
  let said = '';
  child.stderr?.on('data', (data: Buffer) => (said = (said + data.toString('utf8')).slice(-1000)));
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(/Cannot exec|not found/u.test(said) ? NO_BZIP2 : faultIn(said));
  } catch (error) {
    signal.throwIfAborted();
    if (/Wrote only|No space left|quota exceeded/iu.test(said)) {
      throw new ParleyError('FILE_NOT_WRITABLE', { path: folder, reason: 'the disk is full' }, { cause: error });
    }
    const isMissing = (error as { code?: unknown }).code === 'ENOENT' || reasonOf(error) === NO_BZIP2;
    const reason = isMissing
      ? 'tar and bzip2 are needed to unpack it (Debian: apt-get install bzip2)'
      : `it cannot be unpacked: ${reasonOf(error)}`;
    throw new ParleyError('MODEL_UNUSABLE', { model: name, reason }, { cause: error });
  }
  await refuseOthers(folder, name);
  const [only, ...others] = await readdir(folder);
  const inner = join(folder, only ?? '');
  return only !== undefined && others.length === 0 && (await lstat(inner)).isDirectory() ? inner : folder;
}

/** The first thing that is no mere notice. */
function faultIn(said: string): string {
  const lines = said.trim().split('\n');
  return lines.find((line) => !line.includes('Removing leading')) ?? lines[0] ?? '';
}

/** A link out of the folder would make a model of somebody else's file, and a pipe would be waited for. */
async function refuseOthers(folder: string, name: string): Promise<void> {
  const root = await realpath(folder);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() || entry.isDirectory()) continue;
    if (!entry.isSymbolicLink()) {
      throw new ParleyError('MODEL_UNUSABLE', {
        model: name,
        reason: `${entry.name} in it is neither a file nor a folder`,
      });
    }
    const to = await realpath(join(entry.parentPath, entry.name)).catch(() => '');
    if (to.startsWith(root + sep)) continue;
    throw new ParleyError('MODEL_UNUSABLE', { model: name, reason: `${entry.name} in it points out of it` });
  }
}
