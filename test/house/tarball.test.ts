import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

const run = promisify(execFile);
const root = fileURLToPath(packageFile(''));

interface Manifest {
  name: string;
  exports: Record<string, string | { types: string; default: string }>;
  scripts: Record<string, string>;
}

interface Locked {
  dev?: boolean;
  engines?: { node?: string };
}

const own = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as Manifest;
const lock = JSON.parse(readFileSync(packageFile('package-lock.json'), 'utf8')) as { packages: Record<string, Locked> };

/** Passes on what it may not have, as callers do; null and undefined both mean the default. */
const CONSUMER = `
import { type AgentConfig, Engine, MemoryTransport, type Session, type SessionRequest } from 'PACKAGE';
export async function call(agent: AgentConfig, caller: string | null, id?: string): Promise<Session> {
  const phones = caller === null ? null : { from: caller, to: '+12025550100' };
  const request: SessionRequest = { agent, transport: new MemoryTransport(), phones, id, agentId: null, observe: null };
  return new Engine({ speculation: false }).createSession(request);
}`;

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'parley-tarball-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Paths of the files that npm would pack. */
async function packed(cwd: string, ...options: string[]): Promise<string[]> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', ...options], { cwd, maxBuffer: 64 << 20 });
  // A prepare script prints before npm does.
  const [tarball] = JSON.parse(stdout.slice(stdout.search(/^\[$/m))) as { files: { path: string }[] }[];
  return (tarball?.files ?? []).map(({ path }) => path);
}

describe('the tarball', () => {
  it('has each file that the README links to, and the source of each source map', async () => {
    const files = new Set(await packed(root, '--ignore-scripts'));
    const readme = readFileSync(packageFile('README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((path) => !files.has(path))).toEqual([]);

    const maps = [...files].filter((path) => path.endsWith('.js.map'));
    expect(maps).toContain('dist/cli.js.map');
    const sources = maps.flatMap((path) => {
      const map = JSON.parse(readFileSync(packageFile(path), 'utf8')) as {
        sources: string[];
        sourcesContent?: unknown;
      };
      if (map.sourcesContent !== undefined) return [];
      return map.sources.map((source) => posix.join(posix.dirname(path), source));
    });
    // Bundles contain packages too; their sources come with them, or not at all.
    const ours = sources.filter((path) => !path.startsWith('node_modules/'));
    expect(ours.length).toBeGreaterThan(500);
    expect(ours.filter((path) => !files.has(path))).toEqual([]);
  });

  it.each([
    ['of Node', { module: 'nodenext' }, ['mts', 'cts']],
    ['of a bundler', { module: 'esnext', moduleResolution: 'bundler' }, ['ts']],
  ])('gives a strict consumer %s declarations that compile without skipLibCheck', async (_whose, resolution, files) => {
    // What npm installs for users of the package, and the types of Node that a TypeScript project has.
    const installed = Object.entries(lock.packages).filter(
      ([path, { dev }]) =>
        /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && (dev !== true || path === 'node_modules/@types/node'),
    );
    for (const [path] of installed) link(path, path);
    for (const path of ['package.json', 'dist']) link(path, `node_modules/${own.name}/${path}`);
    const entries = Object.keys(own.exports).filter((entry) => entry !== './package.json');
    const imports = entries.map((entry, index) => `import * as e${index} from '${posix.join(own.name, entry)}';`);
    const uses = entries.map((_, index) => `console.log(e${index});`);
    const program = [...imports, ...uses, CONSUMER.replaceAll('PACKAGE', own.name)].join('\n');
    for (const extension of files) writeFileSync(join(folder, `main.${extension}`), program);
    const compilerOptions = {
      ...resolution,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      target: 'es2022',
      types: ['node'],
      noEmit: true,
      // Otherwise TypeScript finds this checkout's packages behind the links, those for development too.
      preserveSymlinks: true,
    };
    const config = { compilerOptions, files: files.map((extension) => `main.${extension}`) };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = fileURLToPath(packageFile('node_modules/.bin/tsc'));
    expect(await run(tsc, ['-p', folder]).catch((error: { stdout: string }) => error)).toMatchObject({ stdout: '' });
  });

  function link(path: string, to: string): void {
    const target = fileURLToPath(packageFile(path));
    if (!existsSync(target)) return; // optional, for another platform
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    symlinkSync(target, join(folder, to));
  }
});

describe('prepare', () => {
  /** A checkout with the package's own prepare script and a build that takes no time. */
  beforeEach(() => {
    const { name, scripts } = own;
    const build = `node -e "fs.mkdirSync('dist'); fs.writeFileSync('dist/index.js', '')"`;
    const manifest = { name, version: '1.0.0', scripts: { prepare: scripts['prepare'], build }, files: ['dist'] };
    mkdirSync(join(folder, 'checkout/scripts'), { recursive: true });
    writeFileSync(join(folder, 'checkout/package.json'), JSON.stringify(manifest));
    cpSync(packageFile('scripts/prepare.mjs'), join(folder, 'checkout/scripts/prepare.mjs'));
  });
  const isBuilt = (): boolean => existsSync(join(folder, 'checkout/dist/index.js'));

  it('builds an unbuilt checkout that is packed', async () => {
    expect(await packed(join(folder, 'checkout'))).toContain('dist/index.js');
  });

  it('leaves npm install in the checkout as quick as it was', async () => {
    await run('npm', ['install', '--offline'], { cwd: join(folder, 'checkout') });
    expect(isBuilt()).toBe(false);
  });

  it('builds what another project installs from a git repository', async () => {
    const git = (...args: string[]): Promise<unknown> =>
      run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: join(folder, 'checkout') });
    await git('init', '--quiet');
    await git('add', '--all');
    await git('commit', '--quiet', '--message=All');
    mkdirSync(join(folder, 'user'));
    writeFileSync(join(folder, 'user/package.json'), '{}');
    const cache = join(folder, 'cache');
    await run('npm', ['install', '--offline', `--cache=${cache}`, `git+file://${folder}/checkout`], {
      cwd: join(folder, 'user'),
    });
    expect(existsSync(join(folder, 'user/node_modules', own.name, 'dist/index.js'))).toBe(true);
    expect(isBuilt()).toBe(false);
  });
});

it('installs nothing that does not run on the oldest Node that the package names', () => {
  const [major, minor] = [20, 19];
  expect(readFileSync(packageFile('package.json'), 'utf8')).toContain(`"node": ">=${major}.${minor}"`);
  const runs = (range: string): boolean =>
    range.split('||').some((alternative) => {
      const [, comparator = '', from = '', minorFrom = '0'] =
        /^\s*([\^~>=]*)\s*v?(\d+)(?:\.(\d+))?/.exec(alternative) ?? [];
      if (Number(from) === major) return Number(minorFrom) <= minor;
      return comparator === '>=' && Number(from) < major;
    });
  const refused: string[] = [];
  for (const [path, { dev, engines: { node = '*' } = {} }] of Object.entries(lock.packages)) {
    if (dev !== true && !/^\s*(\*|>= ?0)/.test(node) && !runs(node)) refused.push(`${path} wants ${node}`);
  }
  expect(refused).toEqual([]);
});
