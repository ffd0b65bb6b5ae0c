/**
 * `npm run test:adapters`: installs what each adapter needs, and runs its build, types and tests. `npm test` leaves these
 * out, because their dependencies are several times the size of parley's.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../adapters', import.meta.url));
let failures = 0;
for (const name of readdirSync(folder)) {
  const cwd = `${folder}/${name}`;
  for (const args of [['install', '--ignore-scripts', '--no-audit', '--no-fund'], ['test']]) {
    console.log(`${name}: npm ${args.join(' ')}`);
    if (spawnSync('npm', args, { cwd, stdio: 'inherit' }).status === 0) continue;
    failures++;
    break;
  }
}
process.exitCode = failures === 0 ? 0 : 1;
