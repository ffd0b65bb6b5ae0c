/**
 * `npm test`: everything, in one go, on a machine that has nothing but Node and this folder after `npm ci`. One line a
 * step; a failing step's output whole. The last line is `N passed, N failed, N skipped`: vitest's numbers, and one
 * more failure for every other step that failed. With CI=true a missing system tool is a failure.
 *
 * Tests in real time mostly wait, but need the processor when they need it. So all else runs beside them with a
 * low priority.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { installDeployTools } from './deploy-tools/install.mjs';
import { LOW_PRIORITY, setSessionPriority } from './priority.mjs';
import { installTools } from './system-tools.mjs';
import { countTests } from './test-counts.mjs';

/** No step takes this long unless it hangs. */
const STEP_LIMIT_MS = 40 * 60_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
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
/** Tests in real time, and all others. */
const TESTS = {
  'real-time tests': ['--project', 'real-time'],
  tests: ['--project', '!real-time'],
};
/**
 * The first processes of the steps that run. Each has a session, and so a process group, of its own.
 * @type {Set<number>}
 */
const running = new Set();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.once(signal, () => {
    for (const pid of running) endGroup(pid, signal);
    process.exit(1);
  });

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
const [inRealTime, others] = await Promise.all([
  tests('real-time tests'),
  Promise.all(
    CHECKS.map(async (row) => {
      for (const [name, command] of row) if (!(await step(name, command, LOW_PRIORITY))) failures++;
    }),
  ).then(() => tests('tests', LOW_PRIORITY)),
]);
// Behind the tests, when nothing else runs here.
if (!(await step('budget', ['node', 'bench/run.mjs', 'micro', '--check']))) failures++;
rmSync(folder, { recursive: true });

for (const name of [...inRealTime.skippedNames, ...others.skippedNames]) console.log(`– not run: ${name}`);
const passed = inRealTime.passed + others.passed;
const failed = inRealTime.failed + others.failed + failures;
const skipped = inRealTime.skipped + others.skipped;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;

function tools() {
  const startMs = performance.now();
  const { installed, missing, log } = installTools();
  if (log !== '') console.log(log);
  if (installed.length > 0) console.log(`✓ installed ${installed.join(', ')}${since(startMs)}`);
  return missing;
}

/**
 * Runs tests to their end and counts them.
 * @param {keyof typeof TESTS} name
 * @param {number} [priority]
 */
async function tests(name, priority) {
  const report = join(folder, `${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  const command = ['npx', '--no-install', 'vitest', 'run', ...TESTS[name], ...reporters];
  const succeeded = await step(name, command, priority);
  return countTests(read(report), succeeded);
}

/**
 * Runs a command to its end and says how it went.
 * @param {string} name
 * @param {string[]} command
 * @param {number} [priority] of `nice`
 * @returns {Promise<boolean>} whether it succeeded
 */
function step(name, command, priority = 0) {
  const startMs = performance.now();
  const env = { ...process.env, [process.stdout.isTTY ? 'FORCE_COLOR' : 'NO_COLOR']: '1' };
  const child = spawn('nice', ['-n', String(priority), ...command], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const pid = child.pid ?? 0;
  running.add(pid);
  setSessionPriority(pid, priority);
  const timer = setTimeout(() => endGroup(pid, 'SIGKILL'), STEP_LIMIT_MS);
  /** @type {Buffer[]} */
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  return new Promise((resolve) => {
    child.once('error', (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      running.delete(pid);
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

/**
 * @param {number} pid of its first process; 0 = it could not be started
 * @param {NodeJS.Signals} signal
 */
function endGroup(pid, signal) {
  try {
    if (pid !== 0) process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}
