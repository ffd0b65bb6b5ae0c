/**
 * Builds the native addon into native/build/Release/parley.node. It runs at install and never fails it: without the
 * addon the WASM and TypeScript twins do the same work, only slower. `PARLEY_NATIVE=0` skips the build.
 *
 * By hand, `node native/build.mjs` compiles only what has changed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUILD_TIMEOUT_MS = 5 * 60_000;
const folder = dirname(fileURLToPath(import.meta.url));
const logFile = join(folder, 'build', 'parley-build.log');

if (process.env.PARLEY_NATIVE === '0') {
  console.log('parley: native addon not built (PARLEY_NATIVE=0)');
} else {
  try {
    build();
    console.log('parley: native addon built');
  } catch (error) {
    console.log(`parley: native addon not built, slower WASM and TypeScript take its place (${error.message})`);
  }
}

function build() {
  const [command, ...leading] = findNodeGyp();
  // A fresh build at install: what lies there may come from another machine.
  const steps = process.env.npm_lifecycle_event === 'install' ? ['rebuild'] : ['configure', 'build'];
  const result = spawnSync(command, [...leading, ...steps, ...headerOptions()], {
    cwd: folder,
    encoding: 'utf8',
    timeout: BUILD_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  saveLog(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  if (result.error !== undefined) throw new Error(`node-gyp: ${result.error.message}`);
  if (result.status !== 0) throw new Error(`node-gyp ended with ${result.status ?? result.signal}, see ${logFile}`);
}

/** The node-gyp that npm brings along, in the places where it says or keeps it; else one on the PATH. */
function findNodeGyp() {
  const inNpm = 'node_modules/node-gyp/bin/node-gyp.js';
  const candidates = [process.env.npm_config_node_gyp];
  if (process.env.npm_execpath !== undefined) candidates.push(resolve(process.env.npm_execpath, '../..', inNpm));
  candidates.push(
    resolve(process.execPath, '../../lib/node_modules/npm', inNpm),
    resolve(process.execPath, '../node_modules/npm', inNpm),
  );
  const script = candidates.find((path) => path !== undefined && existsSync(path));
  return script === undefined ? ['node-gyp'] : [process.execPath, script];
}

/** Node's own headers where they lie beside the binary, so that nothing is downloaded. */
function headerOptions() {
  const root = resolve(process.execPath, '../..');
  return existsSync(join(root, 'include/node/node_api.h')) ? [`--nodedir=${root}`] : [];
}

function saveLog(text) {
  mkdirSync(dirname(logFile), { recursive: true });
  writeFileSync(logFile, text);
}
