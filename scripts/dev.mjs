/**
 * `npm run dev [-- flags of parley serve]`: compiles what changes and starts the daemon anew, with its modules one by
 * one instead of the bundle. A first build comes before it where there is none. Pages are built again when a file of
 * src/web or packages/web changes; reload them by hand.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, watch } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Editors write a file in several steps, and save several files at once. */
const QUIET_MS = 200;
const MAIN = `import('./dist/cli/main.js').then(async ({ main }) => (process.exitCode = await main(process.argv.slice(1))))`;

if (!existsSync(new URL('../dist/index.js', import.meta.url))) {
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** @type {import('node:child_process').ChildProcess | null} */
let daemon = null;
let stopping = false;
/** What runs was compiled before the latest change. */
let outdated = false;

const compiler = spawn('npx', ['--no-install', 'tsc', '-p', 'tsconfig.json', '--watch', '--preserveWatchOutput'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
});
compiler.stdout.on('data', (/** @type {Buffer} */ text) => {
  process.stdout.write(text);
  // It emits in spite of errors in types, as the tests do without looking at types.
  if (text.includes('Watching for file changes')) restart();
});

/** @type {NodeJS.Timeout | undefined} */
let pages;
for (const folder of ['../src/web', '../packages/web/src']) {
  watch(new URL(folder, import.meta.url), { recursive: true }, () => {
    clearTimeout(pages);
    pages = setTimeout(
      () => spawn(process.execPath, ['scripts/build-web.mjs'], { cwd: root, stdio: 'inherit' }),
      QUIET_MS,
    );
  });
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    stopping = true;
    compiler.kill();
    if (daemon === null) process.exit(0);
    daemon.kill(signal);
  });
}

/** Has the running daemon end without waiting for its conversations, and starts another one. */
function restart() {
  if (daemon === null) {
    start();
    return;
  }
  outdated = true;
  daemon.kill('SIGTERM');
  setTimeout(() => daemon?.kill('SIGTERM'), QUIET_MS);
}

function start() {
  outdated = false;
  const flags = ['--enable-source-maps', '--eval', MAIN, 'serve', ...process.argv.slice(2)];
  daemon = spawn(process.execPath, flags, { cwd: root, stdio: 'inherit' });
  daemon.once('close', (code) => {
    daemon = null;
    if (stopping) process.exit(code ?? 0);
    // One that ended by itself waits for the next change.
    if (outdated) start();
  });
}
