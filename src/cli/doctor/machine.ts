import Database from 'better-sqlite3';
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../base/errors.js';
import { nativeStatus } from '../../base/native.js';
import { packageFile } from '../../package-files.js';
import { SCHEMA_VERSION } from '../../store/database.js';
import { type Check, hint, ok, problem } from './check.js';

export interface MachineProbe {
  nodeVersion: string;
  hasCommand: (name: string) => Promise<boolean>;
  unixMs: number;
}

/** Before the first release of parley: an earlier clock is wrong. */
const EARLIEST_UNIX_MS = Date.UTC(2026, 0, 1);

/** Checks the machine's programs and clock. */
export async function checkMachine({ nodeVersion, hasCommand, unixMs }: MachineProbe): Promise<Check[]> {
  const [espeak, ffmpeg, alsa, sox] = await Promise.all([
    hasCommand('espeak-ng'),
    hasCommand('ffmpeg'),
    Promise.all([hasCommand('arecord'), hasCommand('aplay')]).then((both) => both.every(Boolean)),
    Promise.all([hasCommand('rec'), hasCommand('play')]).then((both) => both.every(Boolean)),
  ]);
  return [
    checkNode(nodeVersion),
    checkNative(),
    existsSync(fileURLToPath(packageFile('dist/web/index.html')))
      ? ok('page', 'the page is built')
      : problem('page', 'the page is not built', 'run npm run build'),
    espeak
      ? ok('espeak-ng', 'installed: voices for its languages')
      : hint('espeak-ng', 'not installed: English voices only', 'install it (Debian: apt-get install espeak-ng)'),
    ffmpeg
      ? ok('ffmpeg', 'installed: background sounds in all common formats')
      : hint('ffmpeg', 'not installed: background sounds in WAV only', 'install it (Debian: apt-get install ffmpeg)'),
    alsa || sox
      ? ok('microphone', `parley talk uses ${alsa ? 'arecord and aplay' : 'sox'}`)
      : hint(
          'microphone',
          'neither arecord and aplay nor sox is installed: parley talk accepts typed text only',
          'install alsa-utils or sox',
        ),
    unixMs >= EARLIEST_UNIX_MS
      ? ok('clock', new Date(unixMs).toISOString())
      : problem(
          'clock',
          `the clock is wrong: ${new Date(unixMs).toISOString()}`,
          'set it: certificates and signatures depend on it',
        ),
  ];
}

function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 20 || (major === 20 && minor >= 19)
    ? ok('node', `Node.js ${version}`)
    : problem('node', `Node.js ${version} is too old`, 'install Node.js 20.19 or newer');
}

function checkNative(): Check {
  const { loaded, reason } = nativeStatus();
  return loaded
    ? ok('native', 'the native kernels are in use')
    : hint(
        'native',
        `the native kernels are not in use (${reason}); slower WebAssembly and TypeScript replace them`,
        'install a C++ compiler, then run npm rebuild',
      );
}

const GB = 1e9;
/** An hour of recording takes 115 MB. */
const LOW_BYTES = GB;
const LOWEST_BYTES = GB / 10;

/** Checks that the data folder is writable and its data intact. Changes nothing. */
export function checkDataFolder(dataDir: string): Check[] {
  if (!existsSync(dataDir)) {
    const above = existing(dirname(dataDir));
    return isWritable(above)
      ? [ok('data folder', `the first start will create ${dataDir}`), checkSpace(above)]
      : [problem('data folder', `cannot create ${dataDir}: ${above} is not writable`, 'set PARLEY_DATA_DIR')];
  }
  if (!statSync(dataDir).isDirectory())
    return [problem('data folder', `${dataDir} is not a folder`, 'set PARLEY_DATA_DIR')];
  if (!isWritable(dataDir)) {
    return [
      problem('data folder', `${dataDir} is not writable for this user`, `chown it to the user that runs parley`),
    ];
  }
  const isOpen = (statSync(dataDir).mode & 0o077) !== 0;
  const folder = isOpen
    ? hint('data folder', `other users can read ${dataDir}`, `chmod 700 ${dataDir}`)
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
  const text = `${(free / GB).toFixed(1)} GB free`;
  const help = 'free some space: an hour of recording takes 115 MB';
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
      if (found !== 'ok') return [problem(name, `the database is damaged: ${String(found)}`, help)];
      const version = database.pragma('user_version', { simple: true }) as number;
      return name === 'parley.db' && version > SCHEMA_VERSION
        ? [problem(name, `a later version of parley wrote it (schema ${String(version)})`, 'install that version')]
        : [ok(name, 'the database is intact')];
    } finally {
      database.close();
    }
  } catch (error) {
    return [problem(name, `the database cannot be read: ${reasonOf(error)}`, help)];
  }
}

/** The closest existing parent folder. */
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
