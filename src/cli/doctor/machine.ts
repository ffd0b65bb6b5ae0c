import { nativeStatus } from '../../base/native.js';
import { packageFile } from '../../package-files.js';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Check, hint, ok, problem } from './check.js';

export interface MachineProbe {
  nodeVersion: string;
  hasCommand: (name: string) => Promise<boolean>;
  unixMs: number;
}

/** Earlier than any release of parley: a clock before it is wrong. */
const EARLIEST_UNIX_MS = Date.UTC(2026, 0, 1);

/** Checks the machine's resources. */
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
      ? ok('page', 'the page to talk on is built')
      : problem('page', 'the page to talk on is not built', 'npm run build'),
    espeak
      ? ok('espeak-ng', 'espeak-ng is there: voices of its languages')
      : hint('espeak-ng', 'no espeak-ng: English voices only', 'install it (Debian: apt-get install espeak-ng)'),
    ffmpeg
      ? ok('ffmpeg', 'ffmpeg is there: backgrounds of all common formats')
      : hint('ffmpeg', 'no ffmpeg: backgrounds as WAV only', 'install it (Debian: apt-get install ffmpeg)'),
    alsa || sox
      ? ok('microphone', `parley talk uses ${alsa ? 'arecord and aplay' : 'sox'}`)
      : hint(
          'microphone',
          'no arecord and aplay, no sox: parley talk takes typed words only',
          'install alsa-utils or sox',
        ),
    unixMs >= EARLIEST_UNIX_MS
      ? ok('clock', `it is ${new Date(unixMs).toISOString()}`)
      : problem(
          'clock',
          `the clock says ${new Date(unixMs).toISOString()}`,
          'set it: certificates and signatures need it',
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
        `the native kernels are not in use (${reason}), the slower twins are`,
        'install a C++ compiler, then npm rebuild',
      );
}
