/**
 * `npm run test:related [-- FILE …]`: the tests of what changed since the last commit, or of the files given. A file's
 * tests are those of its folder that have its name or import it; without such, those elsewhere that import it; without
 * such, those of its folder. All that depend on a file in some way would be most of them: `npm test` runs all.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, posix, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');

const given = process.argv.slice(2).map((path) => relative(root, resolve(path)));
const changed =
  given.length > 0 ? given : [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '-o', '--exclude-standard')];
const found = testsOf(changed.filter((path) => path !== ''));
if (found.length === 0) {
  console.log(`no test is related to ${changed.filter(Boolean).join(', ') || 'a change: there is none'}`);
  process.exit(0);
}
console.log(found.map((path) => `${path}\n`).join(''));
const projects = ['unit', 'mocks'].flatMap((name) => ['--project', name]);
const { status } = spawnSync('npx', ['--no-install', 'vitest', 'run', '--passWithNoTests', ...projects, ...found], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;

/** @param {readonly string[]} files @returns {string[]} */
function testsOf(files) {
  const all = readdirSync(`${root}/test`, { recursive: true, encoding: 'utf8' }).map((path) => `test/${path}`);
  const tests = all.filter((path) => path.endsWith('.test.ts')).map((path) => ({ path, imports: importsOf(path) }));
  const chosen = files.flatMap((file) => {
    if (file.endsWith('.test.ts')) return [file];
    const folder = dirname(file).replace(/^src/, 'test');
    const named = `${folder}/${basename(file).replace(/\.\w+$/, '')}.test.ts`;
    const near = tests.filter(({ path }) => dirname(path) === folder);
    const using = tests.filter(({ imports }) => imports.has(file));
    // The first that finds any: its own, those that import it, those of its folder.
    const own = near.filter(({ path }) => path === named || using.some((one) => one.path === path));
    return [own, using, near].find((some) => some.length > 0)?.map(({ path }) => path) ?? [];
  });
  return [...new Set(chosen)].sort();
}

/** @param {string} path */
function importsOf(path) {
  const text = readFileSync(`${root}/${path}`, 'utf8');
  const names = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, name = '']) => name);
  return new Set(names.map((name) => posix.join(posix.dirname(path), name).replace(/\.js$/, '.ts')));
}
