/**
 * Checks the types of the adapters whose packages are installed: those are several times the size of parley's, so that
 * most checkouts do not have them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const adapters = new URL('../adapters/', import.meta.url);
for (const name of readdirSync(adapters)) {
  if (!existsSync(new URL(`${name}/node_modules`, adapters))) {
    console.log(`adapters/${name}: types not checked, its packages are not installed`);
    continue;
  }
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const { status } = spawnSync('npx', ['--no-install', 'tsc', '-p', `adapters/${name}/tsconfig.check.json`], {
    cwd,
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
