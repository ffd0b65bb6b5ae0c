/** The programs outside npm that the tests need, as Debian packages them. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/**
 * `command`: a program on the path, or the path of a file. `instead`: what serves where the program cannot be had.
 * @type {readonly { command: string, package: string, why: string, instead?: string }[]}
 */
export const SYSTEM_TOOLS = [
  { command: 'chromium', package: 'chromium', why: 'WebRTC is tested with a whole browser' },
  {
    command: 'chromium-headless-shell',
    package: 'chromium-headless-shell',
    why: 'pages are driven in a real browser, with half of the processor time of a whole one',
    instead: 'chromium',
  },
  { command: 'firefox-esr', package: 'firefox-esr', why: 'the page and the widget are driven in a second browser' },
  { command: 'pulseaudio', package: 'pulseaudio', why: 'Firefox plays no sound without a sound server' },
  { command: 'ffmpeg', package: 'ffmpeg', why: 'backgrounds of all common formats are decoded with the real program' },
  { command: 'espeak-ng', package: 'espeak-ng', why: 'the espeak-ng voice is tested with the real program' },
  {
    command: 'pocketsphinx_batch',
    package: 'pocketsphinx',
    why: 'the second recogniser is tested with the real program',
  },
  {
    command: '/usr/share/pocketsphinx/model/en-us/en-us.lm.bin',
    package: 'pocketsphinx-en-us',
    why: 'the second recogniser is tested with its real models',
  },
  { command: 'sipp', package: 'sip-tester', why: 'SIP is tested with calls of another implementation' },
  { command: 'kamailio', package: 'kamailio', why: 'nodes are tested behind the real SIP proxy' },
  { command: 'promtool', package: 'prometheus', why: 'alert rules are checked and tested by Prometheus' },
  { command: 'bzip2', package: 'bzip2', why: 'models come in archives that it unpacks' },
  { command: 'nginx', package: 'nginx-light', why: 'the daemon is tested behind the real reverse proxy' },
  { command: 'caddy', package: 'caddy', why: 'the daemon is tested behind the real reverse proxy' },
  { command: 'script', package: 'bsdutils', why: 'setup is tested on a pseudo terminal' },
  { command: 'zsh', package: 'zsh', why: 'completion of commands is tested in the real shell' },
  { command: 'fish', package: 'fish', why: 'completion of commands is tested in the real shell' },
  { command: 'pg_lsclusters', package: 'postgresql', why: 'stores are tested with a real server' },
  { command: 'httpx', package: 'python3-httpx', why: 'the Python client is tested with the library that it needs' },
  { command: 'mypy', package: 'mypy', why: 'the types of the Python client are checked' },
  { command: 'openssl', package: 'openssl', why: 'HTTPS is tested with certificates made for the test' },
];

/**
 * Whether a program is on the path, or a file is there.
 * @param {string} command
 */
export function hasTool(command) {
  return isAbsolute(command) ? existsSync(command) : toolPath(command) !== null;
}

/**
 * The file of a program on the path; null = it is not there.
 * @param {string} command
 */
export function toolPath(command) {
  const files = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, command));
  return files.find(isProgram) ?? null;
}

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function missingTools() {
  return SYSTEM_TOOLS.filter((tool) => !hasTool(tool.command));
}

/**
 * Installs what is missing where that may be done: as root, with apt-get, and PARLEY_INSTALL_TOOLS is not 0.
 * @returns {{ installed: string[], missing: { command: string, why: string }[], log: string }}
 */
export function installTools() {
  const before = missingTools();
  const may = process.getuid?.() === 0 && hasTool('apt-get') && process.env['PARLEY_INSTALL_TOOLS'] !== '0';
  if (before.length === 0 || !may) return { installed: [], missing: before, log: '' };
  const install = ['install', '--yes', '--no-install-recommends'];
  let log = aptGet('update') + aptGet(...install, ...before.map((tool) => tool.package));
  // Where it does not know one of them, apt-get has installed none.
  for (const tool of missingTools()) log += aptGet(...install, tool.package);
  const missing = missingTools().filter(({ instead }) => instead === undefined || !hasTool(instead));
  const installed = before.filter((tool) => hasTool(tool.command)).map((tool) => tool.package);
  return { installed, missing, log: missing.length > 0 ? log : '' };
}

/** @param {string[]} args */
function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { stdout, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8', timeout: 600_000 });
  return `${stdout ?? ''}${stderr ?? ''}`;
}
