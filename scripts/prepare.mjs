/**
 * npm runs this after installing the dependencies of a checkout, before it packs or publishes, and when the package is
 * installed from git or from a folder. The last three need dist, so it builds where dist is missing. `npm ci` and
 * `npm install` in the checkout itself do not: `npm start`, `npm test` and `npm run dev` build what they need.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

if (!existsSync(new URL('../dist/index.js', import.meta.url)) && !installsCheckout()) {
  const { status } = spawnSync('npm', ['run', 'build'], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  process.exitCode = status ?? 1;
}

/** Whether the command is `npm ci` or `npm install` in this folder or one below it. */
function installsCheckout() {
  const { npm_command: command = '', INIT_CWD: folder = root } = process.env;
  const fromRoot = relative(root, folder);
  const inside = !fromRoot.startsWith('..') && !isAbsolute(fromRoot);
  return inside && ['ci', 'install'].includes(command);
}
