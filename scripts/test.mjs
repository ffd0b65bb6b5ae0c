/**
 * `npm test`: everything, in one go, on a machine that has nothing but Node and this folder after `npm ci`. One line a
 * step; a failing step's output whole. The last line is `N passed, N failed, N skipped`: vitest's numbers, and one
 * more failure for every other step that failed. With CI=true a missing system tool is a failure.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { installDeployTools } from './deploy-tools/install.mjs';
import { installTools } from './system-tools.mjs';
import { countTests } from './test-counts.mjs';

/** No step takes this long unless it hangs. */
const STEP_LIMIT_MS = 40 * 60_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
const report = join(folder, 'vitest.json');
const inCi = process.env['CI'] === 'true' || process.env['CI'] === '1';

const BUILD = ['npm', 'run', '--silent', 'build'];
/**
 * What needs no more than the build, in two rows that run side by side: half of the steps use one core.
 * @type {[string, string[]][][]}
 */
const CHECKS = [
  [
    ['types', ['npm', 'run', '--silent', 'typecheck']],
    ['lint', ['npm', 'run', '--silent', 'lint']],
    ['unused code', ['npm', 'run', '--silent', 'knip']],
    ['shape', ['npm', 'run', '--silent', 'shape']],
    ['public types', ['npm', 'run', '--silent', 'api', '--', '--check']],
  ],
  [
    ['format', ['npm', 'run', '--silent', 'format:check']],
    ['package', ['npm', 'run', '--silent', 'publint']],
  ],
];
const TESTS = [
  'npx',
  '--no-install',
  'vitest',
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile=${report}`,
];

let failures = 0;
for (const { command, why } of tools()) {
  console.log(`${inCi ? '✗' : '–'} ${command} is not installed, so some tests are left out: ${why}`);
  if (inCi) failures++;
}
const deploy = installDeployTools();
if (!deploy.isInstalled) {
  console.log(`${inCi ? '✗' : '–'} scripts/deploy-tools are not installed, so the chart is not checked\n${deploy.log}`);
  if (inCi) failures++;
}
if (!(await step('build', BUILD))) failures++;
await Promise.all(
  CHECKS.map(async (row) => {
    for (const [name, command] of row) if (!(await step(name, command))) failures++;
  }),
);
const testsPassed = await step('tests', TESTS);
// Behind the tests, when nothing else runs here.
if (!(await step('budget', ['node', 'bench/run.mjs', 'micro', '--check']))) failures++;
const counts = countTests(read(report), testsPassed);
rmSync(folder, { recursive: true });

for (const name of counts.skippedNames) console.log(`– not run: ${name}`);
const failed = counts.failed + failures;
console.log(`${counts.passed} passed, ${failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;

function tools() {
  const startMs = performance.now();
  const { installed, missing, log } = installTools();
  if (log !== '') console.log(log);
  if (installed.length > 0) console.log(`✓ installed ${installed.join(', ')}${since(startMs)}`);
  return missing;
}

/**
 * Runs a command to its end and says how it went.
 * @param {string} name
 * @param {string[]} command
 * @returns {Promise<boolean>} whether it succeeded
 */
function step(name, [program = '', ...args]) {
  const startMs = performance.now();
  const env = { ...process.env, [process.stdout.isTTY ? 'FORCE_COLOR' : 'NO_COLOR']: '1' };
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: STEP_LIMIT_MS });
  /** @type {Buffer[]} */
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  return new Promise((resolve) => {
    child.once('error', (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.once('close', (code, signal) => {
      console.log(
        `${code === 0 ? '✓' : '✗'} ${name}${since(startMs)}${signal === null ? '' : `, stopped by ${signal}`}`,
      );
      if (code !== 0) console.log(shown(Buffer.concat(output).toString()));
      resolve(code === 0);
    });
  });
}

/**
 * Without a terminal, without its colours: not every tool heeds NO_COLOR.
 * @param {string} output
 */
function shown(output) {
  return process.stdout.isTTY ? output : stripVTControlCharacters(output);
}

/** @param {number} startMs */
function since(startMs) {
  return `  ${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
